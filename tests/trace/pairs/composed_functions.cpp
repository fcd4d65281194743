// Functions that are made of others: of tensors, curves, statistics, windows; attention, initializers, jax.scipy.
#include "pairs.h"

namespace jr = jax::random;
namespace jsp = jax::scipy;
namespace init = jax::nn::initializers;

namespace pairs {

namespace {

void tensors() {
    PAIR("jnp.tensordot(x, w, 1)", jnp::tensordot(x, w, 1));
    PAIR("jnp.tensordot(x, y)", jnp::tensordot(x, y));
    PAIR("jnp.tensordot(x, n, ((1,), (0,)))", jnp::tensordot(x, n, {{1}, {0}}));
    PAIR("jnp.vecdot(x, y)", jnp::vecdot(x, y));
    PAIR("jnp.vecdot(x, v)", jnp::vecdot(x, v));
    PAIR("jnp.vecdot(v, x[:1])", jnp::vecdot(v, x[{slice(1)}]));
    PAIR("jnp.vecdot(x[:, None], y)", jnp::vecdot(x[{all, none}], y));
    PAIR("jnp.vecdot(v[None], v[None])", jnp::vecdot(v[none], v[none]));
    PAIR("jax.grad(lambda t, u: jnp.vecdot(t, u).sum(), argnums=(0, 1))(x, v)",
         jax::grad<0, 1>([](Array t, Array u) { return jnp::sum(jnp::vecdot(t, u)); })(x, v));
    PAIR("jnp.kron(x, y)", jnp::kron(x, y));
    PAIR("jnp.kron(v, y)", jnp::kron(v, y));
    PAIR("jnp.cross(x[:, :3], y[:, :3])", jnp::cross(x[{all, slice(3)}], y[{all, slice(3)}]));
    PAIR("jnp.cross(x[:, :2], y[:, :2])", jnp::cross(x[{all, slice(2)}], y[{all, slice(2)}]));
    PAIR("jnp.append(x, y)", jnp::append(x, y));
    PAIR("jnp.append(x, y, axis=1)", jnp::append(x, y, 1));
    PAIR("jnp.column_stack([v, v, x.T])", jnp::column_stack({v, v, x.T()}));
    PAIR("jnp.meshgrid(v, i)", jnp::meshgrid({v, i}));
    PAIR("jnp.meshgrid(v, i, indexing='ij')", jnp::meshgrid({v, i}, "ij"));
    PAIR("jnp.broadcast_arrays(x, v)", jnp::broadcast_arrays({x, v}));
    PAIR("jnp.select([x > 0, y > 0], [x, y], 2.)", jnp::select({x > 0, y > 0}, {x, y}, 2.));
    PAIR("jnp.repeat(x, 2)", jnp::repeat(x, 2));
    PAIR("jnp.pad(x, ((1, 2), (0, 3)))", jnp::pad(x, {{1, 2}, {0, 3}}));
    PAIR("jnp.pad(x, ((1, 2), (0, 3)), constant_values=2.)", jnp::pad(x, {{1, 2}, {0, 3}}, 2.));
    PAIR("jnp.flip(x, 0)", jnp::flip(x, 0));
    PAIR("jnp.flip(x, (0, -1))", jnp::flip(x, {0, -1}));
    PAIR("jnp.round(x, 2)", jnp::round(x, 2));
    PAIR("jnp.clip(x, 0)", jnp::clip(x, 0));
    PAIR("jnp.clip(x, max=.5)", jnp::clip(x, none, .5));
    PAIR("jnp.eye(3, 4)", jnp::eye(3, 4));
    PAIR("jnp.eye(3, 4, 1, dtype=jnp.int32)", jnp::eye(3, 4, 1, jnp::int32));
    PAIR("jnp.tri(3)", jnp::tri(3));
    PAIR("jnp.diag(v, 1)", jnp::diag(v, 1));
    PAIR("jnp.diag(x, -1)", jnp::diag(x, -1));
    PAIR("jnp.diagonal(x, 1)", jnp::diagonal(x, {.offset = 1}));
    PAIR("jnp.diagonal(w.reshape(2, 5, 2), axis1=0, axis2=2)", jnp::diagonal(w.reshape({2, 5, 2}), {.axis1 = 0, .axis2 = 2}));
    PAIR("jnp.diagonal(w.reshape(5, 2, 2), axis1=-2, axis2=-1)", jnp::diagonal(w.reshape({5, 2, 2}), {.axis1 = -2, .axis2 = -1}));
    PAIR("jnp.trace(x, 1)", jnp::trace(x, {.offset = 1}));
    PAIR("jnp.trace(w.reshape(5, 2, 2), axis1=1, axis2=2)", jnp::trace(w.reshape({5, 2, 2}), {.axis1 = 1, .axis2 = 2}));
    PAIR("jax.grad(lambda x: jnp.kron(x, y).sum() + jnp.tensordot(x, x))(x)",
         jax::grad([&](Array t) { return jnp::kron(t, y).sum() + jnp::tensordot(t, t); })(x));
}

void curves() {
    PAIR("jnp.polyval(v, x)", jnp::polyval(v, x));
    PAIR("jnp.polyval(n, v)", jnp::polyval(n, v));
    PAIR("jnp.interp(x, v, v * v)", jnp::interp(x, v, v * v));
    PAIR("jnp.interp(v[1], v, n)", jnp::interp(v[1], v, n));
    PAIR("jax.grad(lambda v: jnp.interp(x, v, v * v).sum())(v)", jax::grad([&](Array t) { return jnp::interp(x, t, t * t).sum(); })(v));
    PAIR("x.sum(0)", x.sum(0));
    PAIR("x.mean((0, 1))", x.mean({0, 1}));
    PAIR("x.max(-1, keepdims=True)", x.max(-1, true));
    PAIR("x.dot(x.T)", x.dot(x.T()));
    PAIR("jnp.max(x, (0, 1))", jnp::max(x, {0, 1}));
    PAIR("jnp.any(x > 0, (0, 1))", jnp::any(x > 0, {0, 1}));
    PAIR("jnp.trapezoid(x)", jnp::trapezoid(x));
    PAIR("jnp.trapezoid(x, dx=.1, axis=0)", jnp::trapezoid(x, {.dx = .1, .axis = 0}));
    PAIR("jnp.trapezoid(x, axis=0)", jnp::trapezoid(x, {.axis = 0}));
    PAIR("jnp.trapezoid(x, x, axis=0)", jnp::trapezoid(x, x, 0));
    PAIR("jnp.trapezoid(x, x)", jnp::trapezoid(x, x));
    PAIR("jnp.trapezoid(x, x[0])", jnp::trapezoid(x, x[0]));
    PAIR("jnp.convolve(v, x[0])", jnp::convolve(v, x[0]));
    PAIR("jnp.convolve(v[:3], x[0], mode='same')", jnp::convolve(v[slice(3)], x[0], "same"));
    PAIR("jnp.convolve(v, i, mode='valid')", jnp::convolve(v, i, "valid"));
}

void statistics() {
    PAIR("jnp.average(x, axis=0)", jnp::average(x, {.axis = 0}));
    PAIR("jnp.average(x, axis=1, weights=v)", jnp::average(x, {.axis = 1, .weights = v}));
    PAIR("jnp.average(x, weights=y)", jnp::average(x, {.weights = y}));
    PAIR("jnp.cov(x)", jnp::cov(x));
    PAIR("jnp.cov(x, rowvar=False)", jnp::cov(x, false));
    PAIR("jnp.nansum(jnp.log(x))", jnp::nansum(jnp::log(x)));
    PAIR("jnp.nanmean(jnp.log(x), axis=0)", jnp::nanmean(jnp::log(x), 0));
    PAIR("jnp.nanmax(jnp.log(x), axis=1)", jnp::nanmax(jnp::log(x), 1));
    PAIR("jnp.nanmin(jnp.log(x))", jnp::nanmin(jnp::log(x)));
    PAIR("jnp.nanmean(n)", jnp::nanmean(n));
    PAIR("jnp.var(x, ddof=1)", jnp::var(x, {.ddof = 1}));
    PAIR("jnp.std(x, axis=0, ddof=1)", jnp::std(x, {.axis = 0, .ddof = 1}));
    PAIR("jnp.sum(x, where=b)", jnp::sum(x, {.where = b}));
    PAIR("jnp.mean(x, axis=1, where=b)", jnp::mean(x, {.axis = 1, .where = b}));
    PAIR("jnp.prod(x, where=b)", jnp::prod(x, {.where = b}));
    PAIR("jnp.all(x > 0, where=b)", jnp::all(x > 0, {.where = b}));
    PAIR("jnp.amax(x, axis=0)", jnp::amax(x, {.axis = 0}));
    PAIR("x * jnp.finfo(jnp.float32).eps + jnp.iinfo(jnp.int8).max", x * jnp::finfo(jnp::float32).eps + jnp::iinfo(jnp::int8).max);
}

void windows() {
    PAIR("lax.dynamic_index_in_dim(x, i[0], 0)", lax::dynamic_index_in_dim(x, i[0], 0));
    PAIR("lax.dynamic_index_in_dim(x, i[0], 1, keepdims=False)", lax::dynamic_index_in_dim(x, i[0], 1, false));
    PAIR("lax.dynamic_slice_in_dim(x, i[1], 2, axis=1)", lax::dynamic_slice_in_dim(x, i[1], 2, 1));
    PAIR("lax.dynamic_update_slice_in_dim(x, y[:1], i[2], 0)", lax::dynamic_update_slice_in_dim(x, y[slice(1)], i[2], 0));
    PAIR("lax.dynamic_update_index_in_dim(x, y[0], i[2], 0)", lax::dynamic_update_index_in_dim(x, y[0], i[2], 0));
    PAIR("lax.dynamic_update_index_in_dim(x, y[:, 0], 1, 1)", lax::dynamic_update_index_in_dim(x, y[{all, 0}], 1, 1));
    PAIR("lax.select_n(b, x, y)", lax::select_n(b, {x, y}));
    PAIR("lax.select_n(i, i, i + 1, i * 2)", lax::select_n(i, {i, i + 1, i * 2}));
    PAIR("lax.broadcasted_iota(jnp.int32, (2, 3), 1)", lax::broadcasted_iota(jnp::int32, {2, 3}, 1));
    PAIR("lax.collapse(w.reshape(2, 5, 2), 0, 2)", lax::collapse(w.reshape({2, 5, 2}), 0, 2));
    PAIR("lax.collapse(w.reshape(2, 5, 2), 1)", lax::collapse(w.reshape({2, 5, 2}), 1));
    PAIR("lax.sort_key_val(x, y)", lax::sort_key_val(x, y));
    PAIR("(lax.population_count(n), lax.clz(n))", std::pair{lax::population_count(n), lax::clz(n)});
    PAIR("(lax.reduce_and(b, (0,)), lax.reduce_or(b, (1,)))", std::pair{lax::reduce_and(b, 0), lax::reduce_or(b, 1)});
    PAIR("lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), 'VALID')",
         lax::reduce_window(x, -jnp::inf, lax::max, {1, 2}, {1, 2}, "VALID"));
    PAIR("lax.reduce_window(x, 0., lax.add, (2, 2), (1, 1), 'SAME')", lax::reduce_window(x, 0., lax::add, {2, 2}, {1, 1}, "SAME"));
    PAIR("jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), 'SAME') ** 2).sum())(x)", jax::grad([](Array t) {
             return jnp::power(lax::reduce_window(t, -jnp::inf, lax::max, {2, 2}, {1, 2}, "SAME"), 2).sum();
         })(x));
    PAIR("lax.conv_transpose(w.reshape(1, 2, 2, 5), w.reshape(2, 1, 5, 2), (2, 2), 'SAME')",
         lax::conv_transpose(w.reshape({1, 2, 2, 5}), w.reshape({2, 1, 5, 2}), {2, 2}, "SAME"));
    PAIR("lax.conv_transpose(w.reshape(1, 4, 5), w.reshape(2, 5, 2), (3,), 'VALID')",
         lax::conv_transpose(w.reshape({1, 4, 5}), w.reshape({2, 5, 2}), 3, "VALID"));
}

void attention() {
    PAIR("nn.standardize(x)", nn::standardize(x));
    PAIR("nn.standardize(x, axis=0, epsilon=1e-3)", nn::standardize(x, {.axis = 0, .epsilon = 1e-3}));
    PAIR("nn.dot_product_attention(w.reshape(1, 2, 2, 5), w.reshape(1, 2, 2, 5) + 1., w.reshape(1, 2, 2, 5) * 2.)",
         nn::dot_product_attention(w.reshape({1, 2, 2, 5}), w.reshape({1, 2, 2, 5}) + 1., w.reshape({1, 2, 2, 5}) * 2.));
    PAIR(
        "nn.dot_product_attention(w.reshape(1, 5, 2, 2), w.reshape(1, 5, 2, 2)[:, :, :1], w.reshape(1, 5, 2, 2)[:, :, 1:], is_causal=True)",
        nn::dot_product_attention(w.reshape({1, 5, 2, 2}), w.reshape({1, 5, 2, 2})[{all, all, slice(1)}],
                                  w.reshape({1, 5, 2, 2})[{all, all, slice(1, none)}], {.is_causal = true}));
    PAIR("(lambda t, m: nn.dot_product_attention(t, t, t, mask=m, scale=.5))(x.reshape(1, 3, 2, 2), b[None, None, :, :3])",
         [](std::pair<Array, Array> p) {
             return nn::dot_product_attention(p.first, p.first, p.first, {.mask = p.second, .scale = .5});
         }(std::pair{x.reshape({1, 3, 2, 2}), b[{none, none, all, slice(3)}]}));
    PAIR("jnp.mean(b)", jnp::mean(b));
    PAIR("(lambda a, c, d: a + c * d)(*x)", [&] {
        auto [a, c, d] = jnp::unpack<3>(x);
        return a + c * d;
    }());
    PAIR("jnp.pad(jnp.full_like(x[0, 0], 2.)[None], 1)", jnp::pad(jnp::full_like(x[{0, 0}], 2.)[none], 1));
    PAIR("nn.initializers.glorot_uniform()(k, (3, 4))", init::glorot_uniform()(k, {3, 4}));
    PAIR("nn.initializers.he_normal()(k, (3, 3, 2, 4))", init::he_normal()(k, {3, 3, 2, 4}));
    PAIR("nn.initializers.lecun_normal()(k, (3, 4))", init::lecun_normal()(k, {3, 4}));
    PAIR("nn.initializers.normal(.02)(k, (3, 4))", init::normal(.02)(k, {3, 4}));
    PAIR("nn.initializers.truncated_normal(.1)(k, (3, 4))", init::truncated_normal(.1)(k, {3, 4}));
    PAIR("nn.initializers.uniform()(k, (3,))", init::uniform()(k, 3));
    PAIR("nn.initializers.constant(.5)(k, (3,))", init::constant(.5)(k, 3));
    PAIR("nn.initializers.orthogonal()(k, (4, 3))", init::orthogonal()(k, {4, 3}));
    PAIR("jr.orthogonal(k, 3)", jr::orthogonal(k, 3));
    PAIR("jr.multivariate_normal(k, v[:3], x[:, :3] @ x[:, :3].T + jnp.eye(3))",
         jr::multivariate_normal(k, v[slice(3)], jnp::matmul(x[{all, slice(3)}], x[{all, slice(3)}].T()) + jnp::eye(3)));
    PAIR("jr.uniform(k, (3,), minval=-1, maxval=v[1])", jr::uniform(k, 3, -1, v[1]));
    PAIR("jr.bernoulli(k, nn.sigmoid(x))", jr::bernoulli(k, nn::sigmoid(x)));
    PAIR("jr.bernoulli(k)", jr::bernoulli(k));
}

Array two_systems(const Array& t) { return jnp::stack({jnp::matmul(t, t.T()) + jnp::eye(3), jnp::eye(3) * 2.}); }
Array solve_two(const Array& t, const Array& right) {
    const Array systems = two_systems(t);
    return jsp::linalg::solve(systems, right, {.assume_a = "pos"});
}
void scipy() {
    PAIR("jsp.special.gammaln(v)", jsp::special::gammaln(v));
    PAIR("jsp.special.logit(nn.sigmoid(x))", jsp::special::logit(nn::sigmoid(x)));
    PAIR("jax.grad(lambda v: jsp.special.logit(v * .2).sum())(v)", jax::grad([](Array t) { return jsp::special::logit(t * .2).sum(); })(v));
    PAIR("jsp.special.xlogy(x, y)", jsp::special::xlogy(x, y));
    PAIR("jsp.special.xlog1py(n, v)", jsp::special::xlog1py(n, v));
    PAIR("jax.grad(lambda v: jsp.special.xlogy(v, v).sum())(v)", jax::grad([](Array t) { return jsp::special::xlogy(t, t).sum(); })(v));
    PAIR("jsp.special.ndtr(x)", jsp::special::ndtr(x));
    PAIR("jsp.special.expit(n)", jsp::special::expit(n));
    PAIR("jsp.stats.norm.logpdf(x)", jsp::stats::norm::logpdf(x));
    PAIR("jsp.stats.norm.logpdf(x, y, 2.)", jsp::stats::norm::logpdf(x, y, 2.));
    PAIR("jsp.stats.norm.pdf(n, 0., v)", jsp::stats::norm::pdf(n, 0., v));
    PAIR("jsp.stats.norm.cdf(x)", jsp::stats::norm::cdf(x));
    PAIR("jsp.linalg.solve(x @ x.T + jnp.eye(3), x, assume_a='pos')",
         jsp::linalg::solve(jnp::matmul(x, x.T()) + jnp::eye(3), x, {.assume_a = "pos"}));
    PAIR("jsp.linalg.solve(x @ x.T + jnp.eye(3), i, assume_a='pos', lower=True)",
         jsp::linalg::solve(jnp::matmul(x, x.T()) + jnp::eye(3), i, {.assume_a = "pos", .lower = true}));
    PAIR("(lambda r: jsp.linalg.solve(jnp.stack([x @ x.T + jnp.eye(3), jnp.eye(3) * 2.]), r, assume_a='pos'))(y[:2, :3])",
         solve_two(x, y[{slice(2), slice(3)}]));
    PAIR("(lambda r: jsp.linalg.solve(jnp.stack([x @ x.T + jnp.eye(3), jnp.eye(3) * 2.]), r, assume_a='pos'))(jnp.stack([x, y]))",
         solve_two(x, jnp::stack({x, y})));
    PAIR("(lambda r: jsp.linalg.solve((x @ x.T + jnp.eye(3))[None], r, assume_a='pos'))(y[:2, :3])", [&] {
        const Array r = y[{slice(2), slice(3)}], m = jnp::matmul(x, x.T()) + jnp::eye(3);
        return jsp::linalg::solve(m[{none}], r, {.assume_a = "pos"});
    }());
    PAIR(
        "jax.grad(lambda t: (lambda r: jsp.linalg.solve(jnp.stack([t @ t.T + jnp.eye(3), jnp.eye(3) * 2.]), r, "
        "assume_a='pos'))(y[:2, :3]).sum())(x)",
        jax::grad([&](Array t) {
            return solve_two(t, y[{slice(2), slice(3)}]).sum();
        })(x));
    PAIR("(lambda r: jnp.linalg.solve(jnp.stack([x @ x.T + jnp.eye(3), jnp.eye(3) * 2.]), r))(x[None])", [&] {
        const Array r = x[{none}];
        return jnp::linalg::solve(two_systems(x), r);
    }());
    PAIR("jsp.linalg.solve(x @ x.T + jnp.eye(3), i)", jsp::linalg::solve(jnp::matmul(x, x.T()) + jnp::eye(3), i));
    PAIR("jax.grad(lambda t: jsp.linalg.solve(t @ t.T + jnp.eye(3), i, assume_a='pos').sum())(x)",
         jax::grad([&](Array t) { return jsp::linalg::solve(jnp::matmul(t, t.T()) + jnp::eye(3), i, {.assume_a = "pos"}).sum(); })(x));
    PAIR("jsp.linalg.cho_solve(jsp.linalg.cho_factor(x @ x.T + jnp.eye(3), lower=True), x)",
         jsp::linalg::cho_solve(jsp::linalg::cho_factor(jnp::matmul(x, x.T()) + jnp::eye(3), true), x));
    PAIR("(lambda f: jsp.linalg.cho_solve(f, v[:3]))(jsp.linalg.cho_factor(x @ x.T + jnp.eye(3)))", [&](jsp::linalg::Factor f) {
        return jsp::linalg::cho_solve(f, v[slice(3)]);
    }(jsp::linalg::cho_factor(jnp::matmul(x, x.T()) + jnp::eye(3))));
    PAIR("jsp.linalg.solve_triangular(x[:, :3] + 2., v[:3], lower=True)",
         jsp::linalg::solve_triangular(x[{all, slice(3)}] + 2., v[slice(3)], {.lower = true}));
    PAIR("jsp.linalg.cholesky(jnp.eye(3) * 4., lower=True)", jsp::linalg::cholesky(jnp::eye(3) * 4., true));
}

/// Numbers of sixteen bits: sums are made in 32.
void half() {
    PAIR("jnp.sum(x.astype(jnp.bfloat16))", jnp::sum(x.astype(jnp::bfloat16)));
    PAIR("jnp.mean(x.astype(jnp.float16), axis=1)", jnp::mean(x.astype(jnp::float16), 1));
    PAIR("jnp.var(x.astype(jnp.bfloat16))", jnp::var(x.astype(jnp::bfloat16)));
    PAIR("nn.softmax(x.astype(jnp.bfloat16))", nn::softmax(x.astype(jnp::bfloat16)));
    PAIR("nn.log_softmax(x.astype(jnp.bfloat16))", nn::log_softmax(x.astype(jnp::bfloat16)));
    PAIR("nn.logsumexp(x.astype(jnp.bfloat16), axis=-1)", nn::logsumexp(x.astype(jnp::bfloat16), {.axis = -1}));
    PAIR("nn.gelu(x.astype(jnp.bfloat16))", nn::gelu(x.astype(jnp::bfloat16)));
    PAIR("jnp.prod(v.astype(jnp.float16))", jnp::prod(v.astype(jnp::float16)));
    PAIR("jnp.linalg.norm(v.astype(jnp.bfloat16))", jnp::linalg::norm(v.astype(jnp::bfloat16)));
    PAIR("jnp.cumsum(v.astype(jnp.bfloat16))", jnp::cumsum(v.astype(jnp::bfloat16)));
    PAIR("jnp.matmul(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16))", jnp::matmul(x.astype(jnp::bfloat16), w.astype(jnp::bfloat16)));
    PAIR("jnp.einsum('ij,jk->ik', x.astype(jnp.bfloat16), w)", jnp::einsum("ij,jk->ik", x.astype(jnp::bfloat16), w));
    PAIR("x.astype(jnp.bfloat16) * 2.5 + jnp.float32(1)", x.astype(jnp::bfloat16) * 2.5 + jnp::asarray(1., jnp::float32));
    PAIR("jnp.where(x > 0, x.astype(jnp.bfloat16), 0.)", jnp::where(x > 0, x.astype(jnp::bfloat16), 0.));
    PAIR("jax.grad(lambda v: jnp.mean(v.astype(jnp.bfloat16) ** 2).astype(jnp.float32))(v)",
         jax::grad([](Array t) { return jnp::mean(jnp::power(t.astype(jnp::bfloat16), 2)).astype(jnp::float32); })(v));
}

}  // namespace

void composed_functions() {
    tensors();
    curves();
    statistics();
    windows();
    attention();
    scipy();
    half();
}

}  // namespace pairs
