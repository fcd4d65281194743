// Programs with effects in Python and in C++ side by side, of tests/differential/test_front_end_effects.py: prints, for each, the Python
// text, the jaxpr that C++ traces, and behind a line "--" what the program writes when it is called and when it is jitted; where it is
// refused, why.
#include <jaxscope/jax.h>

#include <cstdio>
#include <functional>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
using jax::kw;

namespace {

template <class F>
void pair(const char* python, const F& f) {
    const Array x = jnp::array({{0.5, 1.5, -2.0}, {1e-9, 3.0, 0.25}}), v = jnp::array({0.5, 1.5, -2.0}),
                s = Array(std::vector<float>{2.5F}, jax::Shape(std::vector<std::int64_t>{}));
    std::printf("== %s\n", python);
    try {
        std::printf("%s\n--\n", jax::make_jaxpr(f)(x, v, s).str().c_str());
        f(x, v, s);
        jax::jit(f)(x, v, s);
    } catch (const std::exception& e) {
        std::printf("!! %s\n", jaxscope::error_info(e).value_or(jaxscope::ErrorInfo{{}, e.what(), {}, 0, {}}).message.c_str());
    }
}

std::string error_of(const std::function<void()>& f) {
    try {
        f();
        return "nothing";
    } catch (const jaxscope::Error& e) {
        return e.fact();
    }
}
/// A function that closes over an array that was deleted: its jaxpr, and what happens when it is called, jitted and lowered.
template <class F>
void deleted(const char* python, const F& f) {
    const Array x = jnp::ones({2, 3}), v = jnp::ones(3);
    Array d = jnp::full(3, 2.0), s = jnp::array({1.0})[0];
    for (Array* gone : {&d, &s}) gone->delete_buffer();
    const auto g = [&](const Array& a, const Array& b) { return f(a, b, d, s); };
    std::printf("=d %s\n", python);
    std::printf("%s\n", error_of([&] { std::printf("%s\n--\n", jax::make_jaxpr(g)(x, v).str().c_str()); }).c_str());
    std::printf("%s\n", error_of([&] { g(x, v); }).c_str());
    std::printf("%s\n", error_of([&] { jax::jit(g)(x, v); }).c_str());
    std::printf("%s\n", error_of([&] { jax::jit(g).lower(x, v); }).c_str());
}
#define DELETED(python, ...)                                                                                              \
    deleted(python, []([[maybe_unused]] const Array& x, [[maybe_unused]] const Array& v, [[maybe_unused]] const Array& d, \
                       [[maybe_unused]] const Array& s) { return __VA_ARGS__; })

#define PAIR(python, ...) \
    pair(python,          \
         []([[maybe_unused]] const Array& x, [[maybe_unused]] const Array& v, [[maybe_unused]] const Array& s) { return __VA_ARGS__; })

Array printed(const Array& a) {
    jax::debug::print("at {}", a);
    return jnp::sin(a);
}
Array printed_in_order(const Array& a) {
    jax::debug::print("v={}", {.ordered = true}, a);
    return jnp::sin(a);
}
/// What is carried on has the same digits everywhere.
template <class F>
Array halved(const F& f, const Array& a) {
    f(a);
    return a * 0.5;
}
/// Writes what it is given, so that the order and number of calls can be compared.
void look(const Array& a) { std::printf("look %s\n", a.str().c_str()); }
Array looked_at(const Array& a) {
    jax::debug::callback(look)(a);
    return jnp::sin(a);
}
Array told(const Array& a) {
    std::printf("called %s\n", a.shape().str().c_str());
    return jnp::sin(a);
}
Array pure(const Array& a) { return jax::pure_callback(told, a)(a); }
Array io(const Array& a) { return jax::io_callback(told, a)(a); }
Array io_in_order(const Array& a) { return jax::io_callback(told, a, {.ordered = true})(a); }
Array of_two(const Array& a, const Array& b, const char* method) {
    return jax::pure_callback([](const Array& p, const Array& q) { return told(p) + q; }, a, {.vmap_method = method})(a, b);
}

auto ruled(const Array& factor) {
    return jax::custom_jvp([=](const Array& a) { return jnp::sin(a) * factor; }, {.name = "f"})
        .defjvp(
            [=](const Array& a, const Array& t) {
                return std::pair{jnp::sin(a) * factor, t * factor};
            },
            {.name = "rule"});
}
void of_deleted_arrays() {
    DELETED("v + d", v + d);
    DELETED("v + s", v + s);
    DELETED("v + jnp.sin(d)", v + jnp::sin(d));
    DELETED("d", d);
    DELETED("jnp.stack([d, v])", jnp::stack({d, v}));
    DELETED("jnp.where(v > 0, d, v)", jnp::where(v > 0, d, v));
    DELETED("v if s else d", static_cast<bool>(s) ? v : d);
    DELETED("v * float(s)", v * static_cast<float>(s));
    DELETED("jax.grad(lambda a: (a * d).sum())(v)", jax::grad([&](const Array& a) { return (a * d).sum(); })(v));
    DELETED("jax.grad(lambda a: (a * a).sum())(d)", jax::grad([&](const Array& a) { return (a * a).sum(); })(d));
    DELETED("jax.vmap(lambda a: a * d)(x)", jax::vmap([&](const Array& a) { return a * d; })(x));
    DELETED("jax.jvp(lambda a: a * 2, (v,), (d,))", jax::jvp([&](const Array& a) { return a * 2; }, std::tuple(v), std::tuple(d)));
    DELETED("jax.vjp(lambda a: jnp.sin(a) * d, v)[0]", jax::vjp([&](const Array& a) { return jnp::sin(a) * d; }, v).first);
    DELETED("lax.scan(lambda c, a: (c + d, a), v, v)",
            lax::scan([&](const Array& c, const Array& a) { return std::pair(c + d, a); }, v, v));
    DELETED("lax.scan(lambda c, a: (c * a, a), d, v)",
            lax::scan([&](const Array& c, const Array& a) { return std::pair(c * a, a); }, d, v));
    DELETED("lax.cond(v[0] > 0, lambda a: a + d, jnp.cos, v)",
            lax::cond(
                v[0] > 0, [&](const Array& a) { return a + d; }, [](const Array& a) { return jnp::cos(a); }, v));
    DELETED("lax.cond(v[0] > 0, jnp.sin, jnp.cos, d)",
            lax::cond(
                v[0] > 0, [](const Array& a) { return jnp::sin(a); }, [](const Array& a) { return jnp::cos(a); }, d));
    DELETED("jax.checkpoint(lambda a: a + d)(v)", jax::checkpoint([&](const Array& a) { return a + d; })(v));
    DELETED("jax.jit(lambda a: a + d)(v)", jax::jit([&](const Array& a) { return a + d; })(v));
    DELETED("jax.jit(lambda a: a + 1)(d)", jax::jit([](const Array& a) { return a + 1; })(d));
    DELETED("jax.grad(jax.jit(lambda a: (a * d).sum()))(v)", jax::grad(jax::jit([&](const Array& a) { return (a * d).sum(); }))(v));
    DELETED("jax.grad(jax.checkpoint(lambda a: (a * d).sum()))(v)",
            jax::grad(jax::checkpoint([&](const Array& a) { return (a * d).sum(); }))(v));
    DELETED("ruled(d)(v)", ruled(d)(v));
    DELETED("jax.grad(lambda a: ruled(d)(a).sum())(v)", jax::grad([&](const Array& a) { return ruled(d)(a).sum(); })(v));
}

}  // namespace

int main() {
    PAIR("(jax.debug.print('x {} {y} {}', v, 3, y=v.sum(), ordered=True), v * 2)[1]",
         (jax::debug::print("x {} {y} {}", {.ordered = true}, v, 3, kw("y", v.sum())), v * 2));
    PAIR("(jax.debug.print('hello'), jax.debug.print('{b} {a!s:>9} {{}} {t} {1:.2e} {0:5d}', 7, s, t=True, b='text', a=s), v)[2]",
         (jax::debug::print("hello"),
          jax::debug::print("{b} {a!s:>9} {{}} {t} {1:.2e} {0:5d}", 7, s, kw("t", true), kw("b", "text"), kw("a", s)), v));
    PAIR("(jax.debug.print('{}', x), jax.debug.print('{0} {0}', v > 0), x * s)[2]",
         (jax::debug::print("{}", x), jax::debug::print("{0} {0}", v > 0), x * s));
    PAIR("(jax.debug.print('{{a}} literally'), v)[1]", (jax::debug::print("{{a}} literally"), v));
    PAIR("jax.vmap(printed)(x)", jax::vmap(printed)(x));
    PAIR("jax.vmap(printed_in_order, in_axes=1)(x)", jax::vmap(printed_in_order, {.in_axes = 1})(x));
    PAIR("jax.grad(printed)(s)", jax::grad(printed)(s));
    PAIR("jax.grad(jax.checkpoint(printed_in_order))(s)", jax::grad(jax::checkpoint(printed_in_order))(s));
    PAIR("jax.grad(jax.checkpoint(printed, policy=jax.checkpoint_policies.everything_saveable))(s)",
         jax::grad(jax::checkpoint(printed, {.policy = jax::policies::everything_saveable}))(s));
    PAIR("jax.grad(jax.checkpoint(looked_at))(s)", jax::grad(jax::checkpoint(looked_at))(s));
    PAIR("jax.jvp(printed, (s,), (s,))", jax::jvp(printed, std::tuple(s), std::tuple(s)));
    PAIR("jax.jit(printed)(v)", jax::jit(printed, {.name = "printed"})(v));
    PAIR("lax.scan(lambda c, a: (halved(printed_in_order, c), a), s, v)",
         lax::scan([](const Array& c, const Array& a) { return std::pair(halved(printed_in_order, c), a); }, s, v));
    PAIR("jax.grad(lambda s: lax.scan(lambda c, a: (halved(printed, c), a), s, v)[0])(s)", jax::grad([&](const Array& t) {
             return lax::scan([](const Array& c, const Array& a) { return std::pair(halved(printed, c), a); }, t, v).first;
         })(s));
    PAIR("lax.cond(s > 0, printed, jnp.cos, s)", lax::cond(
                                                     s > 0, printed, [](const Array& a) { return jnp::cos(a); }, s));
    PAIR("lax.while_loop(lambda c: c < 5, lambda c: printed_in_order(c) * 0 + c + 1, s)",
         lax::while_loop([](const Array& c) { return c < 5; }, [](const Array& c) { return printed_in_order(c) * 0 + c + 1; }, s));
    PAIR("looked_at(v)", looked_at(v));
    PAIR("jax.vmap(looked_at)(v)", jax::vmap(looked_at)(v));
    PAIR("pure(v) * 2", pure(v) * 2);
    PAIR("(pure(v), v)[1]", (pure(v), v));
    PAIR("(io(v), v)[1]", (io(v), v));
    PAIR("io(v) + io_in_order(v)", io(v) + io_in_order(v));
    PAIR("lax.scan(lambda c, a: (c + io(a), a), s, v)[0]",
         lax::scan([](const Array& c, const Array& a) { return std::pair(c + io(a), a); }, s, v).first);
    PAIR("lax.fori_loop(0, 3, lambda i, c: c + io(s), s)", lax::fori_loop(
                                                               0, 3, [&](const Array&, const Array& c) { return c + io(s); }, s));
    for (const char* method : {"sequential", "sequential_unrolled", "expand_dims", "broadcast_all"}) {
        const std::string python = "jax.vmap(lambda a: of_two(a, s, '" + std::string(method) + "'))(v)";
        pair(python.c_str(), [&](const Array&, const Array& v, const Array& s) {
            return jax::vmap([&](const Array& a) { return of_two(a, s, method); })(v);
        });
    }
    PAIR("jax.vmap(io)(v)", jax::vmap(io)(v));
    // What is refused.
    PAIR("jax.vmap(pure)(v)", jax::vmap(pure)(v));
    PAIR("jax.vmap(io_in_order)(v)", jax::vmap(io_in_order)(v));
    PAIR("jax.grad(pure)(s)", jax::grad(pure)(s));
    PAIR("jax.grad(io)(s)", jax::grad(io)(s));
    PAIR("jax.grad(jax.checkpoint(lambda a: (io(jnp.float32(1)), jnp.sin(a))[1]))(s)", jax::grad(jax::checkpoint([](const Array& a) {
             return io(Array(std::vector<float>{1.F}, jax::Shape(std::vector<std::int64_t>{}))), jnp::sin(a);
         }))(s));
    PAIR("jax.grad(jax.checkpoint(lambda a: (io_in_order(jnp.float32(1)), jnp.sin(a))[1]))(s)",
         jax::grad(jax::checkpoint([](const Array& a) {
             return io_in_order(Array(std::vector<float>{1.F}, jax::Shape(std::vector<std::int64_t>{}))), jnp::sin(a);
         }))(s));
    PAIR("(jax.debug.print('{} {}', v), v)[1]", (jax::debug::print("{} {}", v), v));
    PAIR("(jax.debug.print('a', 1., 'b'), v)[1]", (jax::debug::print("a", 1., "b"), v));
    PAIR("(jax.debug.print('a {', v), v)[1]", (jax::debug::print("a {", v), v));
    PAIR("(jax.debug.print('a } {}', v), v)[1]", (jax::debug::print("a } {}", v), v));
    PAIR("(jax.debug.print('{0} {}', v, v), v)[1]", (jax::debug::print("{0} {}", v, v), v));
    PAIR("(jax.debug.print('{} {0}', v, v), v)[1]", (jax::debug::print("{} {0}", v, v), v));
    PAIR("(jax.debug.print('a', b=1.), v)[1]", (jax::debug::print("a", kw("b", 1.)), v));
    PAIR("jax.pure_callback(told, v, v, vmap_method='rolled')", jax::pure_callback(told, v, {.vmap_method = "rolled"})(v));
    of_deleted_arrays();
}
