#pragma once
// jax.vmap
#include <jaxscope/function.h>

namespace jaxscope::jax {

/// Where an argument has the mapped axis; `none`: it has none.
class Axis {
public:
    Axis(int a) : axis(a), mapped(true) {}  // NOLINT(google-explicit-constructor)
    Axis(None) {}                           // NOLINT(google-explicit-constructor)
    int axis = 0;
    bool mapped = false;
};
struct VmapOptions {
    std::vector<Axis> in_axes = {};  ///< one for all arguments, or one each; none given: 0
    int out_axes = 0;
    std::int64_t axis_size = 0;
};

namespace detail {
std::vector<Array> vmap(Call& call, const VmapOptions& options);
}

template <class F>
auto vmap(F&& f, VmapOptions options = {}) {
    return [f = detail::Stored<F>(static_cast<F&&>(f)), options = std::move(options)](const auto&... a) {
        detail::CallOf call(f, a...);
        const std::vector<Array> flat = detail::vmap(call, options);
        const Array* at = flat.data();
        return detail::with_leaves(call.result(), at);
    };
}

}  // namespace jaxscope::jax
