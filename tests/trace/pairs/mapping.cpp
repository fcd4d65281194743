// vmap with trees of axes.
#include "pairs.h"

namespace pairs {

void mapping() {
    PAIR("jax.vmap(lambda a, c: (a * c, c), in_axes=(1, None), out_axes=(1, None))(x, y[:, 0])",
         jax::vmap(
             [](Array a, Array c) {
                 return std::pair{a * c, c};
             },
             {.in_axes = {1, none}, .out_axes = {1, none}})(x, y[{all, 0}]));
    PAIR("jax.vmap(lambda t, c: t['a'] * t['b'] + c, in_axes=({'a': 0, 'b': None}, None))({'a': x, 'b': v}, v)",
         jax::vmap(
             [](auto t, Array c) {
                 Array p = t.at("a") * t.at("b");
                 return p + c;
             },
             {.in_axes = {jax::Axis::dict({{"a", 0}, {"b", none}}), none}})(std::map<std::string, Array>{{"a", x}, {"b", v}}, v));
    PAIR(
        "jax.vmap(lambda t: t[0] * t[1], in_axes=((0, 1),))((x, y.T))",
        jax::vmap([](std::tuple<Array, Array> t) { return std::get<0>(t) * std::get<1>(t); }, {.in_axes = {{0, 1}}})(std::tuple(x, y.T())));
    PAIR("jax.vmap(lambda a: a * 2, in_axes=-1, out_axes=-1)(x)",
         jax::vmap([](Array a) { return a * 2; }, {.in_axes = -1, .out_axes = -1})(x));
    PAIR("jax.vmap(lambda t: t['a'] * t['b'], in_axes=({'a': 0, 'b': None},))({'a': x, 'b': v})",
         jax::vmap([](auto t) { return t.at("a") * t.at("b"); }, {.in_axes = jax::Axis::dict({{"a", 0}, {"b", none}})})(
             std::map<std::string, Array>{{"a", x}, {"b", v}}));  // as clang takes braces around one axis
    PAIR("jax.vmap(lambda a: (a, (None, ())), out_axes=(1, None))(x)", jax::vmap(
                                                                           [](Array a) {
                                                                               return std::pair{a, std::pair{none, std::tuple<>()}};
                                                                           },
                                                                           {.out_axes = {1, none}})(x));
    PAIR("jax.vmap(lambda: 1., axis_size=3)()", jax::vmap([] { return Array(1.); }, {.axis_size = 3})());
    PAIR("jax.vmap(jax.vmap(lambda a, c: a * c, in_axes=(0, None)), in_axes=(None, 0))(v, v)",
         jax::vmap(jax::vmap([](Array a, Array c) { return a * c; }, {.in_axes = {0, none}}), {.in_axes = {none, 0}})(v, v));
}

void loops_that_close_over() {
    PAIR("jax.vmap(lambda a, c: a * c.sum(), in_axes=(None,))(v, c=x)",
         jax::vmap([](Array a, Array c) { return a * c.sum(); }, {.in_axes = {jax::none}})(v, jax::kw("c", x)));
    PAIR("jax.vmap(lambda a, c: a * c.sum(), in_axes=1)(x, c=x.T)",
         jax::vmap([](Array a, Array c) { return a * c.sum(); }, {.in_axes = 1})(x, jax::kw("c", x.T())));
    // Names are sorted, wherever they stand.
    PAIR("jax.vmap(lambda a, c, b: a * c.sum() - b)(v, c=x.T, b=v)",
         jax::vmap([](Array a, Array c, Array b) { return a * c.sum() - b; })(v, jax::kw("c", x.T()), jax::kw("b", v)));
    PAIR(
        "jax.jit(lambda a, c, b: a * c.sum() - b)(v, c=x, b=v * 2)",
        jax::jit([](Array a, Array c, Array b) { return a * c.sum() - b; }, {.name = "<lambda>"})(v, jax::kw("c", x), jax::kw("b", v * 2)));
    PAIR("jax.jit(lambda c, b: c.sum() - b, donate_argnames='c')(c=x + 1, b=v)",
         jax::jit([](Array c, Array b) { return c.sum() - b; }, {.donate_argnames = {"c"}, .arg_names = {"c", "b"}, .name = "<lambda>"})(
             jax::kw("c", x + 1), jax::kw("b", v)));
    PAIR("jax.checkpoint(lambda a, c, b: a * jnp.sin(c) - b)(v, c=x, b=v)",
         jax::checkpoint([](Array a, Array c, Array b) { return a * jnp::sin(c) - b; })(v, jax::kw("c", x), jax::kw("b", v)));
    PAIR("jax.grad(jax.jit(lambda a, c, b: (a * jnp.sin(c) - b).sum()))(v, c=x, b=w[0, 1:])",
         jax::grad(jax::jit([](Array a, Array c, Array b) { return (a * jnp::sin(c) - b).sum(); }, {.name = "<lambda>"}))(
             v, jax::kw("c", x), jax::kw("b", w[{0, slice(1, none)}])));
    PAIR("jax.jacrev(lambda a, c, b: a * jnp.sin(c) - b)(v, c=v * 2, b=v)",
         jax::jacrev([](Array a, Array c, Array b) { return a * jnp::sin(c) - b; })(v, jax::kw("c", v * 2), jax::kw("b", v)));
    // A static number, where the function takes an Array.
    PAIR("(lambda f: f(v, 3) + f(v, 4) + f(v, 3))(jax.jit(lambda a, m: a * m, static_argnums=1))", [&] {
        auto f = jax::jit([](Array a, Array m) { return a * m; }, {.static_argnums = {1}, .name = "<lambda>"});
        const Array first = f(v, 3), second = f(v, 4);
        const Array sum = first + second;
        return sum + f(v, 3);
    }());
    PAIR("jax.jit(lambda a, m: a * m, static_argnames='m')(v, m=2.5)",
         jax::jit([](Array a, Array m) { return a * m; }, {.static_argnames = {"m"}, .arg_names = {"a", "m"}, .name = "<lambda>"})(
             v, jax::kw("m", 2.5)));
    PAIR("lax.scan(lambda c, e: (c + e.sum(), c), 0., x)", lax::scan([](Array c, Array e) { return std::pair(c + e.sum(), c); }, 0., x));
    PAIR("lax.scan(lambda c, e: ((c[0] + 1, c[1] * e[0]), c[0]), (0, 1.), x)",
         lax::scan(
             [](const std::pair<Array, Array>& c, Array e) {
                 return std::pair{std::pair{c.first + 1, c.second * e[0]}, c.first};
             },
             std::pair(0, 1.), x));
    PAIR("lax.scan(lambda c, e: (c + e.sum(), c), 0, x)", lax::scan([](Array c, Array e) { return std::pair(c + e.sum(), c); }, 0, x));
    PAIR("lax.while_loop(lambda c: c < 9., lambda c: c + 2. + v[1] * v[1], 1.)",
         lax::while_loop([](Array c) { return c < 9.; }, [&](Array c) { return c + 2. + v[1] * v[1]; }, 1.));
    PAIR("lax.fori_loop(0, 3, lambda i, c: c + i * v[0], 0.)", lax::fori_loop(
                                                                   0, 3, [&](Array j, Array c) { return c + j * v[0]; }, 0.));
    PAIR("lax.fori_loop(0, n[1], lambda i, c: c + i, 0)", lax::fori_loop(
                                                              0, n[1], [](Array j, Array c) { return c + j; }, 0));
    PAIR("lax.switch(n[0], [lambda a: a * 2.], x)", lax::switch_(n[0], std::tuple([](Array a) { return a * 2.; }), x));
    PAIR("lax.fori_loop(n[0], n[1], lambda i, a: a * x[0] + i, v)", lax::fori_loop(
                                                                        n[0], n[1], [&](Array at, Array a) { return a * x[0] + at; }, v));
    PAIR("lax.fori_loop(0, n[1], lambda i, a: a * x[0] + i, v)", lax::fori_loop(
                                                                     0, n[1], [&](Array at, Array a) { return a * x[0] + at; }, v));
    PAIR("lax.fori_loop(0.7, 3.9, lambda i, a: a * 2. + i, v)", lax::fori_loop(
                                                                    0.7, 3.9, [](Array i, Array a) { return a * 2. + i; }, v));
    PAIR("lax.fori_loop(0., x[2, 3], lambda i, a: a * 2. + i, v)", lax::fori_loop(
                                                                       0., x[{2, 3}], [](Array i, Array a) { return a * 2. + i; }, v));
    PAIR("lax.fori_loop(0, 3, lambda i, a: a * x[0] + i, v)", lax::fori_loop(
                                                                  0, 3, [&](Array at, Array a) { return a * x[0] + at; }, v));
    PAIR("jax.vmap(lambda a: lax.scan(lambda c, t: (c * t, c), 1., a))(x)",
         jax::vmap([](Array a) { return lax::scan([](Array c, Array t) { return std::pair(c * t, c); }, Array(1.), a); })(x));
    PAIR("jax.vmap(lambda a: lax.scan(lambda c, t: (c * 2., c), 1., None, length=3)[0] * a)(x)", jax::vmap([](Array a) {
             return lax::scan([](Array c, lax::Nothing) { return std::pair(c * 2., c); }, Array(1.), lax::Nothing{}, {.length = 3}).first *
                    a;
         })(x));
    PAIR("jax.vmap(lambda a: lax.scan(lambda c, t: (c * 2. + a.sum(), c), 1., None, length=3)[0])(x)", jax::vmap([](Array a) {
             return lax::scan([&](Array c, lax::Nothing) { return std::pair(c * 2. + a.sum(), c); }, Array(1.), lax::Nothing{},
                              {.length = 3})
                 .first;
         })(x));
    PAIR("lax.while_loop(lambda c: c[0] < n[3], lambda c: (c[0] + 1, c[1] * x[0]), (n[1], v))", [&] {
        using Pair = std::pair<Array, Array>;
        return lax::while_loop([&](Pair c) { return c.first < n[3]; },
                               [&](Pair c) {
                                   return Pair{c.first + 1, c.second * x[0]};
                               },
                               Pair{n[1], v});
    }());
}

}  // namespace pairs
