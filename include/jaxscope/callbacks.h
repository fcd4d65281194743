// SPDX-License-Identifier: Apache-2.0
#pragma once
// jax.debug.print, jax.debug.callback, jax.pure_callback, jax.experimental.io_callback: what a program does outside of itself while it
// runs.
//   jax::debug::print("step {} loss {loss:.3f}", i, jax::kw("loss", loss));
//   Array y = jax::pure_callback(bessel, x, {.vmap_method = "expand_dims"})(x);
// A function is kept with the program that calls it: what it captures by reference has to live as long as that program is called. It is
// given arrays in memory, and computes with them at once; its calls come one at a time.
#include <jaxscope/function.h>

namespace jaxscope::jax {

namespace detail {

/// A C++ function with arguments of its own types, erased.
class HostCallable {
public:
    virtual ~HostCallable() = default;
    virtual Call& call() = 0;  ///< as it was called where it was traced
};
template <class F, class... A>
class HostCallableOf final : public HostCallable {
public:
    explicit HostCallableOf(const F& f, const A&... a) : f_(f), call_(f_, a...) {}
    Call& call() override { return call_; }

private:
    F f_;
    CallOf<F, A...> call_;
};
/// A function of which nothing is taken.
template <class F>
struct WithoutResult {
    F f;
    template <class... T>
    requires std::is_invocable_v<const F&, const T&...> std::tuple<>
    operator()(const T&... x) const {
        f(x...);
        return {};
    }
};

enum class HostCallKind : unsigned char { debug, pure, io };
struct HostCallOptions {
    HostCallKind kind;
    const char *name, *vmap_method = nullptr;
    bool ordered = false, partitioned = false;
    Where where;
};
/// Takes over `f`. `results`: what of shape and type it gives.
std::vector<Array> host_call(HostCallable* f, const std::vector<Array>& results, const HostCallOptions& options);

template <class F, class R>
class HostCallback {
public:
    HostCallback(F f, R results, HostCallOptions options) : f_(std::move(f)), results_(std::move(results)), options_(options) {}
    template <class... A>
    R operator()(const A&... a) const {
        const std::vector<Array> flat = host_call(new HostCallableOf<F, A...>(f_, a...), tree_leaves(results_), options_);
        const Array* at = flat.data();
        return with_leaves(results_, at);
    }

private:
    F f_;
    R results_;
    HostCallOptions options_;
};

}  // namespace detail

struct PureCallbackOptions {
    const char* vmap_method = nullptr;  ///< "sequential", "sequential_unrolled", "expand_dims" or "broadcast_all"; null: vmap is refused
    const char* name = "<lambda>";      ///< of the function, in jaxprs
};
/// A function without effects: it may be called more than once, or not at all where nobody needs its result.
/// `result_shape_dtypes`: arrays or ShapeDtypeStructs, in the tree that the function returns.
template <class F, class R>
auto pure_callback(F&& f, const R& result_shape_dtypes, const PureCallbackOptions& options = {}, Where where = {}) {
    return detail::HostCallback<detail::Stored<F>, R>(
        static_cast<F&&>(f), result_shape_dtypes,
        {.kind = detail::HostCallKind::pure, .name = options.name, .vmap_method = options.vmap_method, .where = where});
}

struct IoCallbackOptions {
    Flag ordered = false;  ///< one after the other, as the program has them
    const char* name = "<lambda>";
};
/// A function that does something: each call is made, once. Not differentiated; what is mapped is called one by one.
template <class F, class R>
auto io_callback(F&& f, const R& result_shape_dtypes, const IoCallbackOptions& options = {}, Where where = {}) {
    return detail::HostCallback<detail::Stored<F>, R>(
        static_cast<F&&>(f), result_shape_dtypes,
        {.kind = detail::HostCallKind::io, .name = options.name, .ordered = options.ordered, .where = where});
}

namespace debug {

struct CallbackOptions {
    Flag ordered = false;
    Flag partitioned = false;  ///< each device calls it with its part of the values
};
/// A function that only looks: it gives nothing, and is differentiated and mapped through. `debug::callback(f)(x, y)`.
template <class F>
[[nodiscard]] auto callback(F&& f, const CallbackOptions& options = {}, Where where = {}) {
    using G = detail::WithoutResult<detail::Stored<F>>;
    return detail::HostCallback<G, std::tuple<>>(
        G{static_cast<F&&>(f)}, {},
        {.kind = detail::HostCallKind::debug, .name = "", .ordered = options.ordered, .partitioned = options.partitioned, .where = where});
}

struct PrintOptions {
    Flag ordered = false;      ///< after those that are ordered and stand before it
    Flag partitioned = false;  ///< each device prints its part of the values
};
/// The format string of `print`, with the line that it stands in.
struct PrintFormat {
    const char* text;
    Where where;
    PrintFormat(const char* t, const char* file = __builtin_FILE(), int line = __builtin_LINE(),  // NOLINT(google-explicit-constructor)
                const char* function = __builtin_FUNCTION())
        : text(t), where(file, line, function) {}
};

}  // namespace debug

namespace detail {

/// An argument of debug::print: an array, a number or text, with a name if it came by kw.
struct PrintArgument {
    const char* name = nullptr;
    bool is_text = false;
    std::string text;
    Array array;       ///< else nothing, of a number too
    Operand value{0};  ///< what isn't text
    PrintArgument(const Array& a, const Where& w) : array(a), value(array, w.file, w.line, w.function) {}
    template <Number T>
    PrintArgument(T v, const Where& w) : value(v, w.file, w.line, w.function) {}
    template <class T>
    requires std::is_convertible_v<const T&, std::string> PrintArgument(const T& t, const Where&) : is_text(true), text(t) {}
    template <class T>
    PrintArgument(const Keyword<T>& k, const Where& w) : PrintArgument(k.value, w) {
        name = k.name;
    }
};
void debug_print(const debug::PrintFormat& format, const debug::PrintOptions& options, const std::vector<PrintArgument>& arguments);

template <class T>
inline constexpr bool is_printable = std::is_constructible_v<PrintArgument, const T&, const Where&>;

}  // namespace detail

namespace debug {

/// Python's str.format with the values that the program has when it gets there: `{}`, `{0}`, `{name}` for kw("name", x), `{:.3f}`. The line
/// goes to standard output.
template <class... A>
void print(const PrintFormat& format, const PrintOptions& options, const A&... a) {
    static_assert((detail::is_printable<A> && ...), "debug::print takes arrays, numbers and text: print the parts of a tree one by one");
    if constexpr ((detail::is_printable<A> && ...)) detail::debug_print(format, options, {detail::PrintArgument(a, format.where)...});
}
template <class... A>
void print(const PrintFormat& format, const A&... a) {
    static_assert((detail::is_printable<A> && ...), "debug::print takes arrays, numbers and text: print the parts of a tree one by one");
    if constexpr ((detail::is_printable<A> && ...)) detail::debug_print(format, {}, {detail::PrintArgument(a, format.where)...});
}

}  // namespace debug

}  // namespace jaxscope::jax
