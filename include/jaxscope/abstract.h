// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.eval_shape, ShapeDtypeStruct, closure_convert: functions of which only the types, or the equations, are asked for.
#include <jaxscope/kept.h>

namespace jaxscope::jax {

/// Shape and type of an array without elements: what eval_shape gives, and what it takes in place of arrays.
Array ShapeDtypeStruct(const Shape& shape, dtype type = dtype::float32, Where where = {});

namespace detail {
std::vector<Array> eval_shape(Call& call);
/// Arrays that the function closes over and that could be differentiated; the rest is kept.
struct Hoisted {
    KeptHandle function;
    std::vector<Array> consts;
};
Hoisted closure_convert_call(Call& call);
std::vector<Array> call_converted(Kept& function, const std::vector<Array>& arguments, const Description& tree,
                                  const std::vector<Array>& consts);

template <class R>
class ConvertedFunction {
public:
    ConvertedFunction(R prototype, KeptHandle function) : prototype_(std::move(prototype)), function_(std::move(function)) {}
    /// The arguments, then the hoisted arrays as they came or others of their types.
    template <class... A>
    R operator()(const A&... a) const {
        static_assert(sizeof...(A) > 0, "closure_convert: the converted function takes its arguments, then the hoisted arrays");
        return split(std::make_index_sequence<sizeof...(A) - 1>(), std::tuple<const A&...>(a...));
    }

private:
    template <std::size_t... I, class T>
    R split(std::index_sequence<I...>, const T& all) const {
        const auto arguments = std::tuple<typename KeptAs<std::tuple_element_t<I, T>, true>::type...>(std::get<I>(all)...);
        const std::vector<Array> flat =
            call_converted(*function_, tree_leaves(arguments), description(arguments), tree_leaves(std::get<sizeof...(I)>(all)));
        const Array* at = flat.data();
        return with_leaves(prototype_, at);
    }
    R prototype_;
    KeptHandle function_;
};
}  // namespace detail

namespace detail {
template <class F, class... A>
auto shape_of_call(const Where& where, const F& f, const A&... a) {
    CallOf<F, A...> call(f, a...);
    call.where = where;
    const std::vector<Array> flat = detail::eval_shape(call);
    const Array* at = flat.data();
    return with_leaves(call.result(), at);
}
template <class F, class... A>
auto converted(const Where& where, const F& f, const A&... a) {
    CallOf<F, A...> call(f, a...);
    call.where = where;
    Hoisted c = detail::closure_convert_call(call);
    return std::pair(ConvertedFunction(call.result(), std::move(c.function)), std::move(c.consts));
}
}  // namespace detail

/// The result's tree, its leaves without elements: nothing is computed.
template <class F, class A>
auto eval_shape(const F& f, const A& a, Where where = {}) {
    return detail::shape_of_call(where, f, a);
}
template <class F, class A, class B>
auto eval_shape(const F& f, const A& a, const B& b, Where where = {}) {
    return detail::shape_of_call(where, f, a, b);
}
template <class F, class... A>
auto eval_shape(const F& f, const A&... a) {
    return detail::shape_of_call(Where("", 0, ""), f, a...);
}
/// `auto [g, consts] = jax::closure_convert(f, x);  g(x, consts)` is f(x), with what f closes over as arguments.
template <class F, class A>
auto closure_convert(const F& f, const A& a, Where where = {}) {
    return detail::converted(where, f, a);
}
template <class F, class... A>
auto closure_convert(const F& f, const A&... a) {
    return detail::converted(Where("", 0, ""), f, a...);
}

}  // namespace jaxscope::jax
