// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.vmap
#include <jaxscope/function.h>

namespace jaxscope::jax {

/// Where arrays have the mapped axis: a number, `none` (nowhere), or by argument and further down: `{0, none}`, `{{0, 1}, none}`,
/// `{Axis::dict({{"w", 0}, {"b", none}})}`. One that isn't taken further down stands for all arrays below.
class Axis {
public:
    enum class Kind : unsigned char { leaf, tuple, dict };
    Axis(int a);  // NOLINT(google-explicit-constructor)
    template <detail::TextLike T>
    Axis(const T&) {  // NOLINT(google-explicit-constructor)
        static_assert(!sizeof(T), "an axis is a number, jax::none, or a tuple of them: {.in_axes = {0, none}}");
    }
    Axis(None);                              // NOLINT(google-explicit-constructor)
    Axis(std::initializer_list<Axis> list);  // NOLINT(google-explicit-constructor)
    explicit Axis(std::vector<Axis> list);
    Axis(const Axis& o);
    Axis(Axis&& o) noexcept;
    Axis& operator=(const Axis& o);
    Axis& operator=(Axis&& o) noexcept;
    ~Axis();
    static Axis dict(std::vector<std::pair<std::string, Axis>> entries);
    int axis = 0;
    bool mapped = false;
    Kind kind = Kind::leaf;
    std::vector<std::string> keys;
    std::vector<Axis> items;
};
struct VmapOptions {
    detail::ByName by_name = {};  ///< `{0, 1}` would be no axes of two arguments: that is `{.in_axes = {0, 1}}`
    Axis in_axes = 0;             ///< one for all arguments, or a tuple with one each
    Axis out_axes = 0;            ///< a prefix of the result's tree
    std::int64_t axis_size = 0;
    std::string axis_name = {};  ///< collectives over it (collectives.h) see all elements
    /// JAX's hint for sharding constraints on the mapped axis. On one device there is nothing that it could change.
    std::string spmd_axis_name = {};
    Argnames arg_names = {};  ///< for errors
    detail::NoSuchOption in_axis = {}, out_axis = {}, axis = {};
};

namespace detail {
std::vector<Array> vmap(Call& call, const VmapOptions& options);
/// Equinox's: `in_axes` may be a dict by argument name; keyword arguments are refused.
std::vector<Array> filter_vmap(Call& call, const VmapOptions& options);

template <bool Filter, class F>
struct Mapped {
    using Transformed = F;
    F f;
    VmapOptions options;
    Where where;
    template <class... A>
    auto operator()(const A&... a) const {
        CallFor<Filter, F, A...> call(f, a...);
        call.where = where;
        const std::vector<Array> flat = Filter ? detail::filter_vmap(call, options) : detail::vmap(call, options);
        const Array* at = flat.data();
        return refilled<Filter>(call.result(), at);
    }
};
}  // namespace detail

template <class F>
auto vmap(F&& f, VmapOptions options = {}, Where where = {}) {
    return detail::Mapped<false, detail::Stored<F>>{static_cast<F&&>(f), std::move(options), where};
}

}  // namespace jaxscope::jax
