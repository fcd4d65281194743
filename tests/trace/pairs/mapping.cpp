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
    PAIR("jax.vmap(lambda: 1., axis_size=3)()", jax::vmap([] { return Array(1.); }, {.axis_size = 3})());
    PAIR("jax.vmap(jax.vmap(lambda a, c: a * c, in_axes=(0, None)), in_axes=(None, 0))(v, v)",
         jax::vmap(jax::vmap([](Array a, Array c) { return a * c; }, {.in_axes = {0, none}}), {.in_axes = {none, 0}})(v, v));
}

void loops_that_close_over() {
    PAIR("lax.fori_loop(n[0], n[1], lambda i, a: a * x[0] + i, v)", lax::fori_loop(
                                                                        n[0], n[1], [&](Array at, Array a) { return a * x[0] + at; }, v));
    PAIR("lax.fori_loop(0, n[1], lambda i, a: a * x[0] + i, v)", lax::fori_loop(
                                                                     0, n[1], [&](Array at, Array a) { return a * x[0] + at; }, v));
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
