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
    const std::vector<Array> leaves = detail::eval_shape(call);  // before there is a result
    return detail::with_arrays(call.result(), leaves);
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

namespace detail {
/// How many leaves that can be differentiated each child of a tree has; an array is its own.
template <class T>
std::vector<std::size_t> differentiable_groups(const T& t) {
    std::vector<std::size_t> out;
    if constexpr (is_leaf<T>)
        out.push_back(inexact_leaves(t).size());
    else
        each_child<true>(t, [&](const auto& child) { out.push_back(inexact_leaves(child).size()); });
    return out;
}
/// Of `all` those that are marked; and back, with None in the places of the others.
std::vector<Array> marked_ones(const std::vector<Array>& all, const std::vector<bool>& marks);
std::vector<Array> in_marked_places(const std::vector<Array>& some, const std::vector<bool>& marks);
/// Throws Equinox's error where a gradient hasn't x's places.
void check_gradient_places(const Description& x, const Description& gradient);
/// What a backward rule gave for the floating-point arrays of x: None is a zero.
std::vector<Array> cotangents_there(const std::vector<Array>& x, const std::vector<Array>& gradient, std::vector<bool>& zeros);
/// What a rule of filter_custom_jvp gave for results: None is a zero.
std::vector<Array> tangents_there(const std::vector<Array>& results, const std::vector<Array>& tangents, std::vector<bool>& zeros);

/// Calls a rule with what is perturbed: a tree like x of booleans; of an array, and for rules that take a bool, whether anything is.
template <class Rule, class X, class Call>
auto with_perturbed(const X& x, const std::vector<bool>& perturbed, const Call& call) {
    if constexpr (is_leaf<X> || !std::is_invocable_v<const Call&, const X&>) {
        bool any = false;
        for (const bool p : perturbed) any = any || p;
        return call(any);
    } else {
        X marks(x);
        std::size_t n = 0;
        each_leaf<true>(marks, [&](Array& a) {
            const bool moves = is_inexact_array(a) && perturbed[n++];
            a = Array(moves);
        });
        return call(static_cast<const X&>(marks));
    }
}
}  // namespace detail

/// Of `fn(x, args...)`, whose first argument is differentiated by `bwd(residuals, grad_out, perturbed, x, args...)`, which gives x's
/// gradient (None where there is none). `fwd(perturbed, x, args...)` gives std::pair(out, residuals). `perturbed` is a tree like x with a
/// boolean for each array, or a bool: is anything perturbed? `grad_out` is None where a result has no cotangent. As rules are traced
/// before anybody differentiates, they are called for each choice of three perturbed arrays, of more for the parts of x: a rule may be
/// told that an array is perturbed which isn't.
template <class F, class Fwd, class Bwd>
class FilterCustomVjp {
public:
    using Ruled = F;
    FilterCustomVjp(F f, Fwd fwd, Bwd bwd) : f_(std::move(f)), fwd_(std::move(fwd)), bwd_(std::move(bwd)) {}
    template <class X, class... A>
    auto operator()(const X& x, const A&... a) const {
        using R = std::remove_cvref_t<std::invoke_result_t<const F&, const X&, const A&...>>;
        const auto rest = detail::held(a...);
        Rules<R, X, std::remove_cvref_t<decltype(rest)>> rules{*this, x, rest};
        const auto plain = [&](const Arrays& diff, const Arrays& fixed) {
            R r = rules.with(f_, diff, fixed);
            rules.results.assign(1, r);
            return detail::leaves_in<true>(r);
        };
        const Arrays diff = detail::inexact_leaves(x);
        Arrays fixed = detail::other_leaves(x);
        const Arrays guarded =
            detail::nondifferentiable(detail::leaves_in<true>(rest),
                                      "Unexpected tangent. `*args` and `**kwargs` to `filter_custom_vjp` cannot be autodifferentiated.");
        for (const Array& v : guarded) detail::append(fixed, v);
        rules.diff = diff, rules.fixed = fixed;
        detail::CallOf call(plain, diff, fixed);
        const detail::RuleNames names{"fn_wrapped", "fn_fwd_wrapped", "fn_bwd_wrapped", this, true};
        const Arrays flat = detail::custom_vjp(call, rules, names);
        return detail::with_arrays(rules.results.front(), flat);
    }

private:
    template <class R, class X, class Rest>
    struct Rules final : detail::PerturbedRules {
        Rules(const FilterCustomVjp& o, const X& v, const Rest& r) : of(o), x(v), rest(r) { groups = detail::differentiable_groups(v); }
        template <class G>
        auto with(const G& g, const Arrays& d, const Arrays& f) const {
            const auto both = detail::split_fixed(x, rest, d, f);
            return std::apply([&](const auto&... v) { return g(both.first, v...); }, both.second);
        }
        void with_forward(const std::vector<bool>& moving, Use& use) override {
            perturbed = moving;
            const auto forward = [this](const Arrays& d, const Arrays& f) {
                const auto made = with(
                    [&](const auto&... v) {
                        return detail::with_perturbed<Fwd>(x, perturbed,
                                                           [&](const auto& p) -> decltype(of.fwd_(p, v...)) { return of.fwd_(p, v...); });
                    },
                    d, f);
                return std::pair(detail::leaves_in<true>(made.first), std::tuple(made.second, d, f));
            };
            detail::CallOf call(forward, diff, fixed);
            given = [](Rules& self, const void* fwd, const std::vector<bool>& zero, Use& with_it) {
                self.backward(static_cast<const decltype(call)*>(fwd)->result(), zero, with_it);
            };
            forward_call = &call;
            use.traced(call);
        }
        void with_backward(const std::vector<bool>& zero, Use& use) override { given(*this, forward_call, zero, use); }
        template <class Made>
        void backward(const Made& made, const std::vector<bool>& zero, Use& use) {
            std::vector<bool> there(zero);
            there.flip();
            const auto back = [&](const auto& kept, const Arrays& cotangents) {
                const auto& residuals = std::get<0>(kept);
                const R grad_out = detail::gradient_like_result(results.front(), detail::in_marked_places(cotangents, there));
                const X gradient = with(
                    [&](const auto&... v) {
                        return detail::with_perturbed<Bwd>(x, perturbed,
                                                           [&](const auto& p) -> decltype(of.bwd_(residuals, grad_out, p, v...)) {
                                                               return of.bwd_(residuals, grad_out, p, v...);
                                                           });
                    },
                    std::get<1>(kept), std::get<2>(kept));
                detail::check_gradient_places(detail::description<true>(x), detail::description<true>(gradient));
                Arrays out = detail::cotangents_there(detail::places_in<true>(x), detail::places_in<true>(gradient), zeros);
                zeros.resize(diff.size() + fixed.size(), true);
                return out;
            };
            detail::CallOf call(back, made.second, detail::marked_ones(made.first, there));
            use.traced(call);
        }
        const FilterCustomVjp& of;
        const X& x;
        const Rest& rest;
        Arrays diff, fixed;
        std::vector<R> results;
        std::vector<bool> perturbed;
        const void* forward_call = nullptr;
        void (*given)(Rules&, const void*, const std::vector<bool>&, Use&) = nullptr;
    };
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
/// std::pair(out, out_tangent). Keyword arguments must not be differentiated. A tangent is None where there is no floating-point array, or
/// it isn't perturbed; a result's may be None, which is zero. The rule is called for each choice of three perturbed arrays, of more for
/// whole arguments: there may be zeros where JAX has no tangent.
template <class F, class Rule>
class FilterCustomJvp {
public:
    using Ruled = F;
    FilterCustomJvp(F f, Rule rule) : f_(std::move(f)), rule_(std::move(rule)) {}
    template <class... A>
    auto operator()(const A&... a) const {
        const auto positional = std::tuple_cat(chosen<false>(a)...);
        const auto keywords = std::tuple_cat(chosen<true>(a)...);
        using P = std::remove_cvref_t<decltype(positional)>;
        using K = std::remove_cvref_t<decltype(keywords)>;
        using R = std::remove_cvref_t<decltype(std::apply(f_, std::tuple_cat(positional, keywords)))>;
        std::vector<R> traced;
        Arrays guarded = detail::leaves_in<true>(keywords);
        if (!guarded.empty()) guarded = detail::nondifferentiable(guarded, "Received keyword tangent");
        const K fixed = detail::with_arrays(keywords, guarded);
        const auto plain = [&](const Arrays& diff) {
            R r = std::apply(f_, std::tuple_cat(detail::with_inexact(positional, diff), fixed));
            traced.assign(1, r);
            return detail::leaves_in<true>(r);
        };
        const Arrays diff = detail::inexact_leaves(positional);
        Rules<P, K> rules(rule_, positional, fixed, diff);
        detail::CallOf call(plain, diff);
        const Arrays flat = detail::custom_jvp(call, rules, {"fn_wrapper", "fn_jvp_wrapper", nullptr, this, true});
        return detail::with_arrays(traced.front(), flat);
    }

private:
    template <class P, class K>
    struct Rules final : detail::PerturbedRules {
        Rules(const Rule& r, const P& p, const K& k, const Arrays& d) : rule(r), positional(p), fixed(k), diff(d) {
            groups = detail::differentiable_groups(p);
        }
        void with_forward(const std::vector<bool>& perturbed, Use& use) override {
            const auto run = [&](const Arrays& primals, const Arrays& tangents) {
                const auto in = detail::with_inexact(positional, primals);
                const auto dot = detail::gradient_like(positional, detail::in_marked_places(tangents, perturbed));
                const auto both = std::apply([&](const auto&... k) { return rule(in, dot, k...); }, fixed);
                detail::check_same_places(detail::description<true>(both.first), detail::description<true>(both.second));
                Arrays values = detail::leaves_in<true>(both.first);
                Arrays moved = detail::tangents_there(detail::places_in<true>(both.first), detail::places_in<true>(both.second), zeros);
                return std::pair(std::move(values), std::move(moved));
            };
            detail::CallOf call(run, diff, detail::marked_ones(diff, perturbed));
            use.traced(call);
        }
        void with_backward(const std::vector<bool>&, Use&) override {}
        const Rule& rule;
        const P& positional;
        const K& fixed;
        const Arrays& diff;
    };
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
/// `combine(is_leaf(pred), first, second...)`: where pred holds of a node of the first tree, that node is taken whole: the first one of
/// the trees' nodes there that isn't None (an Array without a value, an empty optional).
template <class P, class T, class... More>
T combine(const IsLeaf<P>& leaf, const T& first, const More&... more) {
    T out(first);
    (detail::combine_into(leaf.pred, out, more), ...);
    return out;
}

}  // namespace jaxscope::jax
