// Functions by pieces, polynomials, places of diagonals; trees that are walked side by side; custom_gradient; programs without jit.
#include <jaxscope/tree.h>

#include "pairs.h"

namespace pairs {

namespace {

using Two = std::pair<Array, Array>;
using Three = std::vector<Array>;

void by_pieces() {
    PAIR("jnp.array([[1., v[0]], [0., 1.]])", jnp::array({{1., v[0]}, {0., 1.}}));
    PAIR("jnp.array([v[0], 1])", jnp::array({v[0], 1}));
    PAIR("jnp.array([v])", jnp::array({v}));
    PAIR("jnp.array([[v, v], [v, 2. * v]])", jnp::array({{v, v}, {v, 2. * v}}));
    PAIR("jnp.array([[n[0], 2.], [True, n[1]]])", jnp::array({{n[0], 2.}, {true, n[1]}}));
    PAIR("jnp.array([[v[0], 1.], [0, v[2]]], dtype=int)", jnp::array({{v[0], 1.}, {0, v[2]}}, jnp::int32));
    PAIR("jax.grad(lambda t: jnp.linalg.det(jnp.array([[t, 1.], [t * t, 2.]])))(v[0])", jax::grad([](Array t) {
             return jnp::linalg::det(jnp::array({{t, 1.}, {t * t, 2.}}));
         })(v[0]));
    PAIR("jnp.piecewise(x, [x < 0, x >= 1], [-1, lambda e: e * 2, 0.5])",
         jnp::piecewise(x, {x < 0, x >= 1}, {-1, [](Array e) { return e * 2; }, 0.5}));
    PAIR("jnp.piecewise(v, [v < 1], [jnp.sin])", jnp::piecewise(v, {v < 1}, {[](Array e) { return jnp::sin(e); }}));
    PAIR("jnp.piecewise(n, [n < 0, n > 4], [lambda e: -e, lambda e: e // 2, 7])",
         jnp::piecewise(n, {n<0, n> 4}, {[](Array e) { return -e; }, [](Array e) { return jnp::floor_divide(e, 2); }, 7}));
    PAIR("jax.grad(lambda t: jnp.piecewise(t, [t < 0], [lambda e: e * e, lambda e: 3 * e]).sum())(v)", jax::grad([](Array t) {
             return jnp::piecewise(t, {t < 0}, {[](Array e) { return e * e; }, [](Array e) { return 3 * e; }}).sum();
         })(v));
    PAIR("jnp.choose(i, [v[:3], x[0, :3], y[1, :3]], mode='clip')", [&] {
        Array first = v[{slice(3)}], second = x[{0, slice(3)}];
        return jnp::choose(i, {first, second, y[{1, slice(3)}]}, "clip");
    }());
    PAIR("jnp.choose(n, [v, y[0]], mode='wrap')", [&] {
        const Array row = y[0];
        return jnp::choose(n, {v, row}, "wrap");
    }());
    PAIR("jnp.cumulative_sum(v)", jnp::cumulative_sum(v));
    PAIR("jnp.cumulative_sum(x, axis=1, include_initial=True)", jnp::cumulative_sum(x, {.axis = 1, .include_initial = true}));
    PAIR("jnp.cumulative_sum(b, axis=0)", jnp::cumulative_sum(b, {.axis = 0}));
    PAIR("jnp.cumulative_prod(v, include_initial=True)", jnp::cumulative_prod(v, {.include_initial = true}));
    PAIR("jnp.cumulative_prod(n, dtype=float)", jnp::cumulative_prod(n, {.dtype = jnp::float32}));
    PAIR("jnp.float_power(x, 2)", jnp::float_power(x, 2));
    PAIR("jnp.float_power(n, 2)", jnp::float_power(n, 2));
    PAIR("jnp.matvec(x, v)", jnp::matvec(x, v));
    PAIR("jnp.matvec(jnp.stack([x, y]), v)", jnp::matvec(jnp::stack({x, y}), v));
    PAIR("jnp.vecmat(v, w)", jnp::vecmat(v, w));
    PAIR("nn.logmeanexp(x)", nn::logmeanexp(x));
    PAIR("nn.logmeanexp(x, axis=1, keepdims=True)", nn::logmeanexp(x, {.axis = 1, .keepdims = true}));
    PAIR("nn.logmeanexp(x, where=b)", nn::logmeanexp(x, {.where = b}));
}

void polynomials_and_places() {
    PAIR("jnp.polyadd(v, x[0, :3])", jnp::polyadd(v, x[{0, slice(3)}]));
    PAIR("jnp.polyadd(i, v)", jnp::polyadd(i, v));
    PAIR("jnp.polysub(v, n)", jnp::polysub(v, n));
    PAIR("jnp.polymul(v, y[0])", jnp::polymul(v, y[0]));
    PAIR("jnp.polyder(v)", jnp::polyder(v));
    PAIR("jnp.polyder(v, 2)", jnp::polyder(v, 2));
    PAIR("jnp.unwrap(v * 4)", jnp::unwrap(v * 4));
    PAIR("jnp.unwrap(x * 9, axis=0)", jnp::unwrap(x * 9, {.axis = 0}));
    PAIR("jnp.unwrap(x, discont=3.5, period=2.)", jnp::unwrap(x, {.discont = 3.5, .period = 2.}));
    PAIR("jnp.unwrap(n, period=6)", jnp::unwrap(n, {.period = 6}));
    PAIR("jnp.diagflat(v)", jnp::diagflat(v));
    PAIR("jnp.diagflat(v, 1)", jnp::diagflat(v, 1));
    PAIR("jnp.diagflat(i, -2)", jnp::diagflat(i, -2));
    PAIR("jnp.fill_diagonal(x, 0., inplace=False)", jnp::fill_diagonal(x, 0.));
    PAIR("jnp.fill_diagonal(x, v, inplace=False)", jnp::fill_diagonal(x, v));
    PAIR("jnp.rollaxis(jnp.stack([x, y]), 2)", jnp::rollaxis(jnp::stack({x, y}), 2));
    PAIR("jnp.rollaxis(jnp.stack([x, y]), 0, 3)", jnp::rollaxis(jnp::stack({x, y}), 0, 3));
    PAIR("jnp.rollaxis(jnp.stack([x, y]), 2, -2)", jnp::rollaxis(jnp::stack({x, y}), 2, -2));
    PAIR("jnp.tril_indices_from(x)", jnp::tril_indices_from(x));
    PAIR("jnp.triu_indices_from(x, 1)", jnp::triu_indices_from(x, 1));
    PAIR("jnp.diag_indices_from(x[:, :3])", jnp::diag_indices_from(x[{all, slice(3)}]));
    PAIR("jnp.ix_(i, n)", jnp::ix_({i, n}));
    PAIR("x[jnp.ix_(i, jnp.array([3, 0]))]", [&] {
        const std::vector<Array> at = jnp::ix_({i, jnp::array({3, 0})});
        return x[{at[0], at[1]}];
    }());
    PAIR("jnp.zeros(jnp.broadcast_shapes((3, 1), (1, 4), (4,)))", jnp::zeros(jnp::broadcast_shapes({{3, 1}, {1, 4}, {4}})));
    PAIR("v[:, jnp.newaxis] * jnp.euler_gamma", v[{all, jnp::newaxis}] * jnp::euler_gamma);
}

void trees_side_by_side() {
    PAIR("jax.tree.map(lambda q, s: s[0] * q + s[1], (x, v), ((x, y), (v, 2 * v)))",
         jax::tree::map([](Array q, const Two& s) { return s.first * q + s.second; }, Two{x, v}, std::tuple{Two{x, y}, Two{v, 2 * v}}));
    PAIR("jax.tree.map(lambda q, s: sum(s) * q, [x, v], [[x, y], [v, v, v]])",
         jax::tree::map(
             [](Array q, const std::vector<Array>& s) {
                 Array sum = 0 + s[0];
                 for (std::size_t k = 1; k < s.size(); ++k) sum = sum + s[k];
                 return sum * q;
             },
             std::vector<Array>{x, v}, std::vector<std::vector<Array>>{{x, y}, {v, v, v}}));
    PAIR("jax.tree.map(lambda p: (p[1] + 1, p[0]), [(x, y), (v, n)], is_leaf=lambda p: isinstance(p, tuple))",
         jax::tree::map([](const Two& p) { return Two(p.second + 1, p.first); }, std::vector<Two>{{x, y}, {v, n}}, jax::is_leaf<Two>()));
    PAIR("jax.tree.map(lambda p, q: (p[0] * q[1], p[1]), [(x, y)], [(y, v)], is_leaf=lambda p: isinstance(p, tuple))",
         jax::tree::map([](const Two& p, const Two& q) { return Two(p.first * q.second, p.second); }, std::vector<Two>{{x, y}},
                        std::vector<Two>{{y, v}}, jax::is_leaf<Two>()));
    PAIR("jax.tree.leaves([(x, y), (v, n)], is_leaf=lambda p: isinstance(p, tuple))[1]",
         jax::tree::leaves(std::vector<Two>{{x, y}, {v, n}}, jax::is_leaf<Two>())[1]);
    PAIR("jax.tree.map(lambda q: (q + 1, q * 2), [x, v])", jax::tree::map(
                                                               [](Array q) {
                                                                   Array more = q + 1;
                                                                   return Two(more, q * 2);
                                                               },
                                                               std::vector<Array>{x, v}));
    PAIR("jax.tree.transpose(jax.tree.structure((0, 0)), jax.tree.structure([0, 0, 0]), ([x, y, v], [v, n, x]))",
         jax::tree::transpose(Two{x, x}, Three{x, x, x}, std::tuple{Three{x, y, v}, Three{v, n, x}}));
    PAIR("jax.tree.broadcast((x, v), ([y, y], (n, n, n)))",
         jax::tree::broadcast(Two{x, v}, std::tuple{std::vector<Array>{y, y}, std::tuple{n, n, n}}));
}

const auto cg = jax::custom_gradient([](Array t) { return std::pair(jnp::power(t, 2), [=](Array g) { return g * t; }); });
const auto cg2 = jax::custom_gradient([](Array t, Array u) {
    Array s = jnp::sin(t);
    return std::pair(s * u, [=](Array g) {
        Array first = g * u;
        return std::pair(first, g * s * 3.);
    });
});

void gradients_of_ones_own() {
    PAIR("cg(x)", cg(x));
    PAIR("jax.grad(lambda t: cg(t).sum())(x)", jax::grad([](Array t) { return cg(t).sum(); })(x));
    PAIR("jax.vjp(cg2, x, y)[1](x)", [&] {
        auto [out, f_vjp] = jax::vjp(cg2, x, y);
        return f_vjp(x);
    }());
    PAIR("jax.vmap(jax.grad(lambda t: cg2(t, 2 * t)))(v)", jax::vmap(jax::grad([](Array t) { return cg2(t, 2 * t); }))(v));
    PAIR("jax.jit(jax.value_and_grad(lambda t: cg(jnp.sin(t)).sum()))(v)",
         jax::jit(jax::value_and_grad([](Array t) { return cg(jnp::sin(t)).sum(); }), {.name = "<lambda>"})(v));
}

template <class F, class... A>
auto without_jit(const F& f, const A&... a) {
    const jax::disable_jit scope;
    return f(a...);
}

void programs_without_jit() {
    PAIR("without_jit(lambda t: jnp.where(t > 0, t, 1.) + nn.relu(t), x)", without_jit(
                                                                               [](Array t) {
                                                                                   Array chosen = jnp::where(t > 0, t, 1.);
                                                                                   return chosen + nn::relu(t);
                                                                               },
                                                                               x));
    PAIR("without_jit(jax.jit(lambda t: jnp.linalg.norm(t, axis=1)), x)",
         without_jit(jax::jit([](Array t) { return jnp::linalg::norm(t, {.axis = 1}); }), x));
    PAIR("without_jit(lambda t: lax.scan(lambda c, e: (c + e, c * e), t[0], t), x)", without_jit(
                                                                                         [](Array t) {
                                                                                             const Array first = t[0];
                                                                                             return lax::scan(
                                                                                                 [](Array c, Array e) {
                                                                                                     Array next = c + e;
                                                                                                     return std::pair(next, c * e);
                                                                                                 },
                                                                                                 first, t);
                                                                                         },
                                                                                         x));
    PAIR("without_jit(lambda t: lax.scan(lambda c, e: (c * e, c), t[0], t, reverse=True), v)", without_jit(
                                                                                                   [](Array t) {
                                                                                                       const Array first = t[0];
                                                                                                       return lax::scan(
                                                                                                           [](Array c, Array e) {
                                                                                                               Array next = c * e;
                                                                                                               return std::pair(next, c);
                                                                                                           },
                                                                                                           first, t, {.reverse = true});
                                                                                                   },
                                                                                                   v));
    PAIR("without_jit(lambda t: lax.cond(True, jnp.sin, jnp.cos, t), x)", without_jit(
                                                                              [](Array t) {
                                                                                  return lax::cond(
                                                                                      true, [](Array e) { return jnp::sin(e); },
                                                                                      [](Array e) { return jnp::cos(e); }, t);
                                                                              },
                                                                              x));
    PAIR("without_jit(lambda t: lax.cond(False, jnp.sin, jnp.cos, t), x)", without_jit(
                                                                               [](Array t) {
                                                                                   return lax::cond(
                                                                                       false, [](Array e) { return jnp::sin(e); },
                                                                                       [](Array e) { return jnp::cos(e); }, t);
                                                                               },
                                                                               x));
    PAIR("without_jit(lambda t: lax.cond(t[0] > 0, jnp.sin, jnp.cos, t), v)", without_jit(
                                                                                  [](Array t) {
                                                                                      return lax::cond(
                                                                                          t[0] > 0, [](Array e) { return jnp::sin(e); },
                                                                                          [](Array e) { return jnp::cos(e); }, t);
                                                                                  },
                                                                                  v));
    PAIR("jax.grad(lambda t: without_jit(lambda u: jnp.std(u) * jnp.where(u > 0, u, 0.).sum(), t))(v)", jax::grad([](Array t) {
             return without_jit(
                 [](Array u) {
                     Array spread = jnp::std(u);
                     return spread * jnp::where(u > 0, u, 0.).sum();
                 },
                 t);
         })(v));
}

}  // namespace

void pieces() {
    by_pieces();
    polynomials_and_places();
    trees_side_by_side();
    gradients_of_ones_own();
    programs_without_jit();
}

}  // namespace pairs
