// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "calls/host/callbacks.h"
#include "calls/host/print_text.h"
#include "ir/types/element.h"
#include "jit/kernels/library.h"
#include "lax/rule_support.h"

// What runs outside of compiled code: text of debug_print, functions that a C++ program brought along.
namespace jaxscope::exec {

namespace {

constexpr std::int64_t kMostBytes = 1 << 20;  ///< of one operand that is kept

thread_local std::vector<ArrayPtr> operands_seen;

/// Copies: who gets them may keep them. Those of more bytes come without elements.
std::vector<ArrayPtr> arrays_of(const Avals& types, void* const* in, std::int64_t most_bytes = INT64_MAX) {
    std::vector<ArrayPtr> out;
    for (std::size_t i = 0; i < types.size(); ++i) {
        auto array = std::make_shared<ArrayConst>();
        array->aval = types[i];
        if (const std::int64_t n = types[i]->bytes(); n <= most_bytes) {
            const auto* bytes = static_cast<const std::byte*>(in[i]);
            array->data.assign(bytes, bytes + n);
        }
        out.push_back(std::move(array));
    }
    return out;
}

/// Nothing is computed: somebody looks at values, and a run may want to know which.
class OnlookerCall final : public LibraryCall {
public:
    explicit OnlookerCall(const Op& op) : types_(op.in) {}
    void run(void* const* in, void* const*, void*) const override { operands_seen = arrays_of(types_, in, kMostBytes); }

private:
    Avals types_;
};

class PrintCall final : public LibraryCall {
public:
    explicit PrintCall(const Op& op) : types_(op.in), loc_(op.source.loc()), params_(op.params) {}
    void run(void* const* in, void* const*, void*) const override {
        operands_seen.clear();
        try {
            if (!text_) text_.emplace(params_);
            const std::string line = (*text_)(arrays_of(types_, in)) + "\n";
            std::fwrite(line.data(), 1, line.size(), stdout);  // at once: devices may write at a time
        } catch (const NoPrintText& n) {
            throw Error(ErrorCode::CannotRun, "expected values whose text is known, found that of a debug_print isn't: " + n.why).at(loc_);
        }
    }

private:
    Avals types_;
    SourceLoc loc_;
    ParamsRef params_;
    mutable std::optional<PrintText> text_;  ///< from the first run on: one that is never met may have none
};

class HostCall final : public LibraryCall {
public:
    explicit HostCall(const Op& op) : in_(op.in), out_(op.out), loc_(op.source.loc()), params_(op.params) {}
    void run(void* const* in, void* const* out, void*) const override {
        operands_seen.clear();
        const std::vector<ArrayPtr> results = host_function(params_)->call(arrays_of(in_, in));
        check(results);
        for (std::size_t i = 0; i < results.size(); ++i)
            if (results[i]->data.size() > 0) std::memcpy(out[i], results[i]->data.data(), results[i]->data.size());
    }

private:
    [[noreturn]] void refuse(const std::string& words) const { throw Error(ErrorCode::CannotRun, words).at(loc_); }
    void check(const std::vector<ArrayPtr>& results) const {
        if (results.size() != out_.size())
            refuse(fmt::format("Mismatched number of outputs from callback. Expected: {}, Actual: {}", out_.size(), results.size()));
        for (std::size_t i = 0; i < results.size(); ++i) {
            const Aval &expected = *out_[i], &found = *results[i]->aval;
            if (expected.shape != found.shape)
                refuse(fmt::format("Incorrect output shape for return value #{}: Expected: {}, Actual: {}", i, shape_text(expected.shape),
                                   shape_text(found.shape)));
            if (expected.dtype != found.dtype)
                refuse(fmt::format("Incorrect output dtype for return value #{}: Expected: {}, Actual: {}", i, info(expected.dtype).name,
                                   info(found.dtype).name));
        }
    }
    Avals in_, out_;
    SourceLoc loc_;
    ParamsRef params_;
};

}  // namespace

bool only_looks(const Op& op) { return op.out.empty(); }

LibraryCallPtr make_onlooker(const Op& op, bool writes) {
    if (!only_looks(op)) return nullptr;
    if (writes) return std::make_shared<PrintCall>(op);
    return std::make_shared<OnlookerCall>(op);
}
LibraryCallPtr make_host_call(const Op& op) { return host_function(op.params) ? std::make_shared<HostCall>(op) : nullptr; }

std::vector<ArrayPtr> take_operands_seen() { return std::move(operands_seen); }

}  // namespace jaxscope::exec
