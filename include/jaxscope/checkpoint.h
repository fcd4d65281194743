#pragma once
// jax.checkpoint (remat), policies, checkpoint_name, saved_residuals.
#include <jaxscope/function.h>

namespace jaxscope::jax {

/// A checkpoint policy, as `jaxscope policies --policy` takes it; none: nothing is saved.
struct Policy {
    std::string text;
};
namespace policies {
inline const Policy everything_saveable{"everything_saveable"}, nothing_saveable{"nothing_saveable"}, dots_saveable{"dots_saveable"},
    checkpoint_dots{"dots_saveable"}, dots_with_no_batch_dims_saveable{"dots_with_no_batch_dims_saveable"},
    checkpoint_dots_with_no_batch_dims{"dots_with_no_batch_dims_saveable"};
Policy save_only_these_names(const std::vector<std::string>& names);
Policy save_any_names_but_these(const std::vector<std::string>& names);
Policy save_anything_except_these_names(const std::vector<std::string>& names);
Policy save_from_both_policies(const Policy& a, const Policy& b);
Policy offload_dot_with_no_batch_dims(const std::string& source, const std::string& destination);
Policy save_and_offload_only_these_names(const std::vector<std::string>& names_which_can_be_saved,
                                         const std::vector<std::string>& names_which_can_be_offloaded, const std::string& offload_src,
                                         const std::string& offload_dst);
}  // namespace policies

/// Of all arguments, or one each: `{true, false}`.
class PreventCse {
public:
    PreventCse(bool all_arguments) : all(all_arguments) {}               // NOLINT(google-explicit-constructor)
    PreventCse(std::initializer_list<bool> list) : by_argument(list) {}  // NOLINT(google-explicit-constructor)
    bool all = true;
    std::vector<bool> by_argument;
};
struct CheckpointOptions {
    Policy policy = {};
    PreventCse prevent_cse = true;
    std::vector<int> static_argnums = {};
    const char* name = "<unnamed function>";
    bool concrete = false;  ///< gone, as in JAX: refused in its words
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

namespace detail {
std::vector<Array> checkpoint(Call& call, const CheckpointOptions& options);
}

template <class F>
struct Checkpointed {
    F f;
    CheckpointOptions options;
    Where where;
    template <class... A>
    requires detail::Takes<F, A...>
    auto operator()(const A&... a) const {
        detail::CallOf call(f, a...);
        call.where = where;
        const std::vector<Array> flat = detail::checkpoint(call, options);
        const Array* at = flat.data();
        return detail::with_leaves(call.result(), at);
    }
};
template <class F>
auto checkpoint(F&& f, CheckpointOptions options = {}, Where where = {}) {
    return Checkpointed<detail::Stored<F>>{static_cast<F&&>(f), std::move(options), where};
}
template <class F>
auto remat(F&& f, CheckpointOptions options = {}, Where where = {}) {
    return checkpoint(static_cast<F&&>(f), std::move(options), where);
}
Array checkpoint_name(const Operand& x, const char* name);
/// The same name for every leaf of a tree.
template <class T>
requires(!std::is_convertible_v<const T&, Operand>) T checkpoint_name(const T& tree, const char* name) {
    return tree_map([&](const Array& a) { return checkpoint_name(Operand(a), name); }, tree);
}

struct SavedResidual {
    std::string aval, source;
};
namespace detail {
std::vector<SavedResidual> saved_residuals(Call& call, const std::vector<std::string>& arg_names);
void print_residuals(const std::vector<SavedResidual>& rows);
}  // namespace detail
/// What autodiff would save of f(args...), as jax.ad_checkpoint.saved_residuals says it.
template <class F, class... A>
std::vector<SavedResidual> saved_residuals(const F& f, const A&... a) {
    detail::CallOf call(f, a...);
    return detail::saved_residuals(call, {});
}
template <class F, class... A>
void print_saved_residuals(const F& f, const A&... a) {
    detail::print_residuals(saved_residuals(f, a...));
}
/// The same with names for the arguments: `saved_residuals(f, {.arg_names = {"x", "y"}}, x, y)`.
struct ResidualOptions {
    std::vector<std::string> arg_names;
};
template <class F, class... A>
std::vector<SavedResidual> saved_residuals(const F& f, const ResidualOptions& options, const A&... a) {
    detail::CallOf call(f, a...);
    return detail::saved_residuals(call, options.arg_names);
}
template <class F, class... A>
void print_saved_residuals(const F& f, const ResidualOptions& options, const A&... a) {
    detail::print_residuals(saved_residuals(f, options, a...));
}

}  // namespace jaxscope::jax
