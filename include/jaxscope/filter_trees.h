// SPDX-License-Identifier: Apache-2.0
#pragma once
// Equinox's functions on models as they are trained: updates, equality, Jacobians by the floating-point arrays, files, tree_pprint.
#include <jaxscope/filter.h>
#include <jaxscope/jacobian.h>

namespace jaxscope::jax {

/// The model plus its updates; what has none stays.
template <class T>
T apply_updates(const T& model, const T& updates, Where where = {}) {
    detail::check_same_places(detail::description<true>(updates), detail::description<true>(model), where);  // whose trees JAX maps over
    T out(model);
    const std::vector<Array> by = detail::places_in<true>(updates);
    std::size_t n = 0;
    detail::each_place(out, [&](Array& a) {
        if (const Array& u = by[n++]; u.has_value())
            a = Operand(a, where.file, where.line, where.function) + Operand(u, where.file, where.line, where.function);
    });
    return out;
}

struct TreeEquality {
    double rtol = 0, atol = 0;  ///< of floating-point arrays
};
namespace detail {
Array trees_equal(const std::vector<Array>& a, const std::vector<Array>& b, const TreeEquality& how, const Where& where);
void write_leaves(const std::string& path, const std::vector<Array>& leaves);
std::vector<Array> read_leaves(const std::string& path, const std::vector<Array>& like);
}  // namespace detail
/// Have both the same arrays in the same places, and are all other members equal (==)? A boolean; within jit one that is known when it
/// runs.
template <class T>
Array tree_equal(const T& a, const T& b, const TreeEquality& how = {}, Where where = {}) {
    if (!(detail::make_tree(detail::description<true>(a)) == detail::make_tree(detail::description<true>(b)))) return false;
    return detail::trees_equal(detail::places_in<true>(a), detail::places_in<true>(b), how, where);
}

namespace detail {
template <bool Forward, class F>
struct FilterJacobian {
    using Transformed = F;
    F f;
    Where where;
    template <class T, class... A>
    auto operator()(const T& x, const A&... a) const {
        if constexpr (differentiates_first<F, T, A...>()) return differentiate(x, unkeyed(a)...);
    }

private:
    template <class T, class... A>
    auto differentiate(const T& x, const A&... a) const {
        using R = std::remove_cvref_t<std::invoke_result_t<const F&, const T&, const A&...>>;
        using P = typename Product<R, T>::type;
        std::vector<R> traced;
        const auto flat = [&](const std::vector<Array>& leaves) {
            R r = f(with_inexact(x, leaves), a...);
            traced.assign(1, r);
            return tree_leaves(r);
        };
        const auto blocks = [&] {
            if constexpr (Forward)
                return jax::jacfwd(flat, GradOptions(), where)(inexact_leaves(x));
            else
                return jax::jacrev(flat, GradOptions(), where)(inexact_leaves(x));
        }();
        const auto places = places_in<true>(traced.front());
        std::size_t place = 0, leaf = 0;
        return product_of<P>(traced.front(), [&] {
            const bool there = places.at(place++).has_value();
            return gradient_like(x, there ? blocks.at(leaf++) : std::vector<Array>(inexact_leaves(x).size()));
        });
    }
};
}  // namespace detail
/// By the floating-point arrays of the first argument; None for its other arrays. The function's result holds arrays alone.
template <class F>
auto filter_jacfwd(F&& f, Where where = {}) {
    return detail::FilterJacobian<true, detail::Stored<F>>{static_cast<F&&>(f), where};
}
template <class F>
auto filter_jacrev(F&& f, Where where = {}) {
    return detail::FilterJacobian<false, detail::Stored<F>>{static_cast<F&&>(f), where};
}
template <class F>
auto filter_hessian(F&& f, Where where = {}) {
    return filter_jacfwd(filter_jacrev(static_cast<F&&>(f), where), where);
}

/// The arrays of a tree in a file, as Equinox writes those of a tree of arrays; without a suffix it ends in ".eqx".
template <class T>
void tree_serialise_leaves(const std::string& path, const T& tree) {
    detail::write_leaves(path, detail::leaves_in<true>(tree));
}
/// A tree like `like` with the arrays of the file. Throws where theirs are of other shapes or types.
template <class T>
T tree_deserialise_leaves(const std::string& path, const T& like) {
    return detail::with_arrays(like, detail::read_leaves(path, detail::leaves_in<true>(like)));
}

namespace detail {
std::string listed_name(const char* names, std::size_t n);  ///< of names between commas
/// Calls f(member, name) for the members of structs, at any depth.
template <class T, class F>
void each_named_member(T& t, F& f) {
    using U = std::remove_cv_t<T>;
    if constexpr (is_leaf<U> || is_static<U>) {
    } else if constexpr (Aggregate<U> && !Registered<U> && !TupleLike<U> && !FixedArray<U>) {
        std::size_t n = 0;
        with_members(t, [&](auto&... m) {
            ((f(m, std::string(member_names<U>.names[n].text, member_names<U>.names[n].size)), ++n, each_named_member(m, f)), ...);
        });
    } else if constexpr (Registered<U>) {
        std::size_t n = 0;
        each_child<true>(t, [&](auto& m) {
            f(m, listed_name(jaxscope_member_names(static_cast<const U*>(nullptr)), n++));
            each_named_member(m, f);
        });
    } else {
        each_child<true>(t, [&](auto& child) { each_named_member(child, f); });
    }
}
}  // namespace detail
/// The model with all members called `inference`, bools or Static bools, set to this value: layers such as dropout go by it.
template <class T>
T tree_inference(const T& model, bool value) {
    T out(model);
    const auto set = [&]<class M>(M& member, const std::string& name) {
        if (name != "inference") return;
        if constexpr (std::is_same_v<M, bool> || std::is_same_v<M, Static<bool>>) member = {value};
    };
    detail::each_named_member(out, set);
    return out;
}
namespace nn {
template <class T>
T inference_mode(const T& model, bool value = true) {
    return tree_inference(model, value);
}
}  // namespace nn

struct PrintOptions {
    std::size_t width = 80, indent = 2;
    Flag short_arrays = true;      ///< `f32[3]`
    Flag struct_as_array = false;  ///< the same of what has only a shape
};
namespace detail {
/// `hidden`: for each member of a struct, in the order of the tree, whether it is left out.
std::string tree_pformat(const PyTreeDef& tree, const std::vector<Array>& leaves, const std::vector<bool>& hidden,
                         const PrintOptions& options);
void print_line(const std::string& text);
template <class T>
inline constexpr bool may_be_default = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;
/// Has a member the value that its struct gives it? One that gives what every member without a value has isn't told from none.
template <class T>
bool is_default([[maybe_unused]] const T& value, [[maybe_unused]] const T& given) {
    if constexpr (may_be_default<T>)
        return value == given && !(given == T{});
    else
        return false;
}
/// What tree_pformat leaves out of each struct, as Equinox does: members that are no arrays and have their default. First those of a
/// struct, then what its members leave out.
template <class T>
void hidden_members(const T& t, std::vector<bool>& out) {
    if constexpr (is_leaf<T> || is_static<T> || !is_tree<T>()) {
    } else if constexpr (Aggregate<T> && !Registered<T> && !TupleLike<T>) {
        with_members(t, [&]<class... M>(const M&... m) {
            if constexpr ((may_be_default<M> || ...) && std::is_default_constructible_v<T>) {
                const T fresh{};
                with_members(fresh, [&](const M&... d) { (out.push_back(is_default(m, d)), ...); });
            } else {
                out.insert(out.end(), sizeof...(M), false);
            }
            (hidden_members(m, out), ...);
        });
    } else {
        if constexpr (Registered<T>) each_child<true>(t, [&](const auto&) { out.push_back(false); });
        each_child<true>(t, [&](const auto& child) { hidden_members(child, out); });
    }
}
}  // namespace detail
template <class T>
std::string tree_pformat(const T& tree, const PrintOptions& options = {}) {
    std::vector<bool> hidden;
    detail::hidden_members(tree, hidden);
    return detail::tree_pformat(detail::make_tree(detail::description<true>(tree)), detail::leaves_in<true>(tree), hidden, options);
}
template <class T>
void tree_pprint(const T& tree, const PrintOptions& options = {}) {
    detail::print_line(tree_pformat(tree, options));
}

}  // namespace jaxscope::jax
