// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.lax's control flow: scan, while_loop, fori_loop, cond, switch, map. Bodies are traced once.
#include <concepts>

#include <jaxscope/lax.h>
#include <jaxscope/vmap.h>

namespace jaxscope::jax::lax {

struct ScanOptions {
    std::int64_t length = -1;
    Flag reverse = false;
    std::int64_t unroll = 1;
};
/// Python's None as what a loop carries or gives.
using Nothing = None;
struct AssociativeScanOptions {
    Flag reverse = false;
    std::int64_t axis = 0;
};
struct MapOptions {
    std::int64_t batch_size = 0;  ///< so many elements at once, by vmap; 0: one after the other
};

}  // namespace jaxscope::jax::lax

namespace jaxscope::jax::detail {
/// Carries, then stacked outputs. `call`: the body on the carry and one element; `carry`, `xs`: leaves.
std::vector<Array> scan(Call& body, const std::vector<Array>& carry, const std::vector<Array>& xs, const lax::ScanOptions& options);
std::vector<Array> while_loop(Call& condition, Call& body, const std::vector<Array>& init);
/// Calls of branches, which stand on the stack.
class Branches {
public:
    Branches();
    ~Branches();
    Branches(const Branches&) = delete;
    Branches& operator=(const Branches&) = delete;
    void add(Call& call);
    const std::vector<Call*>& calls() const { return *calls_; }
    /// Of a branch that ran: under disable_jit that is one of them.
    template <class R>
    const R& result() const {
        return *static_cast<const R*>(result_value());
    }

private:
    const void* result_value() const;
    std::vector<Call*>* calls_;
};
std::vector<Array> cond(const Operand& index, const Branches& branches, bool boolean);
/// Puts a call for each branch on the stack, then makes the equation; the result is as the first one's.
template <class Args, class F, class... Rest>
auto with_calls(const Operand& index, Branches& calls, const Args& args, const F& f, const Rest&... rest) {
    return std::apply(
        [&](const auto&... a) {
            CallOf call(f, a...);
            calls.add(call);
            if constexpr (sizeof...(Rest) == 0) {
                const std::vector<Array> flat = cond(index, calls, false);
                const Array* at = flat.data();
                return with_leaves(calls.template result<typename decltype(call)::Result>(), at);
            } else {
                auto out = with_calls(index, calls, args, rest...);
                static_assert(std::is_same_v<decltype(out), typename decltype(call)::Result>, "switch_: branches return different types");
                return out;
            }
        },
        args);
}
/// The same for functions of one type, as many as there are.
template <class F, class... A>
typename CallOf<F, A...>::Result with_calls_of(const Operand& index, Branches& calls, const F* f, const F* end, const A&... a) {
    CallOf<F, A...> call(*f, a...);
    calls.add(call);
    if (f + 1 != end) return with_calls_of(index, calls, f + 1, end, a...);
    const std::vector<Array> flat = cond(index, calls, false);
    const Array* at = flat.data();
    return with_leaves(calls.template result<typename CallOf<F, A...>::Result>(), at);
}
[[noreturn]] void refuse_no_branches(const Operand& index);
/// Two lists of leaves into one: what associative_scan combines with.
class Combine {
public:
    virtual std::vector<Array> operator()(const std::vector<Array>& a, const std::vector<Array>& b) const = 0;

protected:
    ~Combine() = default;
};
std::vector<Array> associative_scan(const Combine& combine, const std::vector<Array>& elements, const lax::AssociativeScanOptions& options,
                                    const Where& where);
/// Leaves cut into batches of a size and what is left; empty: nothing is left.
struct Batches {
    std::vector<Array> whole, rest;
};
Batches batches_of(const std::vector<Array>& xs, std::int64_t batch_size);
std::vector<Array> rejoined(const std::vector<Array>& batched, const std::vector<Array>& rest);
/// What a loop carries: Arrays where it begins with numbers.
template <class T>
decltype(auto) as_carry(const T& init) {
    using Carry = typename WithArrays<T>::type;
    if constexpr (std::is_same_v<Carry, T>)
        return (init);
    else
        return Carry(init);
}
template <class R, class C>
inline constexpr bool is_step = false;
template <class C, class Y>
inline constexpr bool is_step<std::pair<C, Y>, C> = true;
template <class C, class Y>
inline constexpr bool is_step<std::tuple<C, Y>, C> = true;
/// Of one integer type; throws where they are no integer scalars.
struct LoopBounds {
    Array first, last;
};
LoopBounds loop_bounds(const Operand& lower, const Operand& upper, const Where& where);
/// Bounds that are no tracers: they are known. Those of floats are cut off at the point.
bool known_bounds(const Operand& lower, const Operand& upper, std::int64_t (&bounds)[2], const Where& where);
/// Steps of a loop that counts in i32; throws where a bound doesn't fit.
std::int64_t trip_count(std::int64_t lower, std::int64_t upper, const Where& where);
std::vector<Array> elements_of(const std::vector<Array>& xs, std::int64_t length, const Where& where);
}  // namespace jaxscope::jax::detail

namespace jaxscope::jax::lax {

/// f(carry, x) gives std::pair(carry, y); the result is std::pair(last carry, stacked ys).
template <class F, class I, class X>
auto scan(const F& f, const I& first, const X& xs, ScanOptions options = {}, Where where = {}) {
    const auto& init = detail::as_carry(first);
    using C = std::remove_cvref_t<decltype(init)>;
    const std::vector<Array> elements = detail::elements_of(tree_leaves(xs), options.length, where);
    const X element = tree_unflatten(xs, elements);
    detail::CallOf call(f, init, element);
    call.where = where;
    using R = typename decltype(call)::Result;
    static_assert(detail::is_step<R, C>, "scan: the body must return std::pair{carry, y} with a carry of the type of init");
    const std::vector<Array> flat = detail::scan(call, tree_leaves(init), tree_leaves(xs), options);
    const Array* at = flat.data();
    return detail::with_leaves(call.result(), at);
}
template <class P, class F, class I>
auto while_loop(const P& condition, const F& body, const I& first, Where where = {}) {
    const auto& init = detail::as_carry(first);
    using C = std::remove_cvref_t<decltype(init)>;
    detail::CallOf test(condition, init);
    detail::CallOf call(body, init);
    call.where = where;
    static_assert(std::is_same_v<typename decltype(call)::Result, C>, "while_loop: the body must return what it takes");
    const std::vector<Array> flat = detail::while_loop(test, call, tree_leaves(init));
    const Array* at = flat.data();
    return detail::with_leaves<C>(init, at);
}
/// Bounds known: a scan, which can be differentiated.
template <std::integral L, std::integral U, class F, class I>
auto fori_loop(L lower, U upper, const F& body, const I& first, Where where = {}) {
    const auto& init = detail::as_carry(first);
    using C = std::remove_cvref_t<decltype(init)>;
    struct Carry {
        Array i;
        C loop_carry_1;  // so that errors say loop_carry[1], as JAX's do
    };
    constexpr bool callable = std::is_invocable_v<const F&, const Array&, const C&>;
    static_assert(callable, "fori_loop: the body is called with the index and the carry");
    constexpr bool gives_carry = !callable || std::is_invocable_r_v<C, const F&, const Array&, const C&>;
    static_assert(gives_carry, "fori_loop: the body must return the carry");
    if constexpr (!callable || !gives_carry)
        return init;
    else {
        const auto step = [&](const Carry& c, const Nothing&) {
            Array next = Operand(c.i, where.file, where.line, where.function) + 1;
            return std::pair(Carry{next, body(c.i, c.loop_carry_1)}, Nothing{});
        };
        const std::int64_t from = lower, n = detail::trip_count(from, upper, where);
        return scan(step, Carry{Array(from), init}, Nothing{}, {.length = n}, where).first.loop_carry_1;
    }
}
/// Bounds that are arrays: a while_loop where they are traced.
template <class F, class I>
auto fori_loop(const Operand& lower, const Operand& upper, const F& body, const I& begin, Where where = {}) {
    std::int64_t bounds[2];
    if (detail::known_bounds(lower, upper, bounds, where)) return fori_loop(bounds[0], bounds[1], body, begin, where);
    const auto& init = detail::as_carry(begin);
    using C = std::remove_cvref_t<decltype(init)>;
    struct Carry {
        Array i, end;
        C loop_carry_2;
    };
    const auto [first, last] = detail::loop_bounds(lower, upper, where);
    const auto here = [&](const Array& a) { return Operand(a, where.file, where.line, where.function); };
    const auto more = [&](const Carry& c) { return lt(here(c.i), c.end); };
    const auto step = [&](const Carry& c) {
        Array next = here(c.i) + 1;
        return Carry{next, c.end, body(c.i, c.loop_carry_2)};
    };
    return while_loop(more, step, Carry{first, last, init}, where).loop_carry_2;
}
template <class T, class F, class... A>
auto cond(const Operand& predicate, const T& on_true, const F& on_false, const A&... a) {
    detail::CallOf no(on_false, a...);
    detail::CallOf yes(on_true, a...);
    static_assert(std::is_same_v<typename decltype(no)::Result, typename decltype(yes)::Result>, "cond: branches return different types");
    if constexpr (decltype(no)::callable && decltype(yes)::callable) {
        detail::Branches branches;
        branches.add(no), branches.add(yes);
        const std::vector<Array> flat = detail::cond(predicate, branches, true);
        const Array* at = flat.data();
        return detail::with_leaves(branches.template result<typename decltype(yes)::Result>(), at);
    } else {
        return Array();
    }
}
/// Branches by number, the last one for what is beyond: `switch_(i, std::tuple(f, g, h), x...)`.
template <class... F, class... A>
auto switch_(const Operand& index, const std::tuple<F...>& branches, const A&... a) {
    static_assert(sizeof...(F) > 0, "switch_: Empty branch sequence");
    detail::Branches calls;
    if constexpr (sizeof...(F) > 0)
        return std::apply([&](const auto&... f) { return detail::with_calls(index, calls, std::tuple<const A&...>(a...), f...); },
                          branches);
}
/// As many branches of one type as the vector has: functions, or std::function.
template <class F, class... A>
auto switch_(const Operand& index, const std::vector<F>& branches, const A&... a) {
    if (branches.empty()) detail::refuse_no_branches(index);
    detail::Branches calls;
    return detail::with_calls_of(index, calls, branches.data(), branches.data() + branches.size(), a...);
}
/// Branches that are no list.
template <class B, class... A>
Array switch_(const Operand&, const B&, const A&...) {
    static_assert(detail::is_tuple<B>, "switch_: the branches are a list: switch_(i, std::tuple(f, g), x), or a std::vector of functions");
    return Array();
}
}  // namespace jaxscope::jax::lax

namespace jaxscope::jax::detail {
template <class F, class X>
auto mapped(const F& f, const X& xs, const lax::MapOptions& options, const Where& where) {
    using lax::Nothing;
    const auto step = [&](const Nothing& c, const X& x) { return std::pair(c, f(x)); };
    if (options.batch_size == 0) return lax::scan(step, Nothing{}, xs, {}, where).second;
    const detail::Batches cut = detail::batches_of(tree_leaves(xs), options.batch_size);
    const auto some = [&](const Nothing& c, const X& x) { return std::pair(c, jax::vmap(f)(x)); };
    const auto ys = lax::scan(some, Nothing{}, tree_unflatten(xs, cut.whole), {}, where).second;
    const std::vector<Array> rest = cut.rest.empty() ? cut.rest : tree_leaves(jax::vmap(f)(tree_unflatten(xs, cut.rest)));
    return tree_unflatten(ys, detail::rejoined(tree_leaves(ys), rest));
}
}  // namespace jaxscope::jax::detail

namespace jaxscope::jax::lax {

template <class F, class X>
auto map(const F& f, const X& xs, const MapOptions& options = {}, Where where = {}) {
    constexpr bool callable = std::is_invocable_v<const F&, const X&>;
    static_assert(callable, "lax::map: the function takes one element; put several arrays into a std::pair or a std::tuple");
    if constexpr (callable) return detail::mapped(f, xs, options, where);
}
/// All prefixes of elements combined by an associative function of two trees, in a logarithmic number of steps.
template <class F, class T>
T associative_scan(const F& f, const T& elements, const AssociativeScanOptions& options = {}, Where where = {}) {
    constexpr bool combines = std::is_invocable_r_v<T, const F&, const T&, const T&>;
    static_assert(combines, "associative_scan: the function makes one element of two");
    if constexpr (!combines)
        return elements;
    else {
        struct Each final : detail::Combine {
            Each(const F& function, const T& like) : f(function), prototype(like) {}
            std::vector<Array> operator()(const std::vector<Array>& a, const std::vector<Array>& b) const override {
                const T out = f(tree_unflatten(prototype, a), tree_unflatten(prototype, b));
                return tree_leaves(out);
            }
            const F& f;
            const T& prototype;
        };
        return tree_unflatten(elements, detail::associative_scan(Each(f, elements), tree_leaves(elements), options, where));
    }
}

}  // namespace jaxscope::jax::lax
