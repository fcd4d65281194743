// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trees like other trees where every leaf is a tree of its own: what a Jacobian is of (jacobian.h). Tuples, pairs, vectors, arrays, maps
// and optionals stay what they are; a struct of Arrays can't hold trees in their place, so a TreeOf stands for it.
#include <jaxscope/pytree.h>

namespace jaxscope::jax {

template <class T, class U>
class TreeOf;

namespace detail {

/// Says that the struct `name` has no member that was asked for among those that are its tree.
[[noreturn]] void no_such_member(Name name);
std::string joined_names(const Name* names, std::size_t n);

/// The type of a tree T whose leaves are trees of type U.
template <class T, class U>
struct Product {
    static_assert(Registered<T> || Aggregate<T>, "jacobian: the function's result is no tree, or holds a std::variant");
    using type = TreeOf<T, U>;
};
template <class T, class U>
requires is_leaf<T>
struct Product<T, U> {
    using type = U;
};
template <class V, class U>
struct Product<Static<V>, U> {
    using type = Static<V>;
};
template <template <class...> class T, class... M, class U>
struct Product<T<M...>, U> {
    template <class X>
    static auto one() {
        if constexpr (Map<T<M...>>)
            return std::type_identity<T<typename T<M...>::key_type, typename Product<typename T<M...>::mapped_type, U>::type>>();
        else if constexpr (Sequence<T<M...>>)
            return std::type_identity<T<typename Product<typename T<M...>::value_type, U>::type>>();
        else if constexpr (Optional<T<M...>> || TupleLike<T<M...>>)
            return std::type_identity<T<typename Product<M, U>::type...>>();
        else
            return std::type_identity<TreeOf<T<M...>, U>>();  // a struct that is a template
    }
    using type = typename decltype(one<void>())::type;
};
template <class T, std::size_t N, template <class, std::size_t> class A, class U>
struct Product<A<T, N>, U> {
    using type = A<typename Product<T, U>::type, N>;
};

/// Calls f(member...) with references to the members that are the children of a struct, and gives its result.
template <class T, class F>
constexpr decltype(auto) with_children(T& t, F&& f) {
    if constexpr (Registered<std::remove_const_t<T>>)
        return jaxscope_members(t, static_cast<F&&>(f));
    else
        return with_members(t, static_cast<F&&>(f));
}
template <class U>
struct TupleOfProducts {
    template <class... M>
    auto operator()(M&...) const {
        return std::type_identity<std::tuple<typename Product<std::remove_cv_t<M>, U>::type...>>();
    }
};
template <class T, class U>
using MemberProducts = typename decltype(with_children(std::declval<T&>(), TupleOfProducts<U>()))::type;

}  // namespace detail

/// A struct T where each leaf is a U: `h[&Params::w]` is what stands in the place of `w`, with members of `w`'s type in their places
/// again. What isn't an array (Static<>) is a copy.
template <class T, class U>
class TreeOf {
public:
    using Members = detail::MemberProducts<T, U>;

    TreeOf(T like, Members members) : like_(std::move(like)), members_(std::move(members)) {}

    template <class M>
    const typename detail::Product<M, U>::type& operator[](M T::*member) const {
        const typename detail::Product<M, U>::type* found = nullptr;
        detail::with_children(like_, [&](const auto&... each) {
            [&]<std::size_t... I>(std::index_sequence<I...>) { (look<I>(found, &(like_.*member), each), ...); }
            (std::index_sequence_for<decltype(each)...>());
        });
        if (!found) detail::no_such_member(detail::type_name<T>);
        return *found;
    }
    /// What stands in the members' places, in order.
    const Members& members() const { return members_; }

private:
    template <std::size_t I, class P, class M, class E>
    void look(P*& found, const M* member, const E& each) const {
        if constexpr (std::is_same_v<M, E>)
            if (member == &each) found = &std::get<I>(members_);
    }
    template <class Self, class F>
    requires std::is_same_v<std::remove_cv_t<Self>, TreeOf>
    friend void jaxscope_members(Self& self, F&& f) {
        [&]<std::size_t... I>(std::index_sequence<I...>) { f(std::get<I>(self.members_)...); }
        (std::make_index_sequence<std::tuple_size_v<Members>>());
    }
    friend const char* jaxscope_member_names(const TreeOf*) {
        if constexpr (detail::Registered<T>) {
            return jaxscope_member_names(static_cast<const T*>(nullptr));
        } else {
            static const std::string names = detail::joined_names(detail::member_names<T>.names, detail::member_count<T>());
            return names.c_str();
        }
    }

    T like_;
    Members members_;
};

namespace detail {
/// The tree `like` with the trees that `make` gives for its leaves, in order.
template <class P, class T, class M>
P product_of(const T& like, const M& make) {
    if constexpr (is_leaf<T>) {
        return make();
    } else if constexpr (is_static<T>) {
        return like;
    } else if constexpr (Registered<T> || (Aggregate<T> && !TupleLike<T>)) {
        return with_children(like, [&](const auto&... member) {
            using Members = typename P::Members;
            return [&]<std::size_t... I>(std::index_sequence<I...>) {
                return P(like, Members{product_of<std::tuple_element_t<I, Members>>(member, make)...});
            }
            (std::index_sequence_for<decltype(member)...>());
        });
    } else if constexpr (Optional<T>) {
        P out;
        if (like.has_value()) out.emplace(product_of<typename P::value_type>(*like, make));
        return out;
    } else if constexpr (Map<T>) {
        P out;
        each_entry(like, [&](const auto& entry) { out.emplace(entry.first, product_of<typename P::mapped_type>(entry.second, make)); });
        return out;
    } else if constexpr (Sequence<T>) {
        P out;
        for (const auto& v : like) out.push_back(product_of<typename P::value_type>(v, make));
        return out;
    } else if constexpr (FixedArray<T>) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) { return P{product_of<typename P::value_type>(like[I], make)...}; }
        (std::make_index_sequence<std::tuple_size_v<T>>());
    } else {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return P{product_of<std::tuple_element_t<I, P>>(std::get<I>(like), make)...};
        }
        (std::make_index_sequence<std::tuple_size_v<T>>());
    }
}
}  // namespace detail

}  // namespace jaxscope::jax
