// SPDX-License-Identifier: Apache-2.0
#include "trace/jit/shared_traces.h"

#include <algorithm>

#include "trace/known_values.h"
#include "trace/regions.h"

namespace jaxscope::jax::detail {

namespace {

/// Are static numbers of the same types and values? While a function is traced they are literals.
bool same_numbers(const std::vector<std::vector<Array>>& a, const std::vector<std::vector<Array>>& b) {
    const auto same = [](const Array& x, const Array& y) {
        return x.node()->aval == y.node()->aval && known_elements(*x.node())->data == known_elements(*y.node())->data;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const std::vector<Array>& x, const std::vector<Array>& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
    });
}

/// While a capture is made, differentiations inside of a function are to be seen each time.
bool shares() { return !RegionRecorder::current(); }

}  // namespace

bool same_key(const TraceKey& a, const TraceKey& b) {
    return a.type == b.type && a.axes == b.axes && a.avals == b.avals && a.tree == b.tree && a.keywords == b.keywords &&
           same_numbers(a.fixed, b.fixed);
}

SharedTraces& SharedTraces::get() {
    static auto& all = *new SharedTraces;  // jitted functions may be static, too
    return all;
}

std::shared_ptr<const JitTrace> SharedTraces::find(const void* function, const JitTrace& wanted) const {
    if (!function || !shares()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto known = of_function_.find(function);
    if (known == of_function_.end()) return nullptr;
    const auto at = std::find_if(known->second.begin(), known->second.end(), [&](const auto& t) {
        return t->name == wanted.name && t->arguments == wanted.arguments && same_key(t->key, wanted.key);
    });
    return at == known->second.end() ? nullptr : *at;
}

void SharedTraces::add(const void* function, std::shared_ptr<const JitTrace> trace) {
    if (!function || !shares() || trace->call.traced.captures_tracers()) return;
    const std::lock_guard lock(mutex_);
    of_function_[function].push_back(std::move(trace));
}

void SharedTraces::forget(const void* function) {
    const std::lock_guard lock(mutex_);
    of_function_.erase(function);
}

}  // namespace jaxscope::jax::detail
