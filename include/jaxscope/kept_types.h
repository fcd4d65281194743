// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a call's arguments are kept as, what it gives, and why it can't be made. Never here: calls themselves (function.h).
#include <optional>

#include <jaxscope/pytree.h>

namespace jaxscope::jax {

/// A keyword argument: `f(x, kw("mask", m))` passes `m` at this place and calls it "mask" wherever arguments are named.
template <class T>
struct Keyword {
    const char* name;
    T value;
};
template <class T>
Keyword<std::decay_t<T>> kw(const char* name, T&& value) {
    return {name, static_cast<T&&>(value)};
}

namespace detail {

/// An argument that isn't made of arrays: its value joins the tree, and it must be static.
template <class T>
struct StaticArg {
    T value{};
    friend bool operator==(const StaticArg&, const StaticArg&) = default;
};
template <class T>
inline constexpr bool is_static<StaticArg<T>> = true;
template <class T>
inline constexpr bool is_static_arg = false;
template <class T>
inline constexpr bool is_static_arg<StaticArg<T>> = true;

template <class T>
struct Unkeyed {
    using type = T;
};
template <class T>
struct Unkeyed<Keyword<T>> {
    using type = T;
};
/// `std::nullopt` for an array that may be missing.
template <>
struct Unkeyed<std::nullopt_t> {
    using type = std::optional<Array>;
};
template <>
struct Unkeyed<Keyword<std::nullopt_t>> : Unkeyed<std::nullopt_t> {};
/// A struct of values that are no arrays, such as a configuration: it can be told from another one, and is no tree.
template <class D>
constexpr bool is_record() {
    if constexpr (Aggregate<D> && !std::is_empty_v<D> && !Registered<D> && !is_static<D>)
        return tree_problem<false, D>() == TreeProblem::no_tree && Comparable<D>;
    else
        return false;
}
/// Arrays for the numbers that a function gives or a loop begins with.
template <class T>
struct WithArrays {
    using type = std::conditional_t<AnyNumber<T>, Array, T>;
};
template <class A, class B>
struct WithArrays<std::pair<A, B>> {
    using type = std::pair<typename WithArrays<A>::type, typename WithArrays<B>::type>;
};
template <class... T>
struct WithArrays<std::tuple<T...>> {
    using type = std::tuple<typename WithArrays<T>::type...>;
};

/// A number, or a pair or tuple with some.
template <class T>
inline constexpr bool is_numbers = !std::is_same_v<typename WithArrays<T>::type, T>;
/// What an argument is kept as: a number, or a pair or tuple of them, as Arrays where the function takes these, other values without arrays
/// as StaticArg. With
/// `Filter` (filter_jit and its family) every value as it is: what is no array is static.
template <class A, bool NumbersAreArrays, bool Filter = false>
struct KeptAs {
    using D = typename Unkeyed<std::decay_t<A>>::type;
    static auto pick() {
        if constexpr (Filter && std::is_convertible_v<D, const char*>)
            return std::type_identity<std::string>();
        else if constexpr (Filter)
            return std::type_identity<D>();
        else if constexpr (NumbersAreArrays && is_numbers<D>)
            return std::type_identity<typename WithArrays<D>::type>();
        else if constexpr (std::is_convertible_v<D, const char*>)
            return StaticArg<std::string>();
        else if constexpr (is_plain<D>() || is_record<D>())
            return StaticArg<D>();
        else
            return std::type_identity<D>();
    }
    template <class T>
    struct Id {
        using type = T;
    };
    template <class T>
    struct Id<std::type_identity<T>> {
        using type = T;
    };
    using type = typename Id<decltype(pick())>::type;
};
/// What keeps a value from being an argument.
template <class D>
constexpr TreeProblem argument_problem() {
    if constexpr (AnyNumber<D> || std::is_convertible_v<D, const char*> || is_plain<D>() || is_record<D>())
        return TreeProblem::none;
    else
        return tree_problem<false, D>();
}
template <class... A>
inline constexpr TreeProblem problem_of = first_problem({argument_problem<typename Unkeyed<std::decay_t<A>>::type>()...});
/// Why a call isn't made. Asked before anything else is, so that one sentence says what is wrong.
enum class CallProblem : unsigned char { none, no_tree, no_equality, no_copy, not_callable, result };
template <class T>
const T& given(const T& v) {
    return v;
}
template <class T>
const T& given(const StaticArg<T>& v) {
    return v.value;
}
template <class A>
inline constexpr bool is_keyword = false;
template <class T>
inline constexpr bool is_keyword<Keyword<T>> = true;
template <class A>
const auto& unkeyed(const A& a) {
    if constexpr (is_keyword<A>)
        return a.value;
    else
        return a;
}
/// Null of a positional argument.
template <class A>
const char* keyword_name(const A& a) {
    if constexpr (is_keyword<A>)
        return a.name;
    else
        return nullptr;
}

template <class F>
concept is_transformed = requires {
    typename F::Transformed;
};

template <bool Filter, class F, class... A>
struct KeptTypes;
/// Can the function be called with these? What one of ours makes of a function takes whatever that takes: asking its own operator() would
/// compile a call, which may be an error.
template <class F, class... A>
constexpr bool accepts() {
    if constexpr (requires { typename F::Transformed; })
        return KeptTypes<false, typename F::Transformed, A...>::callable || KeptTypes<true, typename F::Transformed, A...>::callable;
    else if constexpr (requires { typename F::Ruled; })
        return accepts<typename F::Ruled, A...>();
    else
        return std::is_invocable_v<const F&, const A&...>;
}

/// What the arguments of a call are kept as. All numbers are Arrays where the function takes them so; else one after the other becomes an
/// Array where the function takes it together with the others as they are: `f(Array x, bool flag)` called with `f(1.f, true)`.
template <bool Filter, class F, class... A>
struct KeptTypes {
private:
    using Mask = unsigned long long;
    static_assert(sizeof...(A) <= 64, "a function of more than 64 arguments: put them into a struct");
    template <class K>
    using Given = std::remove_cvref_t<decltype(given(std::declval<const K&>()))>;
    template <std::size_t I, Mask M>
    using At = typename KeptAs<std::tuple_element_t<I, std::tuple<A...>>, static_cast<bool>(M >> I & 1), Filter>::type;
    template <Mask M>
    static constexpr bool takes() {
        return []<std::size_t... I>(std::index_sequence<I...>) { return accepts<F, Given<At<I, M>>...>(); }
        (std::index_sequence_for<A...>());
    }
    template <Mask M, std::size_t I>
    static constexpr Mask with_arrays_from() {
        if constexpr (I == sizeof...(A))
            return M;
        else if constexpr (!std::is_same_v<At<I, M>, At<I, M | Mask(1) << I>> && takes<M | Mask(1) << I>())
            return with_arrays_from<M | Mask(1) << I, I + 1>();
        else
            return with_arrays_from<M, I + 1>();
    }
    static constexpr Mask arrays() {
        if constexpr (takes<~Mask(0)>())
            return ~Mask(0);
        else
            return with_arrays_from<0, 0>();
    }
    static constexpr Mask kArrays = arrays();
    template <std::size_t... I>
    static auto args_of(std::index_sequence<I...>) -> std::tuple<At<I, kArrays>...>;
    static auto result_of() {
        if constexpr (takes<kArrays>()) return []<std::size_t... I>(std::index_sequence<I...>) {
                using R = std::remove_cvref_t<std::invoke_result_t<const F&, const Given<At<I, kArrays>>&...>>;
                if constexpr (std::is_void_v<R>)
                    return std::type_identity<None>();
                else if constexpr (Filter)
                    return std::type_identity<R>();
                else
                    return std::type_identity<typename WithArrays<R>::type>();
            }
        (std::index_sequence_for<A...>());
        else return std::type_identity<Array>();
    }

public:
    using Args = decltype(args_of(std::index_sequence_for<A...>()));
    using Result = typename decltype(result_of())::type;

private:
    static constexpr CallProblem find_problem() {
        constexpr TreeProblem tree = Filter ? TreeProblem::none : problem_of<A...>;
        if constexpr (tree == TreeProblem::no_tree)
            return CallProblem::no_tree;
        else if constexpr (tree == TreeProblem::no_equality)
            return CallProblem::no_equality;
        else if constexpr (!(std::is_copy_constructible_v<typename Unkeyed<std::decay_t<A>>::type> && ...))
            return CallProblem::no_copy;
        else if constexpr (!takes<kArrays>())
            return CallProblem::not_callable;
        else
            return tree_problem<Filter, Result>() == TreeProblem::no_tree ? CallProblem::result : CallProblem::none;
    }

public:
    static constexpr CallProblem problem = find_problem();
    static constexpr bool callable = problem == CallProblem::none;
};

}  // namespace detail
}  // namespace jaxscope::jax
