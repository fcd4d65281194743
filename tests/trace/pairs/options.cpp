// What functions of jax.numpy and jax.random are given besides arrays: types, first values, masks, orders, several axes.
#include "pairs.h"

namespace jr = jax::random;

namespace pairs {

namespace {

void sums() {
    PAIR("jnp.sum(x, dtype=jnp.bfloat16)", jnp::sum(x, {.dtype = jnp::bfloat16}));
    PAIR("jnp.sum(x.astype(jnp.bfloat16), axis=1, dtype=jnp.float32)",
         jnp::sum(x.astype(jnp::bfloat16), {.axis = 1, .dtype = jnp::float32}));
    PAIR("jnp.sum(n, dtype=float)", jnp::sum(n, {.dtype = jnp::float32}));
    PAIR("jnp.sum(b, dtype=jnp.float32)", jnp::sum(b, {.dtype = jnp::float32}));
    PAIR("jnp.sum(b, dtype=bool)", jnp::sum(b, {.dtype = jnp::bool_}));
    PAIR("jnp.prod(b, axis=0, dtype=bool)", jnp::prod(b, {.axis = 0, .dtype = jnp::bool_}));
    PAIR("jnp.sum(n.astype(jnp.int8))", jnp::sum(n.astype(jnp::int8)));
    PAIR("jnp.prod(n.astype(jnp.uint8))", jnp::prod(n.astype(jnp::uint8)));
    PAIR("jnp.sum(x, axis=0, keepdims=True, initial=2.)", jnp::sum(x, {.axis = 0, .keepdims = true, .initial = 2.}));
    PAIR("jnp.sum(x, initial=v[0], where=b)", jnp::sum(x, {.initial = v[0], .where = b}));
    PAIR("jnp.prod(x, initial=3)", jnp::prod(x, {.initial = 3}));
    PAIR("jnp.max(x, initial=0.)", jnp::max(x, {.initial = 0.}));
    PAIR("jnp.max(x, axis=1, initial=-jnp.inf, where=b)", jnp::max(x, {.axis = 1, .initial = -jnp::inf, .where = b}));
    PAIR("jnp.min(n, initial=7, where=n > 0)", jnp::min(n, {.initial = 7, .where = n > 0}));
    PAIR("jnp.min(x, keepdims=True, initial=.5)", jnp::min(x, {.keepdims = true, .initial = .5}));
    PAIR("jnp.mean(x, dtype=jnp.bfloat16)", jnp::mean(x, {.dtype = jnp::bfloat16}));
    PAIR("jnp.mean(x.astype(jnp.float16), axis=0, dtype=jnp.float32)",
         jnp::mean(x.astype(jnp::float16), {.axis = 0, .dtype = jnp::float32}));
    PAIR("jnp.mean(n, dtype=jnp.float16)", jnp::mean(n, {.dtype = jnp::float16}));
    PAIR("jnp.mean(b)", jnp::mean(b));
    PAIR("jnp.mean(x.astype(jnp.bfloat16), where=b)", jnp::mean(x.astype(jnp::bfloat16), {.where = b}));
    PAIR("jnp.mean(x, axis=1, where=b)", jnp::mean(x, {.axis = 1, .where = b}));
    PAIR("jnp.var(x, axis=1, where=b)", jnp::var(x, {.axis = 1, .where = b}));
    PAIR("jnp.std(x, where=b, ddof=1)", jnp::std(x, {.ddof = 1, .where = b}));
    PAIR("jnp.var(x, dtype=jnp.float16)", jnp::var(x, {.dtype = jnp::float16}));
    PAIR("jnp.var(x.astype(jnp.bfloat16), axis=0)", jnp::var(x.astype(jnp::bfloat16), {.axis = 0}));
    PAIR("jnp.std(n)", jnp::std(n));
    PAIR("jnp.var(lax.complex(x, y))", jnp::var(lax::complex(x, y)));
    PAIR("jnp.any(x > 1, where=b)", jnp::any(x > 1, {.where = b}));
}
void without_nans() {
    PAIR("jnp.nansum(jnp.log(x), axis=0)", jnp::nansum(jnp::log(x), 0));
    PAIR("jnp.nansum(jnp.log(x), where=b, initial=1.)", jnp::nansum(jnp::log(x), {.initial = 1., .where = b}));
    PAIR("jnp.nanprod(jnp.log(x))", jnp::nanprod(jnp::log(x)));
    PAIR("jnp.nanmax(jnp.log(x), axis=0, initial=-2.)", jnp::nanmax(jnp::log(x), {.axis = 0, .initial = -2.}));
    PAIR("jnp.nanmin(jnp.log(x), axis=1)", jnp::nanmin(jnp::log(x), 1));
    PAIR("jnp.nanmean(jnp.log(x), axis=0)", jnp::nanmean(jnp::log(x), 0));
    PAIR("jnp.nanmean(jnp.log(x), where=b)", jnp::nanmean(jnp::log(x), {.where = b}));
    PAIR("jnp.nanvar(jnp.log(x))", jnp::nanvar(jnp::log(x)));
    PAIR("jnp.nanvar(jnp.log(x), axis=0, ddof=1)", jnp::nanvar(jnp::log(x), {.axis = 0, .ddof = 1}));
    PAIR("jnp.nanstd(jnp.log(x), axis=0)", jnp::nanstd(jnp::log(x), 0));
    PAIR("jnp.nanstd(n)", jnp::nanstd(n));
}
void orders() {
    PAIR("jnp.argmax(x, axis=1, keepdims=True)", jnp::argmax(x, 1, true));
    PAIR("jnp.argmin(x, keepdims=True)", jnp::argmin(x, {}, true));
    PAIR("jnp.count_nonzero(x > 0, axis=0, keepdims=True)", jnp::count_nonzero(x > 0, 0, true));
    PAIR("jnp.cumsum(n, dtype=jnp.float32)", jnp::cumsum(n, {.dtype = jnp::float32}));
    PAIR("jnp.cumsum(b, axis=1)", jnp::cumsum(b, 1));
    PAIR("jnp.cumsum(n.astype(jnp.int8))", jnp::cumsum(n.astype(jnp::int8)));
    PAIR("jnp.cumprod(x, axis=0, dtype=jnp.bfloat16)", jnp::cumprod(x, {.axis = 0, .dtype = jnp::bfloat16}));
    PAIR("jnp.cumsum(n, dtype=bool)", jnp::cumsum(n, {.dtype = jnp::bool_}));
    PAIR("jnp.sort(x, descending=True)", jnp::sort(x, -1, {.descending = true}));
    PAIR("jnp.sort(v, stable=False)", jnp::sort(v, -1, {.stable = false}));
    PAIR("jnp.argsort(x, axis=0, descending=True)", jnp::argsort(x, 0, {.descending = true}));
    PAIR("jnp.argsort(n, stable=False, descending=True)", jnp::argsort(n, -1, {.stable = false, .descending = true}));
    PAIR("jnp.diff(x, 2)", jnp::diff(x, 2));
    PAIR("jnp.diff(x, axis=0)", jnp::diff(x, 1, 0));
    PAIR("jnp.diff(x, 2, 0)", jnp::diff(x, 2, 0));
    PAIR("jnp.diff(b)", jnp::diff(b));
    PAIR("jnp.isclose(x, y, 1e-2)", jnp::isclose(x, y, 1e-2));
    PAIR("jnp.isclose(n, n + 1, 1e-2, 2)", jnp::isclose(n, n + 1, 1e-2, 2));
    PAIR("jnp.isclose(n, 4)", jnp::isclose(n, 4));
    PAIR("jnp.allclose(x, y)", jnp::allclose(x, y));
    PAIR("jnp.allclose(x, y, 1e-2, 1e-3)", jnp::allclose(x, y, 1e-2, 1e-3));
    PAIR("jnp.allclose(x, y, v[0])", jnp::allclose(x, y, v[0]));
    PAIR("jnp.moveaxis(w.reshape(2, 2, 5), (0, 1), (-1, 0))", jnp::moveaxis(w.reshape({2, 2, 5}), {0, 1}, {-1, 0}));
    PAIR("jnp.moveaxis(x, 0, -1)", jnp::moveaxis(x, 0, -1));
    PAIR("jnp.roll(x, (1, 2), (0, 1))", jnp::roll(x, {1, 2}, {0, 1}));
    PAIR("jnp.roll(x, 1, (0, 1))", jnp::roll(x, 1, {0, 1}));
    PAIR("jnp.roll(v, 0)", jnp::roll(v, 0));
    PAIR("jnp.roll(v, 4, 0)", jnp::roll(v, 4, 0));
}
void made_arrays() {
    PAIR("jnp.full((2, 3), 1.5, jnp.bfloat16)", jnp::full({2, 3}, 1.5, jnp::bfloat16));
    PAIR("jnp.full((2, 3), v[0], jnp.int32)", jnp::full({2, 3}, v[0], jnp::int32));
    PAIR("jnp.zeros_like(x, dtype=jnp.int32)", jnp::zeros_like(x, jnp::int32));
    PAIR("jnp.ones_like(n, dtype=bool)", jnp::ones_like(n, jnp::bool_));
    PAIR("jnp.full_like(x, 2, dtype=jnp.int8)", jnp::full_like(x, 2, jnp::int8));
    PAIR("jnp.full_like(x, v[1], dtype=jnp.float16)", jnp::full_like(x, v[1], jnp::float16));
    PAIR("jnp.empty_like(x)", jnp::empty_like(x));
    PAIR("jnp.arange(4, dtype=jnp.float32)", jnp::arange(4, jnp::float32));
    PAIR("jnp.arange(1, 4, dtype=jnp.float32)", jnp::arange(1, 4, jnp::float32));
    PAIR("jnp.arange(0, 7, 2, dtype=jnp.bfloat16)", jnp::arange(0, 7, 2, jnp::bfloat16));
    PAIR("jnp.arange(3, dtype=jnp.uint8)", jnp::arange(3, jnp::uint8));
    PAIR("jnp.arange(5, 0, -2)", jnp::arange(5, 0, -2));
    PAIR("jnp.arange(0.5, 3)", jnp::arange(0.5, 3));
    PAIR("jnp.linspace(0, 1, 5, endpoint=False)", jnp::linspace(0, 1, 5, {.endpoint = false}));
    PAIR("jnp.linspace(0, 1, 5, dtype=jnp.float16)", jnp::linspace(0, 1, 5, {.dtype = jnp::float16}));
    PAIR("jnp.linspace(v[0], v[1], 4)", jnp::linspace(v[0], v[1], 4));
    PAIR("jnp.linspace(-1, v[1], 1)", jnp::linspace(-1, v[1], 1));
    PAIR("jnp.linspace(n[0], 3., 6)", jnp::linspace(n[0], 3., 6));
}
void drawn() {
    PAIR("jr.uniform(k, (3,), jnp.bfloat16)", jr::uniform(k, 3, jnp::bfloat16));
    PAIR("jr.uniform(k, (2, 3), jnp.float16, -1., 2.)", jr::uniform(k, {2, 3}, jnp::float16, -1., 2.));
    PAIR("jr.uniform(k, (3, 4), jnp.float32, x, 4.)", jr::uniform(k, {3, 4}, x, 4.));
    PAIR("jr.uniform(k, (3, 4), jnp.float32, 0., v)", jr::uniform(k, {3, 4}, 0., v));
    PAIR("jr.normal(k, (5,), jnp.bfloat16)", jr::normal(k, 5, jnp::bfloat16));
    PAIR("jr.normal(k, (2, 3), jnp.float16)", jr::normal(k, {2, 3}, jnp::float16));
    PAIR("jr.normal(k, dtype=jnp.bfloat16)", jr::normal(k, {}, jnp::bfloat16));
    PAIR("jr.gumbel(k, (4,), jnp.float16)", jr::gumbel(k, 4, jnp::float16));
    PAIR("jr.exponential(k, (4,), jnp.bfloat16)", jr::exponential(k, 4, jnp::bfloat16));
    PAIR("jr.laplace(k, (4,), jnp.bfloat16)", jr::laplace(k, 4, jnp::bfloat16));
    PAIR("jr.logistic(k, (4,), jnp.bfloat16)", jr::logistic(k, 4, jnp::bfloat16));
    PAIR("jr.cauchy(k, (4,), jnp.float16)", jr::cauchy(k, 4, jnp::float16));
    PAIR("jr.truncated_normal(k, -2., 2., (4,), jnp.bfloat16)", jr::truncated_normal(k, -2., 2., 4, jnp::bfloat16));
    PAIR("jr.bits(k, (4,), jnp.uint8)", jr::bits(k, 4, jnp::uint8));
    PAIR("jr.bits(k, (4,), jnp.uint16)", jr::bits(k, 4, jnp::uint16));
}

void of_other_types() {
    PAIR("jnp.full_like(b, 2)", jnp::full_like(b, 2));
    PAIR("jnp.full_like(b, 2.5)", jnp::full_like(b, 2.5));
    PAIR("jnp.trace(b)", jnp::trace(b));
    PAIR("jnp.trace(x.astype(jnp.bfloat16))", jnp::trace(x.astype(jnp::bfloat16)));
    PAIR("jnp.trace(n.astype(jnp.uint8).reshape(2, 2))", jnp::trace(n.astype(jnp::uint8).reshape({2, 2})));
    PAIR("jnp.quantile(x.astype(jnp.bfloat16), .5)", jnp::quantile(x.astype(jnp::bfloat16), .5));
    PAIR("jnp.median(x.astype(jnp.float16), axis=0)", jnp::median(x.astype(jnp::float16), 0));
    PAIR("jnp.cov(x.astype(jnp.bfloat16))", jnp::cov(x.astype(jnp::bfloat16)));
    PAIR("jnp.average(b)", jnp::average(b));
    PAIR("jnp.any(lax.complex(x, y))", jnp::any(lax::complex(x, y)));
    PAIR("jnp.all(lax.complex(x, y), axis=0)", jnp::all(lax::complex(x, y), 0));
    PAIR("nn.softmax(n)", nn::softmax(n));
    PAIR("nn.log_softmax(n)", nn::log_softmax(n));
    PAIR("nn.softmax(x.astype(jnp.bfloat16), axis=0)", nn::softmax(x.astype(jnp::bfloat16), 0));
    PAIR("jnp.where(n, 1., n)", jnp::where(n, 1., n));
    PAIR("jnp.where(x, 1., x)", jnp::where(x, 1., x));
    PAIR("jnp.round(x.astype(jnp.float16), 1)", jnp::round(x.astype(jnp::float16), 1));
    PAIR("jnp.round(x.astype(jnp.float16), 6)", jnp::round(x.astype(jnp::float16), 6));
    PAIR("jnp.round(lax.complex(x, y), 1)", jnp::round(lax::complex(x, y), 1));
    PAIR("jnp.tile(x, 2)", jnp::tile(x, 2));
    PAIR("jnp.tile(v, (2, 1))", jnp::tile(v, {2, 1}));
}

}  // namespace

void options() {
    of_other_types();
    sums();
    without_nans();
    orders();
    made_arrays();
    drawn();
}

}  // namespace pairs
