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
}  // namespace policies

struct CheckpointOptions {
    Policy policy = {};
    bool prevent_cse = true;
    std::vector<int> static_argnums = {};
    const char* name = "<unnamed function>";
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

}  // namespace jaxscope::jax
