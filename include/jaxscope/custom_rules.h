// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.custom_jvp and jax.custom_vjp: a function with derivatives of its own.
//   const auto f = jax::custom_jvp(g).defjvp([](auto primals, auto tangents) { ... return std::pair(y, y_dot); });
//   const auto f = jax::custom_vjp(g).defvjp([](Array x) { return std::pair(y, residuals); },
//                                            [](auto residuals, Array ct) { return std::tuple(x_bar); });
// Arguments that aren't differentiated, functions among them, are named by number: `custom_vjp<0>(f)`; they come first in the rules.
// Rules are traced where the function is called, once, and looked up when somebody differentiates: what they capture by reference need
// not live longer than the call.
#include <jaxscope/abstract.h>

namespace jaxscope::jax {

struct RuleOptions {
    const char* name = "<unnamed function>";  ///< of the function; in defjvp and defvjp of the rule, in jaxprs and errors
    bool symbolic_zeros = false;              ///< refused so far: a rule is traced for tangents that are all there
    const char* bwd_name = nullptr;           ///< defvjp: of its second function
    Where where = Where("", 0, "");           ///< set by custom_jvp and custom_vjp: where its calls are said to stand
};

namespace detail {

/// The names of a function and of its rules; `identity` tells functions of one type apart while their rules are traced.
struct RuleNames {
    const char *function, *rule, *bwd;
    const void* identity;
    bool symbolic_zeros = false;
    bool itself = false;  ///< a rule calls its own function
};
std::vector<Array> custom_jvp(Call& f, Call& rule, const RuleNames& names);
/// The backward rule is made when the types of residuals and results are known, after the forward rule ran.
class Backward {
public:
    virtual Call& make() = 0;
    std::vector<bool> zeros;  ///< per leaf of the arguments, after it ran: has it no cotangent?
    PyTreeDef tree;           ///< of what the rule gave
    bool prefix = false;      ///< does that stand for the arguments' tree?

protected:
    ~Backward();
    /// Appends the cotangents of one argument, whose leaves are so many; no array stands for zeros.
    void add_cotangents(const std::vector<Array>& given, std::size_t leaves_of_argument, std::vector<Array>& out);
};
std::vector<Array> custom_vjp(Call& f, Call& fwd, Backward& bwd, const RuleNames& names);
/// Rules that are told what is perturbed, as those of Equinox: they are traced for each pattern that a differentiation may have, of many
/// leaves for those of whole arguments.
class PerturbedRules {
public:
    struct Use {
        virtual void traced(Call& rule) = 0;

    protected:
        ~Use() = default;
    };
    /// custom_jvp's rule, or the forward rule.
    virtual void with_forward(const std::vector<bool>& perturbed, Use& use) = 0;
    /// Within `with_forward`, after that rule ran: takes cotangents of the results that aren't in `zero`.
    virtual void with_backward(const std::vector<bool>& zero, Use& use) = 0;
    std::vector<std::size_t> groups;  ///< leading leaves of the function, argument by argument; those behind them are never perturbed
    std::vector<bool> zeros;          ///< after a rule ran: per result, of a backward rule per leaf, is there no tangent or cotangent?

protected:
    PerturbedRules() = default;
    ~PerturbedRules();
};
std::vector<Array> custom_jvp(Call& f, PerturbedRules& rules, const RuleNames& names);
std::vector<Array> custom_vjp(Call& f, PerturbedRules& rules, const RuleNames& names);
[[noreturn]] void no_rule_defined(const char* kind, const RuleOptions& function);

template <class... K>
auto plain_values(const std::tuple<K...>& kept) {
    return std::apply([](const auto&... k) { return tuple_of(given(k)...); }, kept);
}
/// Calls `f` with some arguments by number, the others from `rest`.
template <std::size_t... N>
struct Numbers {
    static constexpr bool has(std::size_t i) { return ((i == N) || ...); }
    template <std::size_t I>
    static constexpr std::size_t before() {
        std::size_t n = 0;
        for (std::size_t k = 0; k < I; ++k) n += has(k) ? 1 : 0;
        return n;
    }
};
template <class Fixed, std::size_t I, class All, class Rest>
const auto& pick(const All& all, const Rest& rest) {
    if constexpr (Fixed::has(I))
        return std::get<I>(all);
    else
        return std::get<I - Fixed::template before<I>()>(rest);
}
/// A function of the differentiated arguments alone.
template <class F, class Fixed, class... A>
struct WithFixed {
    const F& f;
    std::tuple<const A&...> all;
    template <class... D>
    auto operator()(const D&... d) const {
        return [&]<std::size_t... I>(std::index_sequence<I...>) { return f(pick<Fixed, I>(all, std::tuple<const D&...>(d...))...); }
        (std::index_sequence_for<A...>());
    }
};
/// Calls `make(function, differentiated arguments..., fixed ones as a tuple)`.
template <std::size_t... N, class F, class M, class... A>
auto without_fixed(const F& f, const M& make, const A&... a) {
    if constexpr (sizeof...(N) == 0) {
        return make(f, std::tuple<>(), a...);
    } else {
        static_assert(((N < sizeof...(A)) && ...), "nondiff_argnums: a number is beyond the arguments of the call");
        const std::tuple<const A&...> all(a...);
        const WithFixed<F, Numbers<N...>, A...> rest{f, all};
        const auto kept = [&]<std::size_t I>() {
            if constexpr (Numbers<N...>::has(I))
                return std::tuple<>();
            else
                return std::tuple<const std::tuple_element_t<I, std::tuple<A...>>&>(std::get<I>(all));
        };
        const auto differentiated = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple_cat(kept.template operator()<I>()...);
        }
        (std::index_sequence_for<A...>());
        const std::tuple<const std::tuple_element_t<N, std::tuple<A...>>&...> fixed(std::get<N>(all)...);
        return std::apply([&](const auto&... d) { return make(rest, fixed, d...); }, differentiated);
    }
}
template <class F>
const void* rule_identity(const F& f, const void* object) {
    if constexpr (std::is_pointer_v<F>)
        return reinterpret_cast<const void*>(f);
    else
        return std::is_empty_v<F> ? nullptr : object;
}

/// The arrays of a tree and the places of arrays without a value.
template <class T>
void each_slot(const T& t, std::vector<Array>& out) {
    if constexpr (is_leaf<T>)
        append(out, t);
    else if constexpr (!std::is_same_v<T, None>)
        each_child(t, [&](const auto& child) { each_slot(child, out); });
}
template <class T>
concept Tupled = requires {
    std::tuple_size<T>::value;
};
/// What a rule is given for an argument of type A.
template <class A>
auto rule_argument() {
    if constexpr (argument_problem<A>() == TreeProblem::none)
        return std::type_identity<GivenAs<A, true>>();
    else
        return std::type_identity<A>();
}
/// Does the forward rule return two things? Asked where it is called, so that one sentence says what is wrong.
template <class Fwd, class... A>
constexpr bool gives_pair() {
    if constexpr (std::is_invocable_v<const Fwd&, const typename decltype(rule_argument<A>())::type&...>) {
        using R = std::remove_cvref_t<std::invoke_result_t<const Fwd&, const typename decltype(rule_argument<A>())::type&...>>;
        if constexpr (Tupled<R>)
            return std::tuple_size<R>::value == 2;
        else
            return false;
    } else {
        return true;  // said of the call
    }
}
template <class A>
using RuleArgument = typename decltype(rule_argument<A>())::type;
/// Can a rule of custom_jvp be called, with two tuples or one after the other?
template <class Rule, class... A>
constexpr bool takes_tangents() {
    using Tuple = std::tuple<RuleArgument<A>...>;
    if constexpr (std::is_invocable_v<const Rule&, const Tuple&, const Tuple&>)
        return true;  // a rule with `auto` may be asked for this alone
    else
        return std::is_invocable_v<const Rule&, const RuleArgument<A>&..., const RuleArgument<A>&...>;
}
/// Can the backward rule be called with what the forward rule returns?
template <class Fwd, class Bwd, class... A>
constexpr bool takes_cotangent() {
    if constexpr (std::is_invocable_v<const Fwd&, const RuleArgument<A>&...>) {
        using R = typename WithArrays<std::remove_cvref_t<std::invoke_result_t<const Fwd&, const RuleArgument<A>&...>>>::type;
        return std::is_invocable_v<const Bwd&, const std::tuple_element_t<1, R>&, const std::tuple_element_t<0, R>&>;
    } else {
        return true;
    }
}

}  // namespace detail

template <class F, class Rule, std::size_t... N>
class CustomJvp {
public:
    using Ruled = F;
    CustomJvp(F f, Rule rule, RuleOptions of_function, RuleOptions of_rule, bool itself = false)
        : f_(std::move(f)), rule_(std::move(rule)), function_(of_function), options_(of_rule), itself_(itself) {}
    template <class... A>
    auto operator()(const A&... a) const {
        constexpr bool callable = sizeof...(N) > 0 || detail::takes_tangents<Rule, A...>();
        static_assert(callable, "custom_jvp: the rule takes primals and tangents, two tuples or one after the other");
        if constexpr (callable) return call_of(a...);
    }

private:
    template <class... A>
    auto call_of(const A&... a) const {
        return detail::without_fixed<N...>(
            f_,
            [&](const auto& f, const auto& fixed, const auto&... d) {
                detail::CallOf call(f, d...);
                call.where = function_.where;
                using Args = typename decltype(call)::Args;
                const auto rule = [&](const Args& primals, const Args& tangents) {
                    return run_rule(fixed, detail::plain_values(primals), detail::plain_values(tangents));
                };
                detail::CallOf rule_call(rule, call.given_arguments(), call.given_arguments());
                const detail::RuleNames names{function_.name,          options_.name, nullptr, detail::rule_identity(f_, this),
                                              options_.symbolic_zeros, itself_};
                const std::vector<Array> flat = detail::custom_jvp(call, rule_call, names);
                const Array* at = flat.data();
                return detail::with_leaves(call.result(), at);
            },
            a...);
    }
    template <class X, class P>
    auto run_rule(const X& fixed, const P& primals, const P& tangents) const {
        return std::apply(
            [&](const auto&... x) {
                if constexpr (std::is_invocable_v<const Rule&, decltype(x)..., const P&, const P&>)
                    return rule_(x..., primals, tangents);
                else
                    return std::apply([&](const auto&... v) { return rule_(x..., v...); }, std::tuple_cat(primals, tangents));
            },
            fixed);
    }
    F f_;
    Rule rule_;
    RuleOptions function_, options_;
    bool itself_;
};

namespace detail {
Array zeros_array(const Array& like);
Array sum_of_tangents(const Array& x, const Array& y);
/// One rule for each argument: `(tangent, result, arguments...)`; `none`: it adds nothing.
template <class F, class... J>
struct PerArgument {
    F f;
    std::tuple<J...> rules;
    RuleOptions options;
    template <class P>
    using Result = std::remove_cvref_t<decltype(std::apply(std::declval<const F&>(), std::declval<const P&>()))>;
    template <class P>
    std::pair<Result<P>, Result<P>> operator()(const P& primals, const P& tangents) const {
        Result<P> y = std::apply(CustomJvp<F, PerArgument>(f, *this, options, kRule, true), primals);
        std::vector<Array> sum;
        const auto add = [&]<std::size_t I>() {
            const auto& rule = std::get<I>(rules);
            if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(rule)>, None>) {
                const auto one = std::apply([&](const auto&... x) { return rule(std::get<I>(tangents), y, x...); }, primals);
                std::vector<Array> leaves = tree_leaves(one);
                if (!sum.empty())
                    for (std::size_t k = 0; k < leaves.size(); ++k) leaves[k] = sum_of_tangents(sum[k], leaves[k]);
                sum.swap(leaves);
            }
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) { (add.template operator()<I>(), ...); }
        (std::index_sequence_for<J...>());
        if (sum.empty())
            for (const auto& v : tree_leaves(y)) append(sum, zeros_array(v));
        return std::pair(y, tree_unflatten(y, sum));
    }
    static constexpr RuleOptions kRule{.name = "jvp"};
};
}  // namespace detail

/// A function that waits for its rule.
template <class F, std::size_t... N>
class CustomJvpFunction {
public:
    CustomJvpFunction(F f, RuleOptions options) : f_(std::move(f)), options_(options) {}
    template <class R>
    auto defjvp(R&& rule, RuleOptions options = {}) const {
        return CustomJvp<F, detail::Stored<R>, N...>(f_, static_cast<R&&>(rule), options_, options);
    }
    /// One rule for each argument, from its tangent, the result and all arguments; `none` where it adds nothing.
    template <class... J>
    auto defjvps(J&&... rules) const {
        static_assert(sizeof...(N) == 0, "Can't use defjvps with nondiff_argnums.");
        using Rule = detail::PerArgument<F, detail::Stored<J>...>;
        return CustomJvp<F, Rule>(f_, Rule{f_, {static_cast<J&&>(rules)...}, options_}, options_, Rule::kRule);
    }
    template <class... A>
    auto operator()(const A&... a) const -> std::invoke_result_t<const F&, const A&...> {
        detail::no_rule_defined("JVP", options_);
        return f_(a...);
    }

private:
    F f_;
    RuleOptions options_;
};

template <std::size_t... N, class F>
auto custom_jvp(F&& f, RuleOptions options = {}, Where where = {}) {
    options.where = where;
    return CustomJvpFunction<detail::Stored<F>, N...>(static_cast<F&&>(f), options);
}

template <class F, class Fwd, class Bwd, std::size_t... N>
class CustomVjp {
public:
    using Ruled = F;
    CustomVjp(F f, Fwd fwd, Bwd bwd, RuleOptions of_function, RuleOptions of_rules)
        : f_(std::move(f)), fwd_(std::move(fwd)), bwd_(std::move(bwd)), function_(of_function), options_(of_rules) {}
    template <class... A>
    auto operator()(const A&... a) const {
        constexpr bool gives_pair = detail::gives_pair<Fwd, A...>();
        static_assert(gives_pair, "custom_vjp: fwd must return std::pair(result, residuals)");
        if constexpr (gives_pair && sizeof...(N) == 0) {
            constexpr bool takes_cotangent = detail::takes_cotangent<Fwd, Bwd, A...>();
            static_assert(takes_cotangent, "custom_vjp: bwd takes the residuals and the cotangent of the result");
            if constexpr (takes_cotangent) return call_of(a...);
        } else if constexpr (gives_pair) {
            return call_of(a...);
        }
    }

private:
    template <class... A>
    auto call_of(const A&... a) const {
        return detail::without_fixed<N...>(
            f_,
            [&](const auto& f, const auto& fixed, const auto&... d) {
                detail::CallOf call(f, d...);
                call.where = function_.where;
                // As in JAX the forward rule takes all arguments where they stand, the backward rule the fixed ones first.
                const auto forward = [&](const auto&... v) {
                    if constexpr (sizeof...(N) == 0)
                        return fwd_(v...);
                    else
                        return detail::WithFixed<Fwd, detail::Numbers<N...>, A...>{fwd_, std::tuple<const A&...>(a...)}(v...);
                };
                return with_rules(call, forward, fixed);
            },
            a...);
    }
    template <class C, class Forward, class X>
    auto with_rules(C& call, const Forward& forward, const X& fixed) const {
        const auto tuple_forward = [&](const typename C::Args& kept) { return std::apply(forward, detail::plain_values(kept)); };
        detail::CallOf fwd(tuple_forward, call.given_arguments());
        BackwardOf<C, decltype(fwd), X> backward(*this, call, fwd, fixed);
        const std::vector<Array> flat = detail::custom_vjp(
            call, fwd, backward,
            {function_.name, options_.name, options_.bwd_name ? options_.bwd_name : options_.name, detail::rule_identity(f_, this), false});
        const Array* at = flat.data();
        return detail::with_leaves(call.result(), at);
    }
    template <class C, class Fwd2, class X>
    class BackwardOf final : public detail::Backward {
        using Pair = typename Fwd2::Result;
        using Y = std::tuple_element_t<0, Pair>;
        using Res = std::tuple_element_t<1, Pair>;
        using Arrays = std::vector<Array>;
        struct Run {
            BackwardOf& self;
            Arrays operator()(const Res& residuals, const Y& ct) const { return self.run(residuals, ct); }
        };

    public:
        BackwardOf(const CustomVjp& rules, const C& call, const Fwd2& fwd, const X& fixed)
            : rules_(rules), call_(call), fwd_(fwd), fixed_(fixed), run_{*this} {}
        ~BackwardOf() { delete made_; }
        BackwardOf(const BackwardOf&) = delete;
        BackwardOf& operator=(const BackwardOf&) = delete;
        detail::Call& make() override {
            const Pair& out = fwd_.result();
            made_ = new detail::CallOf<Run, Res, Y>(run_, std::get<1>(out), std::get<0>(out));
            return *made_;
        }

    private:
        Arrays run(const Res& residuals, const Y& ct) {
            return std::apply([&](const auto&... x) { return collect(rules_.bwd_(x..., residuals, ct)); }, fixed_);
        }
        /// The cotangents of all arguments: a tuple, or Python's list of them.
        template <class T>
        Arrays collect(const T& cts) {
            tree = tree_structure(cts);
            this->zeros.clear();
            Arrays out;
            constexpr std::size_t n = std::tuple_size_v<typename C::Args>;
            const auto each = [&](const auto& of) {
                [&]<std::size_t... I>(std::index_sequence<I...>) {
                    (one(of(std::integral_constant<std::size_t, I>()), std::get<I>(call_.given_arguments()), out), ...);
                }
                (std::make_index_sequence<n>());
            };
            if constexpr (detail::Tupled<T>) {
                prefix = std::tuple_size_v<T> == n;
                if constexpr (std::tuple_size_v<T> == n) each([&](auto i) -> const auto& { return std::get<decltype(i)::value>(cts); });
            } else if constexpr (detail::Sequence<T>) {
                prefix = cts.size() == n;
                if (cts.size() == n) each([&](auto i) -> const auto& { return cts[decltype(i)::value]; });
            } else {
                prefix = false;
            }
            return out;
        }
        template <class T, class A>
        void one(const T& ct, const A& argument, Arrays& out) {
            const std::size_t leaves = tree_leaves(argument).size();
            Arrays slots;
            detail::each_slot(ct, slots);
            this->add_cotangents(slots, leaves, out);
        }
        const CustomVjp& rules_;
        const C& call_;
        const Fwd2& fwd_;
        const X& fixed_;
        Run run_;
        detail::CallOf<Run, Res, Y>* made_ = nullptr;
    };
    F f_;
    Fwd fwd_;
    Bwd bwd_;
    RuleOptions function_, options_;
};

/// A function that waits for its rules.
template <class F, std::size_t... N>
class CustomVjpFunction {
public:
    CustomVjpFunction(F f, RuleOptions options) : f_(std::move(f)), options_(options) {}
    template <class Fwd, class Bwd>
    auto defvjp(Fwd&& fwd, Bwd&& bwd, RuleOptions options = {}) const {
        return CustomVjp<F, detail::Stored<Fwd>, detail::Stored<Bwd>, N...>(f_, static_cast<Fwd&&>(fwd), static_cast<Bwd&&>(bwd), options_,
                                                                            options);
    }
    template <class... A>
    auto operator()(const A&... a) const -> std::invoke_result_t<const F&, const A&...> {
        detail::no_rule_defined("VJP", options_);
        return f_(a...);
    }

private:
    F f_;
    RuleOptions options_;
};

template <std::size_t... N, class F>
auto custom_vjp(F&& f, RuleOptions options = {}, Where where = {}) {
    options.where = where;
    return CustomVjpFunction<detail::Stored<F>, N...>(static_cast<F&&>(f), options);
}

namespace detail {
/// Cotangents as bwd gives them: a tuple, or a list; of one argument the cotangent alone.
template <class R>
auto cotangents(R given) {
    if constexpr (is_tuple<R> || is_pair<R> || Sequence<R>)
        return given;
    else
        return std::tuple<R>(std::move(given));
}
template <class F>
struct CustomGradient {
    using Ruled = F;
    F f;
    Where where;
    template <class... A>
    auto operator()(const A&... a) const {
        using Both = std::remove_cvref_t<std::invoke_result_t<const F&, const RuleArgument<A>&...>>;
        static_assert(is_pair<Both>, "custom_gradient: the function must return std::pair(result, rule)");
        if constexpr (is_pair<Both>) return with_rule<Both>(a...);
    }

private:
    /// The rule is traced where it is made: what it closes over are the residuals.
    template <class Both, class... A>
    auto with_rule(const A&... a) const {
        using Y = typename Both::first_type;
        using Converted = decltype(jax::closure_convert(std::declval<typename Both::second_type&>(), std::declval<Y&>(), where).first);
        std::vector<Converted> converted;
        const auto primal = [this](const auto&... x) { return f(x...).first; };
        const auto forward = [&](const auto&... x) {
            Both both = f(x...);
            auto [rule, consts] = jax::closure_convert(both.second, both.first, where);
            converted.assign(1, rule);
            return std::pair<Y, std::vector<Array>>(std::move(both.first), std::move(consts));
        };
        const auto backward = [&](const std::vector<Array>& consts, const auto& ct) { return cotangents(converted.front()(ct, consts)); };
        const RuleOptions names{.name = "fwd", .bwd_name = "bwd"};
        return custom_vjp(primal, {.name = "wrapped_fun"}, where).defvjp(forward, backward, names)(a...);
    }
};
}  // namespace detail
/// `jax::custom_gradient([](Array x) { return std::pair(x * x, [=](Array ct) { return ct * x; }); })`: the result, and what gives the
/// arguments' cotangents (one, or a tuple of as many as there are arguments). The rule holds what it needs by value.
template <class F>
auto custom_gradient(F&& f, Where where = {}) {
    return detail::CustomGradient<detail::Stored<F>>{static_cast<F&&>(f), where};
}

}  // namespace jaxscope::jax
