// SPDX-License-Identifier: Apache-2.0
#include "trace/debug_nans.h"

#include <jaxscope/debug_nans.h>

#include <fmt/core.h>

#include <atomic>
#include <cmath>
#include <string>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/types/element.h"
#include "lax/ops.h"
#include "trace/trace.h"

namespace jaxscope::jax {

namespace {
std::atomic<bool> nans{false}, infs{false};
}
bool config::debug_nans(bool on) { return nans.exchange(on); }
bool config::debug_infs(bool on) { return infs.exchange(on); }

namespace detail {

namespace {

/// "nan", "inf", or null: nothing that is refused.
const char* refused_in(const ArrayConst& a) {
    const ::jaxscope::DType type = a.aval->dtype;
    if (!::jaxscope::is_inexact(type) || a.aval->size() == 0) return nullptr;
    auto copy = std::make_shared<ArrayConst>(a);
    const bool complex = ::jaxscope::is_complex(type);
    const Array given = concrete(std::move(copy));
    bool nan = false, inf = false;
    const auto look = [&](const Array& part) {
        for (const double v : part.to_vector()) nan = nan || std::isnan(v), inf = inf || std::isinf(v);
    };
    if (complex) {
        look(given.real());
        look(given.imag());
    } else {
        look(given);
    }
    if (nan && nans) return "nan";
    return inf && infs ? "inf" : nullptr;
}
const char* refused_in(std::span<const ArrayPtr> arrays) {
    for (const ArrayPtr& a : arrays)
        if (const char* what = refused_in(*a)) return what;
    return nullptr;
}
thread_local bool looking = false;
/// While values are looked at, what looks at them isn't.
struct Looking {
    Looking() { looking = true; }
    ~Looking() { looking = false; }
    Looking(const Looking&) = delete;
    Looking& operator=(const Looking&) = delete;
};

JaxprPtr alone(const ::jaxscope::Jaxpr& j, const Eqn& e) {
    JaxprBuilder b;
    Values in;
    for (const Atom a : j.inputs(e)) in.push_back(a.is_literal() ? Value(a.literal()) : b.add_input(j.aval(a.var())));
    return b.finish(b.copy(j, e, in));
}
/// What a call computes by: its equations are where the value comes from.
const Attr::JaxprRef* called(const Eqn& e) {
    if (e.prim->flow != Flow::Call && e.prim->flow != Flow::RuledCall) return nullptr;
    const Attr* body = e.params->find(Sym(e.prim->body));
    return body ? body->get<Attr::JaxprRef>() : nullptr;
}
[[noreturn]] void refuse(const Eqn& e, const char* what) {
    throw Error(ErrorCode::CannotRun, fmt::format("invalid value ({}) encountered in ", what) + e.prim->name)
        .at(e.source.loc())
        .advise("its operands are what the lines before it computed; jax::debug_nans(false) goes on with such values");
}

}  // namespace

bool checks_values() { return (nans || infs) && !looking; }

std::vector<ArrayPtr> run_checked(const JaxprPtr& open, std::span<const ArrayPtr> in) {
    const ::jaxscope::Jaxpr& j = *open;
    std::vector<ArrayPtr> values(j.num_vars());
    for (std::size_t i = 0; i < j.num_constvars; ++i) values[i] = j.consts[i];
    for (std::size_t i = 0; i < in.size(); ++i) values[j.num_constvars + i] = in[i];
    const auto value_of = [&](Atom a) { return a.is_literal() ? array_of(a.literal()) : values[a.var().index]; };
    for (const Eqn& e : j.eqns) {
        std::vector<ArrayPtr> operands, all;
        for (const Atom a : j.inputs(e)) {
            all.push_back(value_of(a));
            if (a.is_var()) operands.push_back(all.back());
        }
        std::vector<ArrayPtr> out;
        const char* what = nullptr;
        {
            const Looking here;
            out = run_jaxpr(alone(j, e), operands);
            what = refused_in(out);
        }
        if (what) {
            if (const Attr::JaxprRef* body = called(e)) run_checked(body->jaxpr, all);
            refuse(e, what);
        }
        for (std::size_t k = 0; k < out.size(); ++k) values[e.first_out + k] = out[k];
    }
    std::vector<ArrayPtr> out;
    for (const Atom a : j.outvars) out.push_back(value_of(a));
    return out;
}
void check_results(const JaxprPtr& closed, std::span<const ArrayPtr> in, std::span<const ArrayPtr> results, const std::string& function) {
    const char* what = nullptr;
    {
        const Looking here;
        what = refused_in(results);
    }
    if (!what) return;
    run_checked(closed, in);
    throw Error(
        ErrorCode::CannotRun,
        fmt::format("('jit({})', '{}'). Because jax_config.debug_nans.value and/or config.jax_debug_infs is set, the de-optimized "
                    "function (i.e., the function as if the `jit` decorator were removed) was called in an attempt to get a more "
                    "precise error message. However, the de-optimized function did not produce invalid values during its execution.",
                    function, what))
        .advise("an argument may have had such a value");
}

}  // namespace detail

}  // namespace jaxscope::jax
