// Parts that are chosen, put between others or left out; sets; polynomials; eigenvalues and factors; shares of the normal distribution;
// equations that define their solutions.
#include <jaxscope/vectorize.h>

#include "pairs.h"

namespace pairs {

namespace {

void of_integers_and_of_many() {
    namespace jr = jax::random;
    PAIR("jnp.percentile(v, 50)", jnp::percentile(v, 50));
    PAIR("jnp.percentile(x, jnp.array([20, 80]), axis=1)", jnp::percentile(x, jnp::array({20, 80}), {.axis = 1}));
    PAIR("jnp.linalg.norm(w.reshape(2, 2, 5), 2, axis=(0, 1))", jnp::linalg::norm(w.reshape({2, 2, 5}), 2, {.axis = {0, 1}}));
    PAIR("jnp.linalg.norm(w.reshape(2, 2, 5), 1, axis=(2, 0))", jnp::linalg::norm(w.reshape({2, 2, 5}), 1, {.axis = {2, 0}}));
    PAIR("jnp.linalg.norm(w.reshape(2, 2, 5), -jnp.inf, axis=(1, 2))",
         jnp::linalg::norm(w.reshape({2, 2, 5}), -jnp::inf, {.axis = {1, 2}}));
    PAIR("jnp.linalg.norm(w.reshape(2, 2, 5), 'nuc', axis=(1, 2))", jnp::linalg::norm(w.reshape({2, 2, 5}), "nuc", {.axis = {1, 2}}));
    PAIR("jnp.linalg.norm(w.reshape(2, 2, 5), 'fro', axis=(1, 2), keepdims=True)",
         jnp::linalg::norm(w.reshape({2, 2, 5}), "fro", {.axis = {1, 2}, .keepdims = true}));
    PAIR("jnp.linalg.matrix_norm(w.reshape(2, 2, 5))", jnp::linalg::matrix_norm(w.reshape({2, 2, 5})));
    PAIR("jnp.linalg.norm(lax.complex(x, y), 'fro')", jnp::linalg::norm(lax::complex(x, y), "fro"));
    PAIR("jnp.linalg.norm(lax.complex(v, v), 2)", jnp::linalg::norm(lax::complex(v, v), 2));
    PAIR("jnp.roll(x, (1, 2), 0)", jnp::roll(x, {1, 2}, {0}));
    PAIR("jnp.roll(x, 1, (0, 1))", jnp::roll(x, {1}, {0, 1}));
    PAIR("jnp.choose(i, [n[:3], v[:3]], mode='clip')", [&] {
        Array whole = n[{slice(3)}];
        return jnp::choose(i, {whole, v[{slice(3)}]}, "clip");
    }());
    PAIR("jnp.select([v], [v])", jnp::select({v}, {v}, 0));
    PAIR("jnp.searchsorted(v[:0], v)", jnp::searchsorted(v[{slice(0)}], v));
    PAIR("lax.collapse(x, 0, 3)", lax::collapse(x, 0, 3));
    PAIR("lax.concatenate([v], 1)", lax::concatenate({v}, 1));
    PAIR("jsp.linalg.block_diag(x, v)", jax::scipy::linalg::block_diag({x, v}));
    PAIR("jr.geometric(k, 1)", jr::geometric(k, 1));
    PAIR("jr.randint(k, (2,), 0., 5.)", jr::randint(k, {2}, 0., 5.));
    PAIR("jr.multivariate_normal(k, v, jnp.eye(4))", jr::multivariate_normal(k, v, jnp::eye(4)));
    PAIR("jr.multivariate_normal(k, x, jnp.eye(4))", jr::multivariate_normal(k, x, jnp::eye(4)));
    PAIR("jr.multivariate_normal(k, v, jnp.eye(4), (5,))", jr::multivariate_normal(k, v, jnp::eye(4), {5}));
    PAIR("jr.key_data(jr.key(1 << 33))", jr::key_data(jr::key(std::int64_t{1} << 33)));
    PAIR("jr.key_data(jnp.zeros_like(k))", jr::key_data(jnp::zeros_like(k)));
    PAIR("jr.key_data(jnp.ones_like(k[None]))", jr::key_data(jnp::ones_like(k[{none}])));
}

namespace sp = jax::scipy::special;
namespace sl = jax::scipy::linalg;
namespace norm = jax::scipy::stats::norm;

void parts() {
    PAIR("jnp.partition(x, 2)", jnp::partition(x, 2));
    PAIR("jnp.partition(n, 1, axis=0)", jnp::partition(n, 1, 0));
    PAIR("jnp.partition(x, 1, axis=0)", jnp::partition(x, 1, 0));
    PAIR("jnp.partition(n.astype(jnp.uint8), -2)", jnp::partition(n.astype(jnp::uint8), -2));
    PAIR("jnp.argpartition(n, 1)", jnp::argpartition(n, 1));
    PAIR("jnp.argpartition(x, -2, axis=0)", jnp::argpartition(x, -2, 0));
    PAIR("jnp.argpartition(y.reshape(3, 2, 2), 0)", jnp::argpartition(y.reshape({3, 2, 2}), 0));
    PAIR("jnp.compress(n > 4, v, size=2)", jnp::compress(n > 4, v, {.size = 2}));
    PAIR("jnp.compress(b[0], x, axis=1, size=3, fill_value=-1.)", jnp::compress(b[0], x, {.axis = 1, .size = 3, .fill_value = -1.}));
    PAIR("jnp.compress(b[:, 0], x, axis=0, size=3)", jnp::compress(b[{all, 0}], x, {.axis = 0, .size = 3}));
    PAIR("jnp.extract(b, x, size=5, fill_value=7)", jnp::extract(b, x, {.size = 5, .fill_value = 7}));
    PAIR("jnp.insert(v, 1, 5.)", jnp::insert(v, 1, 5.));
    PAIR("jnp.insert(x, 1, 5., axis=1)", jnp::insert(x, 1, 5., 1));
    PAIR("jnp.insert(x, i, v, axis=0)", jnp::insert(x, i, v, 0));
    PAIR("jnp.insert(n, jnp.array([0, 2]), jnp.array([7, 8]))", jnp::insert(n, jnp::array({0, 2}), jnp::array({7, 8})));
    PAIR("jnp.delete(v, slice(1, 3))", jnp::delete_(v, slice(1, 3)));
    PAIR("jnp.delete(x, slice(None, None, 2), axis=1)", jnp::delete_(x, slice(none, none, 2), 1));
    PAIR("jnp.delete(x, i, axis=1, assume_unique_indices=True)", jnp::delete_(x, i, {.axis = 1, .assume_unique_indices = true}));
    PAIR("jnp.packbits(b)", jnp::packbits(b));
    PAIR("jnp.packbits(b, axis=1)", jnp::packbits(b, 1));
    PAIR("jnp.packbits(n, bitorder='little')", jnp::packbits(n, {}, "little"));
    PAIR("jnp.unpackbits(n.astype(jnp.uint8))", jnp::unpackbits(n.astype(jnp::uint8)));
    PAIR("jnp.unpackbits(b.astype(jnp.uint8), axis=1, count=-5)", jnp::unpackbits(b.astype(jnp::uint8), {.axis = 1, .count = -5}));
    PAIR("jnp.unpackbits(n.astype(jnp.uint8), count=7, bitorder='little')",
         jnp::unpackbits(n.astype(jnp::uint8), {.count = 7, .bitorder = "little"}));
    PAIR("jnp.sort_complex(x)", jnp::sort_complex(x));
    PAIR("jnp.mgrid[0:3, 0:2]", jnp::mgrid[{slice(0, 3), slice(0, 2)}]);
    PAIR("jnp.mgrid[0:4:2, 1:3]", jnp::mgrid[{slice(0, 4, 2), slice(1, 3)}]);
    PAIR("jnp.ogrid[0:3, 0:2]", jnp::ogrid[{slice(0, 3), slice(0, 2)}]);
    PAIR("jnp.apply_along_axis(lambda r: r - r.mean(), 0, x)", jnp::apply_along_axis([](Array r) { return r - r.mean(); }, 0, x));
    PAIR("jnp.apply_along_axis(lambda r: r.sum(), 1, x)", jnp::apply_along_axis([](Array r) { return r.sum(); }, 1, x));
    PAIR("jnp.apply_along_axis(lambda r: r[:2], 1, x.reshape(2, 3, 2))",
         jnp::apply_along_axis([](Array r) { return r[{slice(2)}]; }, 1, x.reshape({2, 3, 2})));
    PAIR("jnp.apply_over_axes(jnp.sum, x, (0, 1))",
         jnp::apply_over_axes([](const Array& a, std::int64_t axis) { return jnp::sum(a, axis); }, x, {0, 1}));
}
void sets() {
    PAIR("jnp.unique_values(n, size=3)", jnp::unique_values(n, {.size = 3}));
    PAIR("jnp.intersect1d(n, i, size=2)", jnp::intersect1d(n, i, {.size = 2}));
    PAIR("jnp.intersect1d(n, n + 1, size=3, fill_value=-7)", jnp::intersect1d(n, n + 1, {.size = 3, .fill_value = -7}));
    PAIR("jnp.intersect1d(n, i, assume_unique=True, size=2)", jnp::intersect1d(n, i, {.assume_unique = true, .size = 2}));
    PAIR("jnp.setxor1d(n, n + 1, size=5)", jnp::setxor1d(n, n + 1, {.size = 5}));
    PAIR("jnp.setxor1d(n, i, assume_unique=True, size=3, fill_value=0)",
         jnp::setxor1d(n, i, {.assume_unique = true, .size = 3, .fill_value = 0}));
    PAIR("jnp.setdiff1d(n, n[:2], size=3)", jnp::setdiff1d(n, n[{slice(2)}], {.size = 3}));
    PAIR("jnp.setdiff1d(x, v, size=4, fill_value=-1.)", jnp::setdiff1d(x, v, {.size = 4, .fill_value = -1.}));
    PAIR("jnp.setdiff1d(n, i, assume_unique=True, size=2)", jnp::setdiff1d(n, i, {.assume_unique = true, .size = 2}));
    PAIR("jnp.histogram_bin_edges(x, 4)", jnp::histogram_bin_edges(x, 4));
    PAIR("jnp.histogram_bin_edges(n, 3, (-1., 2.))", jnp::histogram_bin_edges(n, 3, {-1., 2.}));
}
void polynomials() {
    PAIR("jnp.polyint(v)", jnp::polyint(v));
    PAIR("jnp.polyint(n, 2, 3)", jnp::polyint(n, 2, 3));
    PAIR("jnp.polyint(v, 3, x[0, :3])", jnp::polyint(v, 3, x[{0, slice(3)}]));
    PAIR("jnp.poly(v)", jnp::poly(v));
    PAIR("jnp.polydiv(v, v[:2])", jnp::polydiv(v, v[{slice(2)}]));
    PAIR("jnp.roots(v, strip_zeros=False)", jnp::roots(v, false));
}
void decompositions() {
    PAIR("jnp.linalg.eig(x @ x.T)[0]", jnp::linalg::eig(jnp::matmul(x, x.T())).eigenvalues);
    PAIR("jnp.linalg.eigvals(x @ x.T)", jnp::linalg::eigvals(jnp::matmul(x, x.T())));
    PAIR("jnp.linalg.tensorinv(w[:, :4].reshape(2, 2, 4) + jnp.eye(4).reshape(2, 2, 4))",
         jnp::linalg::tensorinv(w[{all, slice(4)}].reshape({2, 2, 4}) + jnp::eye(4).reshape({2, 2, 4})));
    PAIR("jnp.linalg.tensorsolve(w[:, :4] + jnp.eye(4), v)", jnp::linalg::tensorsolve(w[{all, slice(4)}] + jnp::eye(4), v));
    PAIR("jsp.linalg.lu_factor(x @ x.T)", sl::lu_factor(jnp::matmul(x, x.T())));
    PAIR("jsp.linalg.lu_solve(jsp.linalg.lu_factor(jnp.eye(4) + w[:, :4]), v)",
         sl::lu_solve(sl::lu_factor(jnp::eye(4) + w[{all, slice(4)}]), v));
    PAIR("jsp.linalg.lu_solve(jsp.linalg.lu_factor(jnp.eye(4) + w[:, :4]), w, 1)",
         sl::lu_solve(sl::lu_factor(jnp::eye(4) + w[{all, slice(4)}]), w, 1));
    PAIR("jsp.linalg.toeplitz(v)", sl::toeplitz(v));
    PAIR("jsp.linalg.toeplitz(v, x[0])", sl::toeplitz(v, x[0]));
    PAIR("jsp.linalg.hilbert(3)", sl::hilbert(3));
    PAIR("jnp.fft.hfft(x)", jax::fft::hfft(x));
    PAIR("jnp.fft.hfft(v, 5)", jax::fft::hfft(v, {.n = 5}));
    PAIR("jnp.fft.ihfft(x)", jax::fft::ihfft(x));
}
void special() {
    PAIR("jsp.special.ndtri(v / 3)", sp::ndtri(v / 3));
    PAIR("jsp.special.log_ndtr(x * 9)", sp::log_ndtr(x * 9));
    PAIR("jax.grad(lambda q: jsp.special.log_ndtr(q).sum())(x)", jax::grad([](Array q) { return sp::log_ndtr(q).sum(); })(x));
    PAIR("jsp.special.boxcox(v, x)", sp::boxcox(v, x));
    PAIR("jsp.special.boxcox1p(v, 0.)", sp::boxcox1p(v, 0.));
    PAIR("jsp.special.comb(9, n)", sp::comb(9, n));
    PAIR("jsp.special.poch(v, v)", sp::poch(v, v));
    PAIR("jax.grad(lambda q: jsp.special.poch(q, v).sum())(v)", jax::grad([&](Array q) { return sp::poch(q, v).sum(); })(v));
    PAIR("jsp.stats.norm.ppf(v / 3)", norm::ppf(v / 3));
    PAIR("jsp.stats.norm.isf(v / 3, 1., 2.)", norm::isf(v / 3, 1., 2.));
    PAIR("jsp.stats.norm.logcdf(x)", norm::logcdf(x));
    PAIR("jsp.stats.norm.logsf(x, 0.5)", norm::logsf(x, 0.5));
    PAIR("nn.log1mexp(v)", nn::log1mexp(v));
    PAIR("jax.grad(lambda q: nn.log1mexp(q).sum())(v)", jax::grad([](Array q) { return nn::log1mexp(q).sum(); })(v));
    PAIR("lax.mulhi(n, n * 1000000000)", lax::mulhi(n, n * 1000000000));
    PAIR("lax.reduce_xor(n, (0,))", lax::reduce_xor(n, 0));
    PAIR("lax.approx_max_k(x, 2)", lax::approx_max_k(x, 2));
    PAIR("lax.approx_min_k(x, 1, reduction_dimension=0)", lax::approx_min_k(x, 1, {.reduction_dimension = 0}));
    PAIR("lax.ragged_dot(x, jnp.stack([w, w + 1]), jnp.array([1, 2]))", lax::ragged_dot(x, jnp::stack({w, w + 1}), jnp::array({1, 2})));
    PAIR("jax.grad(lambda q: lax.ragged_dot(q, jnp.stack([w, w + 1]), jnp.array([1, 2])).sum())(x)", jax::grad([&](Array q) {
             return lax::ragged_dot(q, jnp::stack({w, w + 1}), jnp::array({1, 2})).sum();
         })(x));
}
/// By fixed-point iteration.
struct Halving {
    template <class F>
    Array operator()(const F& f, const Array& x0) const {
        return lax::while_loop([&](Array q) { return jnp::abs(f(q)) > 1e-3; }, [&](Array q) { return q - f(q) / 4.; }, x0);
    }
};
struct ByDivision {
    template <class G>
    Array operator()(const G& g, const Array& y) const {
        return y / g(Array(1.));
    }
};
void solves() {
    const char* root =
        "(lambda f: f(v[2]))(lambda a: lax.custom_root(lambda q: q * q - a, 1., lambda f, q0: lax.while_loop(lambda q: jnp.abs(f(q)) > "
        "1e-3, lambda q: q - f(q) / 4., q0), lambda g, t: t / g(1.)))";
    PAIR(root, lax::custom_root([a = v[2]](Array q) { return q * q - a; }, 1., Halving(), ByDivision()));
    const char* gradient =
        "jax.grad(lambda a: lax.custom_root(lambda q: q * q - a, 1., lambda f, q0: lax.while_loop(lambda q: jnp.abs(f(q)) > 1e-3, "
        "lambda q: q - f(q) / 4., q0), lambda g, t: t / g(1.)))(2.)";
    PAIR(gradient,
         jax::grad([](Array a) { return lax::custom_root([a](Array q) { return q * q - a; }, 1., Halving(), ByDivision()); })(2.));
    PAIR("lax.custom_linear_solve(lambda q: w[:, :4] @ q, v, lambda mv, c: c * 2.)", lax::custom_linear_solve(
                                                                                         [&](Array q) {
                                                                                             return jnp::matmul(w[{all, slice(4)}], q);
                                                                                         },
                                                                                         v, [](const auto&, Array c) { return c * 2.; }));
    PAIR("lax.custom_linear_solve(lambda q: w[:, :4] @ q, v, lambda mv, c: c * 2., lambda vm, c: vm(c))",
         lax::custom_linear_solve(
             [&](Array q) {
                 return jnp::matmul(w[{all, slice(4)}], q);
             },
             v, [](const auto&, Array c) { return c * 2.; }, [](const auto& vm, Array c) { return vm(c); }));
    PAIR("lax.custom_linear_solve(lambda q: q * 2., v, lambda mv, c: c / 2., symmetric=True)",
         lax::custom_linear_solve([](Array q) { return q * 2.; }, v, [](const auto&, Array c) { return c / 2.; }, {.symmetric = true}));
    PAIR("jax.grad(lambda q: lax.custom_linear_solve(lambda s: q * s, v, lambda mv, c: c / q, lambda vm, c: c / q).sum())(v)",
         jax::grad([&](Array q) {
             return lax::custom_linear_solve([&](Array s) { return q * s; }, v, [&](const auto&, Array c) { return c / q; },
                                             [&](const auto&, Array c) { return c / q; })
                 .sum();
         })(v));
}

}  // namespace

void further_functions() {
    of_integers_and_of_many();
    parts();
    sets();
    polynomials();
    decompositions();
    special();
    solves();
}

}  // namespace pairs
