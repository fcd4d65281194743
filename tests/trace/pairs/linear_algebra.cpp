// jax.numpy.linalg, functions of sorted arrays, more of jax.random.
#include <jaxscope/scipy.h>
#include <jaxscope/vectorize.h>

#include "pairs.h"

namespace pairs {

namespace {

void of_small_arrays() {
    PAIR("jnp.vectorize(lambda a, c: a * c + 1)(x, v[:1])", jnp::vectorize([](Array a, Array c) { return a * c + 1; })(x, v[slice(1)]));
    PAIR("jnp.vectorize(lambda a, c: jnp.dot(a, c), signature='(n),(n)->()')(x, v)",
         jnp::vectorize([](Array a, Array c) { return jnp::dot(a, c); }, "(n),(n)->()")(x, v));
    PAIR("jnp.vectorize(lambda a, c: jnp.dot(a, c), signature='(n,m),(m)->(n)')(w.reshape(2, 1, 2, 5), w.reshape(4, 5))",
         jnp::vectorize([](Array a, Array c) { return jnp::dot(a, c); }, "(n,m),(m)->(n)")(w.reshape(2, 1, 2, 5), w.reshape(4, 5)));
    PAIR("jnp.vectorize(lambda a: (a.sum(), a[::-1]), signature='(n)->(),(n)')(x[:, None, None])",
         jnp::vectorize(
             [](Array a) {
                 return std::pair{a.sum(), a[slice(none, none, -1)]};
             },
             "(n)->(),(n)")(x[{all, none, none}]));
    PAIR("jax.scipy.linalg.lu(x)", [&] {
        auto [p, l, u] = jax::scipy::linalg::lu(x);
        return std::tuple(p, l, u);
    }());
    PAIR("jax.scipy.linalg.lu(y)", [&] {
        auto [p, l, u] = jax::scipy::linalg::lu(y);
        return std::tuple(p, l, u);
    }());
    PAIR("jax.scipy.linalg.expm(jnp.cos(9. * x * x)[:, :3])", jax::scipy::linalg::expm(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR("jax.scipy.linalg.expm(jnp.ones((2, 3, 3)) * v[:3])", jax::scipy::linalg::expm(jnp::ones({2, 3, 3}) * v[slice(3)]));
}

}  // namespace
void linear_algebra() {
    namespace la = jnp::linalg;
    of_small_arrays();
    PAIR("jnp.linalg.inv(jnp.cos(9. * x * x)[:, :3])", la::inv(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR("jnp.linalg.solve(jnp.cos(9. * x * x)[:, :3], y[:, 0])", la::solve(jnp::cos(9. * x * x)[{all, slice(3)}], y[{all, 0}]));
    PAIR("jnp.linalg.solve(jnp.cos(9. * x * x)[:, :3], y)", la::solve(jnp::cos(9. * x * x)[{all, slice(3)}], y));
    PAIR("jnp.linalg.solve(n[:2, None] * 1. + jnp.eye(2), v[:2])", la::solve(n[{slice(2), none}] * 1. + jnp::eye(2), v[{slice(2)}]));
    PAIR("jax.grad(lambda t: jnp.linalg.solve(t, y[:, 0]).sum())(jnp.cos(9. * x * x)[:, :3])", jax::grad([&](Array t) {
             return la::solve(t, y[{all, 0}]).sum();
         })(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR("jnp.linalg.solve(v[:1, None], y[:1, 0])", la::solve(v[{slice(1), none}], y[{slice(1), 0}]));
    PAIR("jnp.linalg.solve(v[:1, None], y[:1])", la::solve(v[{slice(1), none}], y[slice(1)]));
    PAIR("jnp.linalg.solve(v[:, None, None], y[:1])", la::solve(v[{all, none, none}], y[slice(1)]));
    PAIR("jax.grad(lambda t: jnp.linalg.solve(t, y[:1, 0]).sum())(v[:1, None])", jax::grad([&](Array t) {
             return la::solve(t, y[{slice(1), 0}]).sum();
         })(v[{slice(1), none}]));
    PAIR("jax.grad(lambda t: jnp.linalg.solve(t, y[:1]).sum())(v[:1, None])",
         jax::grad([&](Array t) { return la::solve(t, y[slice(1)]).sum(); })(v[{slice(1), none}]));
    PAIR("jax.grad(lambda t: jnp.linalg.solve(v[:1, None], t).sum())(y[:1, 0])", jax::grad([&](Array t) {
             return la::solve(v[{slice(1), none}], t).sum();
         })(y[{slice(1), 0}]));
    PAIR("jax.vmap(lambda t: jnp.linalg.solve(t, y[:1, 0]))(v[:, None, None])", jax::vmap([&](Array t) {
             return la::solve(t, y[{slice(1), 0}]);
         })(v[{all, none, none}]));
    PAIR("jax.jvp(lambda t: jnp.linalg.solve(t[:1, None], y[:1, 0]), (v,), (v,))",
         jax::jvp(
             [&](Array t) {
                 return la::solve(t[{slice(1), none}], y[{slice(1), 0}]);
             },
             std::tuple(v), std::tuple(v)));
    PAIR("jax.grad(lambda t: jnp.linalg.solve(t, t[:, 0]).sum())(v[:1, None])", jax::grad([&](Array t) {
             return la::solve(t, t[{all, 0}]).sum();
         })(v[{slice(1), none}]));
    PAIR("jax.grad(lambda t: jnp.linalg.inv(t).sum())(v[:1, None])",
         jax::grad([&](Array t) { return la::inv(t).sum(); })(v[{slice(1), none}]));
    PAIR("jnp.linalg.det(x[:2, :2])", la::det(x[{slice(2), slice(2)}]));
    PAIR("jnp.linalg.det(jnp.cos(9. * x * x)[:, :3])", la::det(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR("jnp.linalg.det(w[:, :4] + jnp.eye(4))", la::det(w[{all, slice(4)}] + jnp::eye(4)));
    PAIR("jnp.linalg.slogdet(x[:2, :2])", la::slogdet(x[{slice(2), slice(2)}]));
    PAIR("jnp.linalg.slogdet(jnp.cos(9. * x * x)[:, :3])", la::slogdet(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR(
        "jax.grad(lambda t: lax.scan(lambda c, _: (c + jnp.linalg.slogdet(jnp.cos(9. * x * x)[:, :3] * c)[1], None), t, None, "
        "length=2)[0])(v[0])",
        jax::grad([&](Array t) {
            return lax::scan(
                       [&](Array c, lax::Nothing) {
                           return std::pair(c + la::slogdet(jnp::cos(9. * x * x)[{all, slice(3)}] * c).logabsdet, lax::Nothing{});
                       },
                       t, lax::Nothing{}, {.length = 2})
                .first;
        })(v[0]));
    PAIR("jax.grad(lambda t: lax.scan(lambda c, _: (c + jnp.linalg.slogdet(x[:2, :2] * c)[1], None), t, None, length=2)[0])(v[0])",
         jax::grad([&](Array t) {
             return lax::scan(
                        [&](Array c, lax::Nothing) {
                            return std::pair(c + la::slogdet(x[{slice(2), slice(2)}] * c).logabsdet, lax::Nothing{});
                        },
                        t, lax::Nothing{}, {.length = 2})
                 .first;
         })(v[0]));
    PAIR("jax.grad(lambda t: jnp.linalg.slogdet(t)[1])(v[:1, None])",
         jax::grad([](Array t) { return la::slogdet(t).logabsdet; })(v[{slice(1), none}]));
    PAIR("jax.jvp(jnp.linalg.slogdet, (x[:2, :2],), (x[:2, :2],))", [&] {
        const Array m = x[{slice(2), slice(2)}], d = x[{slice(2), slice(2)}];
        const auto both = jax::jvp(
            [](Array t) {
                const auto s = la::slogdet(t);
                return std::pair(s.sign, s.logabsdet);
            },
            std::tuple(m), std::tuple(d));
        return both;
    }());
    PAIR("jax.grad(lambda t: jnp.linalg.slogdet(t)[1])(jnp.cos(9. * x * x)[:, :3])",
         jax::grad([](Array t) { return la::slogdet(t).logabsdet; })(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR("jax.grad(jnp.linalg.det)(w[:, :4] + jnp.eye(4))",
         jax::grad([](Array t) { return la::det(t); })(w[{all, slice(4)}] + jnp::eye(4)));
    PAIR("jax.vmap(jax.grad(lambda t: jnp.linalg.slogdet(t)[1]))(w[:, :4].reshape(4, 2, 2))",
         jax::vmap(jax::grad([](Array t) { return la::slogdet(t).logabsdet; }))(w[{all, slice(4)}].reshape({4, 2, 2})));
    PAIR("jax.jvp(jnp.linalg.det, (w[:, :4],), (w[:, :4],))", [&] {
        const Array m = w[{all, slice(4)}], d = w[{all, slice(4)}];
        return jax::jvp([](Array t) { return la::det(t); }, std::tuple(m), std::tuple(d));
    }());
    PAIR("jax.grad(jnp.linalg.det)(x[:2, :2])", jax::grad([](Array t) { return la::det(t); })(x[{slice(2), slice(2)}]));
    PAIR("jnp.linalg.qr(jnp.cos(9. * x * x))", la::qr(jnp::cos(9. * x * x)));
    PAIR("jnp.linalg.qr(jnp.cos(9. * x * x).T, mode='complete')", la::qr(jnp::cos(9. * x * x).T(), "complete"));
    PAIR("jnp.linalg.svd(jnp.cos(9. * x * x))", la::svd(jnp::cos(9. * x * x)));
    PAIR("jnp.linalg.svd(jnp.cos(9. * x * x), full_matrices=False)", la::svd(jnp::cos(9. * x * x), false));
    PAIR("jnp.linalg.svdvals(x)", la::svdvals(x));
    PAIR("jnp.linalg.cholesky(x @ x.T + jnp.eye(3))", la::cholesky(jnp::matmul(x, x.T()) + jnp::eye(3)));
    PAIR("jnp.linalg.cholesky(x @ x.T + jnp.eye(3), upper=True)", la::cholesky(jnp::matmul(x, x.T()) + jnp::eye(3), {.upper = true}));
    PAIR("jnp.linalg.cholesky(jnp.eye(3), symmetrize_input=False)", la::cholesky(jnp::eye(3), {.symmetrize_input = false}));
    PAIR("jnp.linalg.eigh(jnp.cos(9. * x * x)[:, :3])", la::eigh(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR("jnp.linalg.eigvalsh(jnp.cos(9. * x * x)[:, :3])", la::eigvalsh(jnp::cos(9. * x * x)[{all, slice(3)}]));
    PAIR("jnp.linalg.matrix_power(jnp.cos(9. * x * x)[:, :3], 0)", la::matrix_power(jnp::cos(9. * x * x)[{all, slice(3)}], 0));
    PAIR("jnp.linalg.matrix_power(jnp.cos(9. * x * x)[:, :3], 2)", la::matrix_power(jnp::cos(9. * x * x)[{all, slice(3)}], 2));
    PAIR("jnp.linalg.matrix_power(jnp.cos(9. * x * x)[:, :3], 3)", la::matrix_power(jnp::cos(9. * x * x)[{all, slice(3)}], 3));
    PAIR("jnp.linalg.matrix_power(jnp.cos(9. * x * x)[:, :3], 5)", la::matrix_power(jnp::cos(9. * x * x)[{all, slice(3)}], 5));
    PAIR("jnp.linalg.matrix_power(jnp.cos(9. * x * x)[:, :3], -2)", la::matrix_power(jnp::cos(9. * x * x)[{all, slice(3)}], -2));
    PAIR("jnp.linalg.norm(x, ord='fro')", la::norm(x, "fro"));
    PAIR("jnp.linalg.norm(x, ord='nuc')", la::norm(x, "nuc"));
    PAIR("jnp.linalg.norm(x, ord=1)", la::norm(x, 1));
    PAIR("jnp.linalg.norm(x, ord=-2)", la::norm(x, -2));
    PAIR("jnp.linalg.norm(x, ord=jnp.inf)", la::norm(x, jnp::inf));
    PAIR("jnp.linalg.norm(x, ord=1, axis=1)", la::norm(x, 1, {.axis = 1}));
    PAIR("jnp.linalg.norm(x, ord=2, axis=0)", la::norm(x, 2, {.axis = 0}));
    PAIR("jnp.linalg.norm(x, ord='fro', keepdims=True)", la::norm(x, "fro", {.keepdims = true}));
    PAIR("jnp.linalg.norm(v, ord=3)", la::norm(v, 3));
    PAIR("jnp.linalg.norm(v, ord=0)", la::norm(v, 0));
    PAIR("jnp.linalg.norm(v, ord=jnp.inf)", la::norm(v, jnp::inf));
    PAIR("jnp.trace(x)", jnp::trace(x));
    PAIR("jnp.diagonal(x)", jnp::diagonal(x));
    PAIR("jnp.diagonal(x[:, :3])", jnp::diagonal(x[{all, slice(3)}]));
}

void sorted_arrays() {
    PAIR("jnp.take(x, i)", jnp::take(x, i));
    PAIR("jnp.take(v, 2)", jnp::take(v, 2));
    PAIR("jnp.take(n, i)", jnp::take(n, i));
    PAIR("jnp.take(b, i, axis=-1)", jnp::take(b, i, -1));
    PAIR("jnp.take(n.astype('uint8'), i + 9)", jnp::take(n.astype(jnp::uint8), i + 9));
    PAIR("jnp.take(x, i * 9, mode='clip')", jnp::take(x, i * 9, {.mode = "clip"}));
    PAIR("jnp.take(x, i * 9, axis=1, mode='clip')", jnp::take(x, i * 9, 1, {.mode = "clip"}));
    PAIR("jnp.take(x, i * 9 - 5, mode='wrap')", jnp::take(x, i * 9 - 5, {.mode = "wrap"}));
    PAIR("jnp.take(x, -n, axis=1, mode='wrap')", jnp::take(x, -n, 1, {.mode = "wrap"}));
    PAIR("jax.grad(lambda t: jnp.take(t, n, axis=-1, mode='wrap').sum())(x)",
         jax::grad([&](Array t) { return jnp::take(t, n, -1, {.mode = "wrap"}).sum(); })(x));
    PAIR("lax.stop_gradient({'a': x, 'b': v})", lax::stop_gradient(std::map<std::string, Array>{{"a", x}, {"b", v}}));
    PAIR("jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)", jnp::take_along_axis(x, jnp::argsort(x, 1), 1));
    PAIR("jnp.take_along_axis(x, i[:, None], axis=1)", jnp::take_along_axis(x, i[{all, none}], 1));
    PAIR("jnp.take_along_axis(x, i[None, :1], axis=0)", jnp::take_along_axis(x, i[{none, slice(1)}], 0));
    PAIR("jnp.take_along_axis(v, i, axis=0)", jnp::take_along_axis(v, i, 0));
    PAIR("jnp.searchsorted(v, 0.5)", jnp::searchsorted(v, 0.5));
    PAIR("jnp.searchsorted(v, v)", jnp::searchsorted(v, v));
    PAIR("jnp.searchsorted(v, y, side='right')", jnp::searchsorted(v, y, "right"));
    PAIR("jnp.searchsorted(n, i)", jnp::searchsorted(n, i));
    PAIR("jnp.quantile(x, 0.3)", jnp::quantile(x, 0.3));
    PAIR("jnp.quantile(x, 0.3, axis=1)", jnp::quantile(x, 0.3, {.axis = 1}));
    PAIR("jnp.quantile(x, 0.3, keepdims=True)", jnp::quantile(x, 0.3, {.keepdims = true}));
    PAIR("jnp.quantile(x, jnp.sort(v)[:2], axis=0)", jnp::quantile(x, jnp::sort(v)[{slice(2)}], {.axis = 0}));
    PAIR("jnp.quantile(x, 0.3, axis=1, keepdims=True)", jnp::quantile(x, 0.3, {.axis = 1, .keepdims = true}));
    PAIR("jnp.percentile(x, 30.)", jnp::percentile(x, 30.));
    PAIR("jnp.percentile(x, 30., axis=-1)", jnp::percentile(x, 30., {.axis = -1}));
    PAIR("jnp.median(x)", jnp::median(x));
    PAIR("jnp.median(x, axis=0, keepdims=True)", jnp::median(x, {.axis = 0, .keepdims = true}));
    PAIR("jax.grad(lambda v: jnp.median(v * v))(v)", jax::grad([](Array t) { return jnp::median(t * t); })(v));
}

void more_random() {
    namespace jr = jax::random;
    PAIR("jr.randint(k, (3,), 0, 10)", jr::randint(k, 3, 0, 10));
    PAIR("jr.randint(k, (), -5, 5)", jr::randint(k, {}, -5, 5));
    PAIR("jr.gumbel(k, (3,))", jr::gumbel(k, 3));
    PAIR("jr.exponential(k, (3, 2))", jr::exponential(k, {3, 2}));
    PAIR("jr.laplace(k, (3,))", jr::laplace(k, 3));
    PAIR("jr.logistic(k, (3,))", jr::logistic(k, 3));
    PAIR("jr.cauchy(k, (3,))", jr::cauchy(k, 3));
    PAIR("jr.rademacher(k, (5,))", jr::rademacher(k, 5));
    PAIR("jr.truncated_normal(k, -1., 2., (3,))", jr::truncated_normal(k, -1., 2., 3));
    PAIR("jr.gamma(k, 2., (3,))", jr::gamma(k, 2., 3));
    PAIR("jr.loggamma(k, 2., (3,))", jr::loggamma(k, 2., 3));
    PAIR("jr.beta(k, 2., 3., (3,))", jr::beta(k, 2., 3., 3));
    PAIR("jr.chisquare(k, 3., (3,))", jr::chisquare(k, 3., 3));
    PAIR("jr.t(k, 3., (3,))", jr::t(k, 3., 3));
    PAIR("jr.pareto(k, 2., (3,))", jr::pareto(k, 2., 3));
    PAIR("jr.categorical(k, x)", jr::categorical(k, x));
    PAIR("jr.categorical(k, x, axis=0)", jr::categorical(k, x, 0));
    PAIR("jr.categorical(k, v, shape=(5,))", jr::categorical(k, v, -1, 5));
    PAIR("jr.choice(k, 5, (3,))", jr::choice(k, 5, 3));
    PAIR("jr.choice(k, v, (3,))", jr::choice(k, v, 3));
    PAIR("jr.choice(k, v, (3,), replace=False)", jr::choice(k, v, 3, false));
    PAIR("jr.choice(k, v, (3,), p=v)", jr::choice(k, v, 3, v));
    PAIR("jr.permutation(k, v)", jr::permutation(k, v));
}

}  // namespace pairs
