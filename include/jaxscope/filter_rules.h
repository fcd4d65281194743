// SPDX-License-Identifier: Apache-2.0
#pragma once
// equinox.filter_vjp, filter_custom_vjp, filter_custom_jvp, filter_eval_shape, combine with is_leaf, and the loop that reverse mode can
// go through: over trees that hold values of any kind.
#include <jaxscope/abstract.h>
#include <jaxscope/control_flow.h>
#include <jaxscope/custom_rules.h>
#include <jaxscope/filter.h>

namespace jaxscope::jax {

/// The result's tree, its arrays without elements; what is no array is as the function returned it.
template <class F, class... A>
auto filter_eval_shape(const F& f, const A&... a) {
    detail::FilterCallOf call(f, a...);
    return detail::with_arrays(call.result(), detail::eval_shape(call));
}

namespace detail {
/// The arrays that aren't differentiated, and a tree with others there.
template <class T>
std::vector<Array> other_leaves(const T& t) {
    std::vector<Array> out;
    each_leaf<true>(t, [&](const Array& a) {
        if (!is_inexact_array(a)) append(out, a);
    });
    return out;
}
template <class T>
T with_others(const T& t, const std::vector<Array>& leaves) {
    T out(t);
    std::size_t n = 0;
    each_leaf<true>(out, [&](Array& a) {
        if (!is_inexact_array(a)) a = leaves[n++];
    });
    return out;
}
/// The values, of which derivatives are refused with this text.
std::vector<Array> nondifferentiable(const std::vector<Array>& values, const char* text);
/// What is given for results that hold floating-point numbers; by place.
std::vector<Array> cotangents_of(const std::vector<Array>& results, const std::vector<Array>& given);

template <class... A>
auto held(const A&... a) {
    return std::tuple<std::decay_t<decltype(unkeyed(a))>...>(unkeyed(a)...);
}
/// `fixed`: the arrays of x that hold no floating-point numbers, then those of the other arguments.
template <class X, class Rest>
std::pair<X, Rest> split_fixed(const X& x, const Rest& rest, const std::vector<Array>& diff, const std::vector<Array>& fixed) {
    std::pair<X, Rest> out(x, rest);
    std::size_t d = 0, n = 0;
    each_leaf<true>(out.first, [&](Array& a) { a = is_inexact_array(a) ? diff[d++] : fixed[n++]; });
    each_leaf<true>(out.second, [&](Array& a) { a = fixed[n++]; });
    return out;
}
/// A result with cotangents: None where it has no floating-point array.
template <class R>
R gradient_like_result(const R& r, const std::vector<Array>& cotangents) {
    R out(r);
    std::size_t n = 0;
    each_leaf<true>(out, [&](Array& a) {
        const Array& ct = cotangents[n++];
        a = is_inexact_array(a) ? ct : Array();
    });
    return out;
}
template <class T>
inline constexpr bool is_by_name = false;
template <class T>
inline constexpr bool is_by_name<Keyword<T>> = true;
}  // namespace detail

namespace detail {
template <class F, class Arguments>
auto filter_vjp_of(const Where& where, const F& f, const Arguments& arguments) {
    using R = std::remove_cvref_t<decltype(std::apply(f, arguments))>;
    std::vector<R> traced;
    const auto flat = [&](const std::vector<Array>& leaves) {
        R r = std::apply(f, with_inexact(arguments, leaves));
        traced.assign(1, r);
        return std::pair(inexact_leaves(r), other_leaves(r));
    };
    auto [values, pullback, others] = jax::vjp<has_aux>(flat, inexact_leaves(arguments), where);
    const R prototype = traced.front();
    R out = with_others(with_inexact(prototype, values), others);
    const auto back = [pullback = pullback, arguments, results = places_in<true>(out)](const R& cotangent, Where line = {}) {
        return gradient_like(arguments, std::get<0>(pullback(cotangents_of(results, places_in<true>(cotangent)), line)));
    };
    return std::pair(std::move(out), back);
}
}  // namespace detail
/// `auto [y, f_vjp] = filter_vjp(f, x, s);  auto [dx, ds] = f_vjp(dy);` Floating-point arrays are differentiated; in what comes back, None
/// stands for other arrays, and other values are as they were. A cotangent is None where the result has no floating-point array.
template <class F, class A>
auto filter_vjp(const F& f, const A& a, Where where = {}) {
    return detail::filter_vjp_of(where, f, detail::held(a));
}
template <class F, class A, class B>
auto filter_vjp(const F& f, const A& a, const B& b, Where where = {}) {
    return detail::filter_vjp_of(where, f, detail::held(a, b));
}
template <class F, class A, class B, class C, class... More>
auto filter_vjp(const F& f, const A& a, const B& b, const C& c, const More&... more) {
    return detail::filter_vjp_of(Where("", 0, ""), f, detail::held(a, b, c, more...));
}

/// Of `fn(x, args...)`, whose first argument is differentiated by `bwd(residuals, grad_out, perturbed, x, args...)`, which gives x's
/// gradient (None where there is none). `fwd(perturbed, x, args...)` gives std::pair(out, residuals). `perturbed` is true: as rules are
/// traced before anybody differentiates, every floating-point array counts as perturbed.
template <class F, class Fwd, class Bwd>
class FilterCustomVjp {
public:
    using Ruled = F;
    FilterCustomVjp(F f, Fwd fwd, Bwd bwd) : f_(std::move(f)), fwd_(std::move(fwd)), bwd_(std::move(bwd)) {}
    template <class X, class... A>
    auto operator()(const X& x, const A&... a) const {
        using R = std::remove_cvref_t<std::invoke_result_t<const F&, const X&, const A&...>>;
        const auto rest = detail::held(a...);
        std::vector<R> traced;
        const auto with = [&](const auto& g, const Arrays& diff, const Arrays& fixed) {
            const auto both = detail::split_fixed(x, rest, diff, fixed);
            return std::apply([&](const auto&... v) { return g(both.first, v...); }, both.second);
        };
        const auto plain = [&](const Arrays& diff, const Arrays& fixed) {
            R r = with(f_, diff, fixed);
            traced.assign(1, r);
            return detail::leaves_in<true>(r);
        };
        const auto forward = [&](const Arrays& diff, const Arrays& fixed) {
            const auto made = with([&](const auto&... v) { return fwd_(true, v...); }, diff, fixed);
            return std::pair(detail::leaves_in<true>(made.first), std::tuple(made.second, diff, fixed));
        };
        const auto backward = [&](const auto& kept, const auto& ct) {
            const auto& residuals = std::get<0>(kept);
            const Arrays &diff = std::get<1>(kept), &fixed = std::get<2>(kept);
            const R grad_out = detail::gradient_like_result(traced.front(), ct);
            const X gradient = with([&](const auto&... v) { return bwd_(residuals, grad_out, true, v...); }, diff, fixed);
            // None is no gradient: zero.
            std::remove_cvref_t<decltype(ct)> out;
            std::size_t n = 0;
            const Arrays given = detail::places_in<true>(gradient);
            std::size_t place = 0;
            detail::each_place(x, [&](const Array& v) {
                if (is_inexact_array(v)) {
                    const Array& g = given.at(place);
                    detail::append(out, g.has_value() ? g : detail::zeros_array(diff[n]));
                    ++n;
                }
                ++place;
            });
            return std::pair(out, none);
        };
        Arrays fixed = detail::other_leaves(x);
        const Arrays guarded =
            detail::nondifferentiable(detail::leaves_in<true>(rest),
                                      "Unexpected tangent. `*args` and `**kwargs` to `filter_custom_vjp` cannot be autodifferentiated.");
        for (const Array& a : guarded) detail::append(fixed, a);
        const Arrays flat =
            jax::custom_vjp(plain, {.name = "fn_wrapped"})
                .defvjp(forward, backward, {.name = "fn_fwd_wrapped", .bwd_name = "fn_bwd_wrapped"})(detail::inexact_leaves(x), fixed);
        return detail::with_arrays(traced.front(), flat);
    }

private:
    F f_;
    Fwd fwd_;
    Bwd bwd_;
};
namespace detail {
template <class F, class Fwd>
struct FilterCustomVjpForward {
    F f;
    Fwd fwd;
    template <class Bwd>
    auto def_bwd(Bwd&& bwd) const {
        return FilterCustomVjp<F, Fwd, Stored<Bwd>>(f, fwd, static_cast<Bwd&&>(bwd));
    }
};
template <class F>
struct FilterCustomVjpFunction {
    F f;
    template <class Fwd>
    auto def_fwd(Fwd&& fwd) const {
        return FilterCustomVjpForward<F, Stored<Fwd>>{f, static_cast<Fwd&&>(fwd)};
    }
};
}  // namespace detail
/// `filter_custom_vjp(fn).def_fwd(fwd).def_bwd(bwd)`
template <class F>
auto filter_custom_vjp(F&& f) {
    return detail::FilterCustomVjpFunction<detail::Stored<F>>{static_cast<F&&>(f)};
}

/// Of `fn(args..., kw(...)...)`: positional arguments are differentiated by `rule(primals, tangents, keyword values...)`, which gives
/// std::pair(out, out_tangent). Keyword arguments must not be differentiated. A tangent is None where there is no floating-point array.
template <class F, class Rule>
class FilterCustomJvp {
public:
    using Ruled = F;
    FilterCustomJvp(F f, Rule rule) : f_(std::move(f)), rule_(std::move(rule)) {}
    template <class... A>
    auto operator()(const A&... a) const {
        const auto positional = std::tuple_cat(chosen<false>(a)...);
        const auto keywords = std::tuple_cat(chosen<true>(a)...);
        using R = std::remove_cvref_t<decltype(std::apply(f_, std::tuple_cat(positional, keywords)))>;
        std::vector<R> traced;
        Arrays guarded = detail::leaves_in<true>(keywords);
        if (!guarded.empty()) guarded = detail::nondifferentiable(guarded, "Received keyword tangent");
        const auto fixed = detail::with_arrays(keywords, guarded);
        const auto plain = [&](const Arrays& diff) {
            R r = std::apply(f_, std::tuple_cat(detail::with_inexact(positional, diff), fixed));
            traced.assign(1, r);
            return detail::leaves_in<true>(r);
        };
        const auto rule = [&](const auto& primals, const auto& tangents) {
            const auto in = detail::with_inexact(positional, std::get<0>(primals));
            const auto dot = detail::gradient_like(positional, std::get<0>(tangents));
            const auto both = std::apply([&](const auto&... k) { return rule_(in, dot, k...); }, fixed);
            const auto &out = both.first, &out_dot = both.second;
            // Tangents of results, zero where the rule gave None.
            Arrays values = detail::leaves_in<true>(out), moved;
            const Arrays given = detail::places_in<true>(out_dot);
            std::size_t place = 0, n = 0;
            detail::each_place(out, [&](const Array& v) {
                if (v.has_value()) {
                    const Array& t = given.at(place);
                    detail::append(moved, t.has_value() ? t : detail::zeros_array(values[n]));
                    ++n;
                }
                ++place;
            });
            return std::pair(values, moved);
        };
        const Arrays flat =
            jax::custom_jvp(plain, {.name = "fn_wrapper"}).defjvp(rule, {.name = "fn_jvp_wrapper"})(detail::inexact_leaves(positional));
        return detail::with_arrays(traced.front(), flat);
    }

private:
    template <bool Keyed, class T>
    static auto chosen(const T& a) {
        if constexpr (detail::is_by_name<T> == Keyed)
            return detail::held(a);
        else
            return std::tuple<>();
    }
    F f_;
    Rule rule_;
};
namespace detail {
template <class F>
struct FilterCustomJvpFunction {
    F f;
    template <class Rule>
    auto def_jvp(Rule&& rule) const {
        return FilterCustomJvp<F, Stored<Rule>>(f, static_cast<Rule&&>(rule));
    }
};
}  // namespace detail
/// `filter_custom_jvp(fn).def_jvp(rule)`
template <class F>
auto filter_custom_jvp(F&& f) {
    return detail::FilterCustomJvpFunction<detail::Stored<F>>{static_cast<F&&>(f)};
}

/// `combine(is_leaf(pred), first, second...)`: where pred holds of a node of the first tree, that node is taken whole: the first one of
/// the trees' nodes there that isn't None (an Array without a value, an empty optional).
template <class P>
struct IsLeaf {
    P pred;
};
template <class P>
IsLeaf<P> is_leaf(P pred) {
    return {static_cast<P&&>(pred)};
}
namespace detail {
template <class T>
bool is_none(const T& t) {
    if constexpr (is_leaf<T> || Optional<T>)
        return !t.has_value();
    else
        return std::is_same_v<T, None>;
}
/// Have two nodes of one type, with as many children, these in the same places, so that they have the same types?
template <class T>
bool same_node(const T& a, const T& b) {
    if constexpr (Variant<T>) {
        return a.index() == b.index();
    } else if constexpr (Map<T>) {
        std::vector<const typename T::key_type*> keys;
        each_entry(b, [&](const auto& entry) { keys.push_back(&entry.first); });
        std::size_t n = 0;
        bool same = true;
        each_entry(a, [&](const auto& entry) {
            same = same && !(entry.first < *keys[n]) && !(*keys[n] < entry.first);
            ++n;
        });
        return same;
    } else {
        return true;
    }
}
template <class P, class T>
void combine_into(const P& pred, T& out, const T& other) {
    if constexpr (is_leaf<T>) {
        if (!out.has_value()) out = other;
    } else {
        if constexpr (std::is_invocable_r_v<bool, const P&, const T&>)
            if (pred(static_cast<const T&>(out))) {
                if (is_none(out)) out = other;
                return;
            }
        Places theirs;
        each_child<true>(other, [&](const auto& child) { theirs.add(&child); });
        std::size_t n = 0, own = 0;
        each_child<true>(out, [&](auto&) { ++own; });
        // The error is told of whole nodes; below one that `pred` holds of they may differ.
        if (own != theirs.size() || !same_node(static_cast<const T&>(out), other))
            check_same_places(description<true>(static_cast<const T&>(out)), description<true>(other));
        each_child<true>(out, [&](auto& child) {
            combine_into(pred, child, *static_cast<std::remove_cvref_t<decltype(child)> const*>(theirs.begin()[n++]));
        });
    }
}
}  // namespace detail
template <class P, class T, class... More>
T combine(const IsLeaf<P>& leaf, const T& first, const More&... more) {
    T out(first);
    (detail::combine_into(leaf.pred, out, more), ...);
    return out;
}

}  // namespace jaxscope::jax
