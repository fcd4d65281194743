// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.checkpoint (remat), policies, checkpoint_name, saved_residuals.
#include <jaxscope/policy.h>

namespace jaxscope::jax {

/// Of all arguments, or one each: `{true, false}`.
/// One bool, or `{true, false}` for the arguments that aren't static, or `{{true, false}, true}` for them and for those by name, as JAX
/// takes it where there are some. Inside, a bool stands for a tree, as a prefix of it.
class PreventCse {
public:
    PreventCse(bool all_leaves);  // NOLINT(google-explicit-constructor)
    PreventCse(std::initializer_list<PreventCse> list);
    static PreventCse dict(std::vector<std::pair<std::string, PreventCse>> entries);
    PreventCse(const PreventCse&);
    PreventCse(PreventCse&&) noexcept;
    PreventCse& operator=(const PreventCse&);
    PreventCse& operator=(PreventCse&&) noexcept;
    ~PreventCse();
    enum class Kind : unsigned char { leaf, tuple, dict } kind = Kind::leaf;
    bool all = true;
    std::vector<PreventCse> items;
    std::vector<std::string> keys;
};
/// An option of JAX's that is gone: given at all, it is refused in JAX's words.
class GoneOption {
public:
    GoneOption() = default;
    template <class T>
    requires std::is_same_v<T, bool> GoneOption(T) : given(true) {}  // NOLINT(google-explicit-constructor)
    bool given = false;
};
struct CheckpointOptions {
    Policy policy = {};
    PreventCse prevent_cse = true;
    Argnums static_argnums = {};
    const char* name = "<unnamed function>";
    GoneOption concrete = {};
    detail::NoSuchOption static_argnum = {}, static_argnames = {};
};

/// While it lives, operations on arrays run at once although a function is being traced.
class ensure_compile_time_eval {
public:
    ensure_compile_time_eval();
    ~ensure_compile_time_eval();
    ensure_compile_time_eval(const ensure_compile_time_eval&) = delete;
    ensure_compile_time_eval& operator=(const ensure_compile_time_eval&) = delete;

private:
    void* trace_;
};

namespace config {
/// What each checkpointed function saves is written to stderr when it is differentiated, in the words of JAX's logger. Returns the old
/// value.
bool log_checkpoint_residuals(bool on);
}  // namespace config

namespace detail {
/// Traces of one checkpointed function: calls with equal types, trees and static values share one.
/// They keep the options. Throws JAX's sentence for those that are gone. `function`: what tells one that holds nothing; all its
/// checkpoints share their traces, as those of one function object in JAX.
KeptHandle make_trace_cache(const CheckpointOptions& options, const Where& where, const void* function = nullptr);
Called checkpoint(Call& call, Kept& traces);
}  // namespace detail

template <class F, bool Filter = false>
struct Checkpointed {
    using Transformed = F;
    F f;
    Where where;
    detail::KeptHandle traces;
    template <class... A>
    requires(Filter || detail::Takes<F, A...>) [[gnu::cold]] auto operator()(const A&... a) const {
        detail::CallFor<Filter, F, A...> call(f, a...);
        call.where = where;
        detail::Called done = detail::checkpoint(call, *traces);
        return decltype(call)::filled(done.prototype, done.leaves.data());
    }
};
template <class F>
auto checkpoint(F&& f, const CheckpointOptions& options = {}, Where where = {}) {
    return Checkpointed<detail::Stored<F>>{static_cast<F&&>(f), where,
                                           detail::make_trace_cache(options, where, detail::identity_of<detail::Stored<F>>(f))};
}
template <class F>
auto remat(F&& f, const CheckpointOptions& options = {}, Where where = {}) {
    return checkpoint(static_cast<F&&>(f), options, where);
}
Array checkpoint_name(const Operand& x, const std::string& name);
/// The same name for every leaf of a tree.
template <class T>
requires detail::TreeOfArrays<T> T checkpoint_name(const T& tree, const std::string& name, Where where = {}) {
    return tree_map([&](const Array& a) { return checkpoint_name(Operand(a, where.file, where.line, where.function), name); }, tree);
}

struct SavedResidual {
    std::string aval, source;
};
namespace detail {
/// `checkpointed`: is the function itself a checkpointed one? Its call then stands nowhere, as in JAX.
std::vector<SavedResidual> saved_residuals(Call& call, const std::vector<std::string>& arg_names, bool checkpointed);
template <class F>
inline constexpr bool is_checkpointed = false;
template <class F>
inline constexpr bool is_checkpointed<Checkpointed<F>> = true;
void print_residuals(const std::vector<SavedResidual>& rows);
}  // namespace detail
/// What autodiff would save of f(args...), as jax.ad_checkpoint.saved_residuals says it.
template <class F, class... A>
std::vector<SavedResidual> saved_residuals(const F& f, const A&... a) {
    detail::CallOf call(f, a...);
    return detail::saved_residuals(call, {}, detail::is_checkpointed<F>);
}
template <class F, class... A>
void print_saved_residuals(const F& f, const A&... a) {
    detail::print_residuals(saved_residuals(f, a...));
}
/// The same with names for the arguments: `saved_residuals(f, {.arg_names = {"x", "y"}}, x, y)`.
struct ResidualOptions {
    Argnames arg_names;
};
template <class F, class... A>
std::vector<SavedResidual> saved_residuals(const F& f, const ResidualOptions& options, const A&... a) {
    detail::CallOf call(f, a...);
    return detail::saved_residuals(call, options.arg_names, detail::is_checkpointed<F>);
}
template <class F, class... A>
void print_saved_residuals(const F& f, const ResidualOptions& options, const A&... a) {
    detail::print_residuals(saved_residuals(f, options, a...));
}

}  // namespace jaxscope::jax
