// SPDX-License-Identifier: Apache-2.0
#pragma once
// jnp.vectorize: a function of small arrays over the leading dimensions of larger ones, which are broadcast as NumPy does.
//   const auto cross = jnp::vectorize([](Array a, Array b) { ... }, "(k),(k)->(k)");
#include <jaxscope/numpy.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax {

namespace detail {
/// How a call is mapped: the arguments without dimensions of size 1, and from the inside out which of them a vmap maps.
struct Vectorization {
    std::vector<Array> squeezed;
    std::vector<std::vector<bool>> mapped;
    Shape expanded;  ///< dimensions of size 1 that results get back
    std::vector<std::vector<std::string>> outputs;
    std::vector<std::pair<std::string, std::int64_t>> sizes;  ///< of the signature's dimensions
    bool checks = false;                                      ///< is there a signature?
    std::string context;                                      ///< of errors
};
/// Throws JAX's sentences for arguments that the signature doesn't fit, and for what is no signature. Null: functions of scalars.
Vectorization vectorized(const char* signature, const std::vector<Array>& arguments, const Where& where);
void check_outputs(const Vectorization& v, const std::vector<Array>& outputs, const Where& where);

template <class F>
struct Vectorized {
    using Transformed = F;
    F f;
    const char* signature;
    Where where;
    template <class... A>
    auto operator()(const A&... a) const {
        using Args = std::tuple<ArrayOf<A>...>;
        using R = typename WithArrays<std::remove_cvref_t<std::invoke_result_t<const F&, const ArrayOf<A>&...>>>::type;
        const Args given(a...);
        const Vectorization v = vectorized(signature, tree_leaves(given), where);
        R out = run<R>(v, v.mapped.size(), tree_unflatten(given, v.squeezed, where));
        if (v.expanded.size() == 0) return out;
        return tree_map([&](const Array& r) { return numpy::expand_dims(Operand(r, where.file, where.line, where.function), v.expanded); },
                        out);
    }

private:
    /// Under so many of the maps.
    template <class R, class Args>
    R run(const Vectorization& v, std::size_t maps, const Args& args) const {
        if (maps == 0) {
            R out = std::apply(f, args);
            if (v.checks) check_outputs(v, tree_leaves(out), where);
            return out;
        }
        std::vector<Axis> axes;
        for (const bool mapped : v.mapped[maps - 1]) axes.push_back(mapped ? Axis(0) : Axis(none));
        const auto inner = [&](const Args& each) { return run<R>(v, maps - 1, each); };
        return jax::vmap(inner, {.in_axes = Axis({Axis(std::move(axes))})}, where)(args);
    }
};
/// Mapped over the dimensions behind the axis, from the last map on, then over those before it.
template <class R, class F>
R along_axis(const F& f, std::int64_t behind, std::int64_t end, std::int64_t front, const Array& a, const Where& where) {
    if (front > 0) {
        const auto inner = [&](const Array& each) { return along_axis<R>(f, behind, end, front - 1, each, where); };
        return jax::vmap(inner, {}, where)(a);
    }
    if (end > behind) {
        const auto inner = [&](const Array& each) { return along_axis<R>(f, behind, end - 1, 0, each, where); };
        return jax::vmap(inner, {.in_axes = static_cast<int>(end - behind), .out_axes = -1}, where)(a);
    }
    return R(f(a));
}
}  // namespace detail

namespace numpy {
/// `signature`: the dimensions of arguments and results that the function sees, "(n,m),(m)->(n)"; none: scalars, and results of any
/// shape. The function takes Arrays, and gives an Array or a tuple of them.
template <class F>
auto vectorize(F&& f, const char* signature = nullptr, Where where = {}) {
    return detail::Vectorized<detail::Stored<F>>{static_cast<F&&>(f), signature, where};
}
/// The function of the vectors along an axis, for all of them.
template <class F>
auto apply_along_axis(const F& func1d, std::int64_t axis, const Operand& x) {
    const Array a = asarray(x);
    const Where where = x.where;
    const std::int64_t rank = a.ndim();
    const std::int64_t at = axis < 0 ? axis + rank : axis;
    using R = typename detail::WithArrays<std::remove_cvref_t<std::invoke_result_t<const F&, const Array&>>>::type;
    return detail::along_axis<R>(func1d, 1, rank - at, at, a, where);
}
/// The function of the array and an axis, again for each axis; a result without the axis gets it back with size one.
template <class F>
Array apply_over_axes(const F& func, const Operand& x, const Shape& axes) {
    Array a = asarray(x);
    for (const std::int64_t axis : axes) {
        const Array b = func(a, axis);
        a = b.ndim() == a.ndim() ? b : expand_dims(Operand(b, x.where.file, x.where.line, x.where.function), axis);
    }
    return a;
}
}  // namespace numpy

}  // namespace jaxscope::jax
