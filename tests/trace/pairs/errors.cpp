// What JAX refuses: its sentence, and the line of the call here.
#include <cmath>
#include <optional>

#include "base/error.h"
#include "pairs.h"

namespace pairs {

namespace {

template <class F>
void refused(const char* python, int line, F f) {
    const In in = inputs();
    std::printf("== %s\n", python);
    try {
        f(in.x, in.y, in.v, in.w, in.i, in.b, in.k, in.n);
        std::printf("?? nothing was refused\n");
    } catch (const jaxscope::Error& e) {
        const bool here = e.loc.file.find("errors.cpp") != std::string::npos && e.loc.line == line;
        std::printf("%s%s\n", here ? "" : "?? stands elsewhere: ", e.fact());
    }
}

#define REFUSED(python, ...)                                                                                           \
    refused(python, __LINE__,                                                                                          \
            []([[maybe_unused]] Array x, [[maybe_unused]] Array y, [[maybe_unused]] Array v, [[maybe_unused]] Array w, \
               [[maybe_unused]] Array i, [[maybe_unused]] Array b, [[maybe_unused]] Array k,                           \
               [[maybe_unused]] Array n) { return __VA_ARGS__; })

namespace jr = jax::random;

void masks_that_nothing_would_look_at() {
    REFUSED("jnp.median(x, where=b)", jnp::median(x, {.where = b}));
    REFUSED("jnp.quantile(x, 0.5, where=b)", jnp::quantile(x, 0.5, {.where = b}));
    REFUSED("jnp.percentile(x, 50., where=b)", jnp::percentile(x, 50., {.where = b}));
    REFUSED("jnp.linalg.norm(x, where=b)", jnp::linalg::norm(x, {.where = b}));
    REFUSED("jnp.linalg.norm(x, 2, where=b)", jnp::linalg::norm(x, 2, {.where = b}));
}

void types_that_lax_keeps_apart() {
    REFUSED("lax.add(x.astype(jnp.bfloat16), 2.)", lax::add(x.astype(jnp::bfloat16), 2.));
    REFUSED("lax.mul(x, 2)", lax::mul(x, 2));
    REFUSED("lax.eq(n, 2.)", lax::eq(n, 2.));
    REFUSED("lax.rem(x, n.astype(jnp.float16))", lax::rem(x, n.astype(jnp::float16)));
    REFUSED("lax.bitwise_and(n, n.astype(jnp.int8))", lax::bitwise_and(n, n.astype(jnp::int8)));
    REFUSED("lax.max(x, v)", lax::max(x, v));
    REFUSED("lax.clamp(0, x, 1)", lax::clamp(0, x, 1));
    REFUSED("lax.pad(v, 0, [(1, 1, 0)])", lax::pad(v, 0, {{1, 1, 0}}));
    REFUSED("lax.concatenate([v, n], 0)", lax::concatenate({v, n}, 0));
    REFUSED("lax.select(v > 0, v, n)", lax::select(v > 0, v, n));
    REFUSED("lax.dynamic_update_slice(v, n[:2], (0,))", lax::dynamic_update_slice(v, n[{slice(2)}], {0}));
    REFUSED("lax.reciprocal(n)", lax::reciprocal(n));
    REFUSED("jnp.hypot(lax.complex(x, y), x)", jnp::hypot(lax::complex(x, y), x));
    REFUSED("jnp.floor_divide(lax.complex(x, y), x)", jnp::floor_divide(lax::complex(x, y), x));
    REFUSED("jnp.signbit(lax.complex(x, y))", jnp::signbit(lax::complex(x, y)));
    REFUSED("jnp.sum(x, initial=v)", jnp::sum(x, {.initial = v}));
    REFUSED("jnp.max(x[:, :0], axis=1)", jnp::max(x[{all, slice(0)}], 1));
    REFUSED("jnp.mean(x, where=x)", jnp::mean(x, {.where = x}));
    REFUSED("jnp.moveaxis(x, (0, 1), 0)", jnp::moveaxis(x, {0, 1}, 0));
    REFUSED("jnp.diff(x, -1)", jnp::diff(x, -1));
    REFUSED("jnp.rot90(v)", jnp::rot90(v));
    REFUSED("jnp.bincount(x, length=3)", jnp::bincount(x, {.length = 3}));
    REFUSED("jnp.bincount(v, length=3)", jnp::bincount(v, {.length = 3}));
    REFUSED("jnp.gradient(x[:1], axis=0)", jnp::gradient(x[{slice(1)}], {}, 0));
    REFUSED("jnp.vecdot(x, n[:1])", jnp::vecdot(x, n[{slice(1)}]));
    REFUSED("jnp.vander(x)", jnp::vander(x));
}
void keys_as_numbers() {
    REFUSED("k + 1", k + 1);
    REFUSED("1 + k", 1 + k);
    REFUSED("k + k", k + k);
    REFUSED("k * 2.", k * 2.);
    REFUSED("-k", -k);
    REFUSED("k < k", k < k);
    REFUSED("jnp.equal(k, 1)", jnp::equal(k, 1));
    REFUSED("jnp.add(k, 1)", jnp::add(k, 1));
    REFUSED("lax.add(k, k)", lax::add(k, k));
    REFUSED("jr.split(k, 3) + 1", jr::split(k, 3) + 1);
    REFUSED("k / 2", k / 2);
    REFUSED("k % 2", k % 2);
    REFUSED("k & 1", k & 1);
    REFUSED("~k", ~k);
    REFUSED("jnp.maximum(k, 1)", jnp::maximum(k, 1));
    REFUSED("jnp.abs(k)", jnp::abs(k));
    REFUSED("lax.sin(k)", lax::sin(k));
    REFUSED("jnp.minimum(k, k)", jnp::minimum(k, k));
    REFUSED("nn.relu(k)", nn::relu(k));
    REFUSED("jnp.multiply(x, jr.split(k, 3))", jnp::multiply(x, jr::split(k, 3)));
    REFUSED("k + x", k + x);
    REFUSED("lax.mul(k, 1)", lax::mul(k, 1));
    REFUSED("jnp.floor_divide(k, 2)", jnp::floor_divide(k, 2));
    REFUSED("jnp.clip(k, 0, 1)", jnp::clip(k, 0, 1));
    REFUSED("lax.sin(n)", lax::sin(n));
    REFUSED("lax.neg(b)", lax::neg(b));
    REFUSED("jnp.subtract(b, b)", jnp::subtract(b, b));
    REFUSED("jnp.bitwise_and(x, x)", jnp::bitwise_and(x, x));
    REFUSED("~x", ~x);
}

void products() {
    REFUSED("x @ y", jnp::matmul(x, y));
    REFUSED("jnp.matmul(x, 2.)", jnp::matmul(x, 2.));
    REFUSED("jnp.matmul(2., x)", jnp::matmul(2., x));
    REFUSED("jnp.matmul(x[None], y)", jnp::matmul(x[none], y));
    REFUSED("jnp.matmul(w.reshape(2, 2, 5), w.reshape(4, 5, 1))", jnp::matmul(w.reshape({2, 2, 5}), w.reshape({4, 5, 1})));
    REFUSED("jnp.dot(v, x)", jnp::dot(v, x));
    REFUSED("jnp.vdot(x, v)", jnp::vdot(x, v));
    REFUSED("jnp.inner(x, w)", jnp::inner(x, w));
    REFUSED("lax.dot(x, y)", lax::dot(x, y));
    REFUSED("lax.batch_matmul(x, v)", lax::batch_matmul(x, v));
    REFUSED("lax.dot_general(x, y, (((1, 0), (0,)), ((), ())))", lax::dot_general(x, y, {.lhs_contracting = {1, 0}, .rhs_contracting = 0}));
    REFUSED("lax.dot_general(x, y, (((5,), (0,)), ((), ())))", lax::dot_general(x, y, {.lhs_contracting = 5, .rhs_contracting = 0}));
    REFUSED("lax.dot_general(x, w, (((), ()), ((0,), (0,))))", lax::dot_general(x, w, {.lhs_batch = 0, .rhs_batch = 0}));
    REFUSED("jnp.einsum('ij,jk->ik', x, y)", jnp::einsum("ij,jk->ik", x, y));
    REFUSED("jnp.einsum('ij,jk->ik', x)", jnp::einsum("ij,jk->ik", x));
    REFUSED("jnp.einsum('ij,jk,kl->il', x, w, w)", jnp::einsum("ij,jk,kl->il", x, w, w));
    REFUSED("jnp.einsum('ij,jk->ik', x, w, w)", jnp::einsum("ij,jk->ik", x, w, w));
    REFUSED("jnp.einsum('ij->ij', x, y)", jnp::einsum("ij->ij", x, y));
    REFUSED("jnp.einsum('ijk->i', x)", jnp::einsum("ijk->i", x));
    REFUSED("jnp.einsum('ij->il', x)", jnp::einsum("ij->il", x));
    REFUSED("jnp.einsum('ij->ii', x)", jnp::einsum("ij->ii", x));
    REFUSED("jnp.einsum('ij,ij->i', x, v)", jnp::einsum("ij,ij->i", x, v));
    REFUSED("jnp.einsum('ii->i', x)", jnp::einsum("ii->i", x));
}

void joined() {
    REFUSED("jnp.concatenate([])", jnp::concatenate({}));
    REFUSED("jnp.concatenate([x, w])", jnp::concatenate({x, w}));
    REFUSED("jnp.concatenate([x, v])", jnp::concatenate({x, v}));
    REFUSED("jnp.concatenate([x, y], axis=2)", jnp::concatenate({x, y}, 2));
    REFUSED("jnp.concatenate([x, y], axis=-3)", jnp::concatenate({x, y}, -3));
    REFUSED("jnp.concatenate([v[0], v[1]])", jnp::concatenate({v[0], v[1]}));
    REFUSED("lax.concatenate([x, w], 0)", lax::concatenate({x, w}, 0));
    REFUSED("lax.concatenate([x, n.reshape(1, 4)], 0)", lax::concatenate({x, n.reshape({1, 4})}, 0));
    REFUSED("lax.concatenate([x, y], 2)", lax::concatenate({x, y}, 2));
    REFUSED("lax.concatenate([], 0)", lax::concatenate({}, 0));
    REFUSED("jnp.stack([])", jnp::stack({}));
    REFUSED("jnp.stack([x, w])", jnp::stack({x, w}));
    REFUSED("jnp.stack([x, v])", jnp::stack({x, v}));
    REFUSED("jnp.stack([x, y], axis=3)", jnp::stack({x, y}, 3));
    REFUSED("jnp.stack([x, y], axis=-4)", jnp::stack({x, y}, -4));
    REFUSED("jnp.vstack([])", jnp::vstack({}));
    REFUSED("jnp.vstack([x, w])", jnp::vstack({x, w}));
    REFUSED("jnp.hstack([x, w])", jnp::hstack({x, w}));
    REFUSED("jnp.hstack([v, x])", jnp::hstack({v, x}));
    REFUSED("jnp.split(x, 2)", jnp::split(x, 2));
    REFUSED("jnp.split(x, [1, 2, 5])", jnp::split(x, {1, 2, 5}));
    REFUSED("jnp.split(x, [-1])", jnp::split(x, {-1}));
    REFUSED("jnp.quantile(x, 0.3, axis=(0, 0))", jnp::quantile(x, 0.3, {.axis = {0, 0}}));
    REFUSED("jnp.quantile(x, 0.3, axis=(0, 3))", jnp::quantile(x, 0.3, {.axis = {0, 3}}));
    REFUSED("x[None, None, None, True]", x[{none, none, none, true}]);
    REFUSED("x[True, 0, 0, 0]", x[{true, 0, 0, 0}]);
    REFUSED("jnp.quantile(x, y)", jnp::quantile(x, y));
    REFUSED("jnp.median(x + 1j)", jnp::median(lax::complex(x, y)));
    REFUSED("jnp.split(x, 5, axis=1)", jnp::split(x, 5, 1));
}

void shaped() {
    REFUSED("jnp.transpose(x, (0, 0))", jnp::transpose(x, {0, 0}));
    REFUSED("jnp.transpose(x, (0,))", jnp::transpose(x, 0));
    REFUSED("jnp.transpose(x, (0, 2))", jnp::transpose(x, {0, 2}));
    REFUSED("lax.transpose(x, (0, 2))", lax::transpose(x, {0, 2}));
    REFUSED("lax.transpose(x, (-1, 0))", lax::transpose(x, {-1, 0}));
    REFUSED("jnp.moveaxis(x, 0, 2)", jnp::moveaxis(x, 0, 2));
    REFUSED("jnp.broadcast_to(x, (2, 4))", jnp::broadcast_to(x, {2, 4}));
    REFUSED("jnp.broadcast_to(x, (4,))", jnp::broadcast_to(x, 4));
    REFUSED("jnp.broadcast_to(x, (2, 3, 5))", jnp::broadcast_to(x, {2, 3, 5}));
    REFUSED("jnp.broadcast_to(x, (-1, 4))", jnp::broadcast_to(x, {-1, 4}));
    REFUSED("jnp.zeros((-1,))", jnp::zeros(-1));
    REFUSED("lax.broadcast_in_dim(x, (3, 4), (0,))", lax::broadcast_in_dim(x, {3, 4}, 0));
    REFUSED("lax.broadcast_in_dim(x, (3, 5), (0, 1))", lax::broadcast_in_dim(x, {3, 5}, {0, 1}));
    REFUSED("lax.broadcast_in_dim(x, (3, 4), (0, 2))", lax::broadcast_in_dim(x, {3, 4}, {0, 2}));
    REFUSED("lax.broadcast_in_dim(x, (3,), (0, 1))", lax::broadcast_in_dim(x, 3, {0, 1}));
    REFUSED("lax.broadcast(x, (-1,))", lax::broadcast(x, -1));
    REFUSED("jnp.squeeze(x, 0)", jnp::squeeze(x, 0));
    REFUSED("jnp.squeeze(x, 2)", jnp::squeeze(x, 2));
    REFUSED("jnp.squeeze(x, -3)", jnp::squeeze(x, -3));
    REFUSED("jnp.squeeze(x[None], (0, 0))", jnp::squeeze(x[none], {0, 0}));
    REFUSED("jnp.squeeze(x[None], (0, 1))", jnp::squeeze(x[none], {0, 1}));
    REFUSED("lax.squeeze(x, (2,))", lax::squeeze(x, 2));
    REFUSED("jnp.reshape(x, (5, 2))", jnp::reshape(x, {5, 2}));
    REFUSED("jnp.reshape(x, (-1, 5))", jnp::reshape(x, {-1, 5}));
    REFUSED("jnp.reshape(x, (-1, -1))", jnp::reshape(x, {-1, -1}));
    REFUSED("lax.reshape(x, (-1, 4))", lax::reshape(x, {-1, 4}));
    REFUSED("jnp.expand_dims(x, 4)", jnp::expand_dims(x, 4));
    REFUSED("jnp.expand_dims(x, (0, 0))", jnp::expand_dims(x, {0, 0}));
    REFUSED("jnp.tril(v)", jnp::tril(v));
    REFUSED("jnp.triu(v)", jnp::triu(v));
    REFUSED("jnp.repeat(x, 2, axis=2)", jnp::repeat(x, 2, 2));
    REFUSED("jnp.repeat(x, -1, axis=0)", jnp::repeat(x, -1, 0));
    REFUSED("jnp.pad(x, -1)", jnp::pad(x, -1));
    REFUSED("jnp.eye(-1)", jnp::eye(-1));
    REFUSED("jnp.linspace(0., 1., -1)", jnp::linspace(0., 1., -1));
    REFUSED("jnp.diagonal(v)", jnp::diagonal(v));
    REFUSED("jnp.sum(x, axis=2)", jnp::sum(x, 2));
    REFUSED("jnp.sum(x, axis=(0, 0))", jnp::sum(x, {.axis = {0, 0}}));
    REFUSED("lax.reduce_sum(x, (2,))", lax::reduce_sum(x, 2));
    REFUSED("jnp.sort(x, axis=2)", jnp::sort(x, 2));
    REFUSED("lax.fori_loop(0., 3, lambda i, a: a, v)", lax::fori_loop(
                                                           0., 3, [](Array, Array a) { return a; }, v));
    REFUSED("lax.fori_loop(0., float('inf'), lambda i, a: a, v)", lax::fori_loop(
                                                                      0., INFINITY, [](Array, Array a) { return a; }, v));
    REFUSED("lax.fori_loop(float('nan'), 1., lambda i, a: a, v)", lax::fori_loop(
                                                                      NAN, 1., [](Array, Array a) { return a; }, v));
    REFUSED("lax.fori_loop(0., jnp.bfloat16(3), lambda i, a: a, v)",
            lax::fori_loop(
                0., jnp::asarray(3, jnp::bfloat16), [](Array, Array a) { return a; }, v));
    REFUSED("lax.fori_loop(jnp.int8(0), jnp.int16(3), lambda i, a: a, v)",
            lax::fori_loop(
                jnp::asarray(0, jnp::int8), jnp::asarray(3, jnp::int16), [](Array, Array a) { return a; }, v));
    REFUSED("lax.fori_loop(False, 3, lambda i, a: a, v)", lax::fori_loop(
                                                              false, jax::Operand(3), [](Array, Array a) { return a; }, v));
    REFUSED("jnp.nanvar(lax.complex(v, v), dtype=jnp.float32)", jnp::nanvar(lax::complex(v, v), {.dtype = jnp::float32}));
    REFUSED("jax.default_matmul_precision('bfloat16_3x')", jax::default_matmul_precision("bfloat16_3x"));
    REFUSED("jnp.take(x, i, axis=2)", jnp::take(x, i, 2));
    REFUSED("jnp.take(x, 1.5)", jnp::take(x, 1.5));
    REFUSED("x + w", x + w);
    REFUSED("jnp.where(x > 0, x, w)", jnp::where(x > 0, x, w));
}

void indexed() {
    REFUSED("lax.dynamic_slice(x, (0,), (2, 2))", lax::dynamic_slice(x, {0}, {2, 2}));
    REFUSED("lax.dynamic_slice(x, (0, 0), (4, 2))", lax::dynamic_slice(x, {0, 0}, {4, 2}));
    REFUSED("lax.dynamic_slice(x, (0., 0), (2, 2))", lax::dynamic_slice(x, {0., 0}, {2, 2}));
    REFUSED("lax.dynamic_slice(x, (0, v), (2, 2))", lax::dynamic_slice(x, {0, v}, {2, 2}));
    REFUSED("lax.dynamic_slice(x, (0, 0), (-1, 2))", lax::dynamic_slice(x, {0, 0}, {-1, 2}));
    REFUSED("lax.dynamic_slice(x, (i[0], n[0].astype('uint8')), (2, 2))", lax::dynamic_slice(x, {i[0], n[0].astype(jnp::uint8)}, {2, 2}));
    REFUSED("lax.dynamic_update_slice(x, w, (0, 0))", lax::dynamic_update_slice(x, w, {0, 0}));
    REFUSED("lax.dynamic_update_slice(x, v, (0, 0))", lax::dynamic_update_slice(x, v, {0, 0}));
    REFUSED("lax.dynamic_update_slice(x, x[:2], (0,))", lax::dynamic_update_slice(x, x[slice(2)], {0}));
    REFUSED("lax.dynamic_update_slice(x, x[:2], (0., 0))", lax::dynamic_update_slice(x, x[slice(2)], {0., 0}));
    REFUSED("lax.dynamic_update_slice(x, n.reshape(1, 4), (0, 0))", lax::dynamic_update_slice(x, n.reshape({1, 4}), {0, 0}));
    REFUSED("x[0, 0, 0]", x[{0, 0, 0}]);
    REFUSED("x[..., 0, ...]", x[{ellipsis, 0, ellipsis}]);
    REFUSED("x[::0]", x[slice(none, none, 0)]);
    REFUSED("x[v]", x[v]);
    REFUSED("x[b[:2]]", x[b[slice(2)]]);
    REFUSED("jax.jit(lambda c: x[c])(b)", jax::jit([&](Array c) { return x[c]; })(b));
    REFUSED("x.at[0, 0, 0].set(1.)", x.at({0, 0, 0}).set(1.));
    REFUSED("x.at[0].set(jnp.ones(3))", x.at({0}).set(jnp::ones(3)));
    REFUSED("x.at[0].set(x)", x.at({0}).set(x));
    REFUSED("x.at[i].set(w)", x.at({i}).set(w));
    REFUSED("x.at[:, 0].add(v)", x.at({all, 0}).add(v));
    REFUSED("x.at[..., ...].set(0.)", x.at({ellipsis, ellipsis}).set(0.));
    REFUSED("x.at[::0].set(0.)", x.at({slice(none, none, 0)}).set(0.));
    REFUSED("x.at[v].set(0.)", x.at({v}).set(0.));
    REFUSED("x[i, jnp.arange(2)]", x[{i, jnp::arange(2)}]);
}

void keys() {
    REFUSED("jr.split(v)", jr::split(v));
    REFUSED("jr.normal(i)", jr::normal(i));
    REFUSED("jr.normal(v[:2])", jr::normal(v[slice(2)]));
    REFUSED("jr.uniform(v[0], (3,))", jr::uniform(v[0], 3));
    REFUSED("jr.fold_in(v, 1)", jr::fold_in(v, 1));
    REFUSED("jr.fold_in(k, v)", jr::fold_in(k, v));
    REFUSED("jr.key(v)", jr::key(v));
    REFUSED("jr.split(jr.split(k))", jr::split(jr::split(k)));
    REFUSED("jr.normal(jr.split(k))", jr::normal(jr::split(k)));
    REFUSED("jr.uniform(jr.split(k), (3,))", jr::uniform(jr::split(k), 3));
    REFUSED("jr.bits(jr.split(k), (3,))", jr::bits(jr::split(k), 3));
    REFUSED("jr.key_data(v)", jr::key_data(v));
    REFUSED("jr.categorical(v, x)", jr::categorical(v, x));
    REFUSED("jr.permutation(v, 5)", jr::permutation(v, 5));
    REFUSED("jr.bernoulli(v)", jr::bernoulli(v, .5));
    REFUSED("jr.randint(v, (3,), 0, 5)", jr::randint(v, 3, 0, 5));
    REFUSED("jr.gamma(v, 1.)", jr::gamma(v, 1.));
    REFUSED("jr.poisson(v, 1.)", jr::poisson(v, 1.));
    REFUSED("jr.laplace(v)", jr::laplace(v));
    REFUSED("jr.normal(jr.split(jr.key_data(k)))", jr::normal(jr::split(jr::key_data(k))));
    REFUSED("jr.laplace(jr.split(k))", jr::laplace(jr::split(k)));
}

void collectives() {
#define UNDER(python, ...)                                      \
    REFUSED("jax.vmap(lambda a: " python ", axis_name='i')(x)", \
            jax::vmap([&]([[maybe_unused]] Array a) { return __VA_ARGS__; }, {.axis_name = "i"})(x))
    UNDER("lax.all_to_all(a, 'i', 0, 0)", lax::all_to_all(a, "i", 0, 0));
    UNDER("lax.all_to_all(a, 'i', 0, 0, tiled=True)", lax::all_to_all(a, "i", 0, 0, {.tiled = true}));
    UNDER("lax.ppermute(a, 'i', [(0, 1), (1, 0)])", lax::ppermute(a, "i", {{0, 1}, {1, 0}}));
#undef UNDER
    REFUSED("jnp.trace(v)", jnp::trace(v));
}

Array twice(const Array& m) { return jnp::stack({m, m}); }
void composed() {
    REFUSED("jnp.tensordot(x, v, 2)", jnp::tensordot(x, v, 2));
    REFUSED("jnp.tensordot(x, w, 2)", jnp::tensordot(x, w, 2));
    REFUSED("jnp.interp(x, v, i)", jnp::interp(x, v, i));
    REFUSED("jnp.convolve(x, v)", jnp::convolve(x, v));
    REFUSED("jnp.convolve(v, v, mode='whole')", jnp::convolve(v, v, "whole"));
    REFUSED("jnp.cross(x, y)", jnp::cross(x, y));
    REFUSED("jnp.meshgrid(v, x)", jnp::meshgrid({v, x}));
    REFUSED("jnp.average(x, weights=v)", jnp::average(x, {.weights = v}));
    REFUSED("jnp.average(x, axis=0, weights=v)", jnp::average(x, {.axis = 0, .weights = v}));
    REFUSED("jnp.max(x, where=b)", jnp::max(x, {.where = b}));
    REFUSED("jnp.sum(x, where=n)", jnp::sum(x, {.where = n}));
    REFUSED("jnp.eye(-1, 2)", jnp::eye(-1, 2));
    REFUSED("jnp.select([b], [])", jnp::select({b}, {}));
    REFUSED("jnp.diag(x[None])", jnp::diag(x[none]));
    REFUSED("jnp.trace(x, axis1=1, axis2=1)", jnp::trace(x, {.axis1 = 1, .axis2 = 1}));
    REFUSED("lax.while_loop(lambda c: c, lambda c: c, v[0])", lax::while_loop([](Array c) { return c; }, [](Array c) { return c; }, v[0]));
    REFUSED("jnp.matmul(x, w, precision='bogus')", jnp::matmul(x, w, {.precision = "bogus"}));
    REFUSED("(lambda q: nn.dot_product_attention(q, q.astype('bfloat16'), q))(w.reshape(1, 5, 2, 2))", [&] {
        const Array q = w.reshape({1, 5, 2, 2}), halves = q.astype(jnp::bfloat16);
        return nn::dot_product_attention(q, halves, q);
    }());
    REFUSED("(lambda q: nn.dot_product_attention(q, q, q, query_seq_lengths=i))(w.reshape(1, 5, 2, 2))", [&] {
        const Array q = w.reshape({1, 5, 2, 2});
        return nn::dot_product_attention(q, q, q, {.query_seq_lengths = i});
    }());
    REFUSED("nn.dot_product_attention(x, x, y.T)", nn::dot_product_attention(x, x, y.T()));
    REFUSED("nn.initializers.he_normal()(k, (3,))", nn::initializers::he_normal()(k, 3));
    REFUSED("jsp.linalg.solve(w @ w.T, w, assume_a='positive')",
            jax::scipy::linalg::solve(jnp::matmul(w, w.T()), w, {.assume_a = "positive"}));
    REFUSED("jsp.linalg.solve(jnp.stack([w @ w.T] * 2), v, assume_a='pos')",
            jax::scipy::linalg::solve(twice(jnp::matmul(w, w.T())), v, {.assume_a = "pos"}));
    REFUSED("jsp.linalg.solve(jnp.stack([w @ w.T] * 2), v[None], assume_a='pos')",
            jax::scipy::linalg::solve(twice(jnp::matmul(w, w.T())), v[{none}], {.assume_a = "pos"}));
    REFUSED("jnp.linalg.solve(jnp.stack([w @ w.T] * 2), jnp.stack([v] * 2))", jnp::linalg::solve(twice(jnp::matmul(w, w.T())), twice(v)));
    REFUSED("jnp.linalg.solve(v, v)", jnp::linalg::solve(v, v));
    REFUSED("jnp.linalg.solve(x, v)", jnp::linalg::solve(x, v));
    REFUSED("jnp.linalg.solve(w @ w.T, i)", jnp::linalg::solve(jnp::matmul(w, w.T()), i));
    REFUSED("jnp.array([v, [1., 2.]])", jnp::array({v, {1., 2.}}));
    REFUSED("jnp.array([[v[0]], [v[0], 1.]])", jnp::array({{v[0]}, {v[0], 1.}}));
    REFUSED("jsp.linalg.cholesky(x)", jax::scipy::linalg::cholesky(x));
}

}  // namespace

namespace {
Array same(Array a) { return a; }
void choices_and_carries() {
    REFUSED("lax.switch(1., [lambda a: a, lambda a: a * 2.], x)", lax::switch_(1., std::tuple(&same, &same), x));
    REFUSED("lax.switch(True, [lambda a: a, lambda a: a * 2.], x)", lax::switch_(true, std::tuple(&same, &same), x));
    REFUSED("lax.switch(x[0], [lambda a: a, lambda a: a * 2.], x)", lax::switch_(x[0], std::tuple(&same, &same), x));
    REFUSED("lax.cond(v[:2], lambda a: a, lambda a: a * 2., x)", lax::cond(v[slice(0, 2)], same, same, x));
    REFUSED("lax.cond(v[0].astype(jnp.complex64), lambda a: a, lambda a: a * 2., x)",
            lax::cond(v[0].astype(jnp::complex64), same, same, x));
    REFUSED("lax.scan(lambda c, e: (c.astype(jnp.int32), c), 0., x)",
            lax::scan([](Array c, Array) { return std::pair(c.astype(jnp::int32), c); }, 0., x));
    REFUSED("lax.while_loop(lambda c: c < 3., lambda c: c.astype(jnp.int32), 0.)",
            lax::while_loop([](Array c) { return c < 3.; }, [](Array c) { return c.astype(jnp::int32); }, 0.));
    REFUSED("jax.grad(lambda a, c: (a * c).sum(), argnums=1)(x, c=x)",
            jax::grad<1>([](Array a, Array c) { return (a * c).sum(); })(x, jax::kw("c", x)));
    REFUSED("jax.grad(lambda a, c: (a * c).sum(), argnums=(0, 1))(x, c=x)",
            jax::grad<0, 1>([](Array a, Array c) { return (a * c).sum(); })(x, jax::kw("c", x)));
    REFUSED("jax.vmap(lambda a, c: a, in_axes=(0, 0))(x, c=x)",
            jax::vmap([](Array a, Array) { return a; }, {.in_axes = {0, 0}})(x, jax::kw("c", x)));
    REFUSED("jax.vmap(lambda a, **k: a)(x, c=v)", jax::vmap([](Array a, Array) { return a; }, {.arg_names = {"a"}})(x, jax::kw("c", v)));
    REFUSED("jax.vmap(lambda a: (a, a), out_axes=(0, None))(x)",
            jax::vmap([](Array a) { return std::pair(a, a); }, {.out_axes = {0, jax::none}})(x));
    REFUSED("jax.jvp(lambda a: a, (jnp.arange(3),), (v,))", jax::jvp(same, std::tuple(jnp::arange(3)), std::tuple(v)));
}
/// Lists whose length differs, so that C++ sees it only when it runs.
void other_trees() {
    using Vec = std::vector<Array>;
    REFUSED("lax.scan(lambda c, e: (c + [e], e), [v], x)",
            lax::scan([](Vec c, Array e) { return c.push_back(e), std::pair(c, e); }, Vec{v}, x));
    REFUSED("lax.scan(lambda c, e: (c[:1], e), [v, v], x)",
            lax::scan([](Vec c, Array e) { return std::pair(Vec{c[0]}, e); }, Vec{v, v}, x));
    REFUSED("lax.while_loop(lambda c: c[0].sum() > 0, lambda c: c[:1], [v, v])",
            lax::while_loop([](Vec c) { return c[0].sum() > 0; }, [](Vec c) { return Vec{c[0]}; }, Vec{v, v}));
    REFUSED("lax.cond(True, lambda a: [a, a], lambda a: [a], x)", lax::cond(
                                                                      true,
                                                                      [](Array a) {
                                                                          return Vec{a, a};
                                                                      },
                                                                      [](Array a) { return Vec{a}; }, x));
    REFUSED("lax.cond(True, lambda a: (a, [a, a]), lambda a: (a, [a]), x)", lax::cond(
                                                                                true,
                                                                                [](Array a) {
                                                                                    return std::pair{a, Vec{a, a}};
                                                                                },
                                                                                [](Array a) {
                                                                                    return std::pair{a, Vec{a}};
                                                                                },
                                                                                x));
    REFUSED("lax.cond(True, lambda a: (a, a.sum()), lambda a: (a.sum(), a), x)", lax::cond(
                                                                                     true,
                                                                                     [](Array a) {
                                                                                         return std::pair{a, a.sum()};
                                                                                     },
                                                                                     [](Array a) {
                                                                                         return std::pair{a.sum(), a};
                                                                                     },
                                                                                     x));
    REFUSED("lax.cond(True, lambda a: a, lambda a: a.sum(), x)", lax::cond(
                                                                     true, same, [](Array a) { return a.sum(); }, x));
    REFUSED("lax.switch(1, [lambda a: a, lambda a: a, lambda a: a.astype('int32')], x)",
            lax::switch_(1,
                         std::tuple(
                             &same, &same, +[](Array a) { return a.astype(jnp::int32); }),
                         x));
    REFUSED("lax.scan(lambda c, e: ((c[0].sum(), jnp.concatenate([c[1], c[1]])), e), (v, v), x)",
            lax::scan(
                [](std::pair<Array, Array> c, Array e) {
                    return std::pair{std::pair{c.first.sum(), jnp::concatenate({c.second, c.second})}, e};
                },
                std::pair{v, v}, x));
}
void wholes_and_positions() {
    REFUSED("jnp.gcd(x, 2)", jnp::gcd(x, 2));
    REFUSED("jnp.lcm(x, 2.)", jnp::lcm(x, 2.));
    REFUSED("jnp.correlate(x, v)", jnp::correlate(x, v));
    REFUSED("jnp.polyfit(v, x, 1)", jnp::polyfit(v, x, 1));
    REFUSED("jnp.put_along_axis(x, i, 1., axis=0, inplace=False)", jnp::put_along_axis(x, i, 1., 0));
    REFUSED("jnp.pad(x, -1, mode='edge')", jnp::pad(x, -1, "edge"));
    REFUSED("jr.choice(k, v, (9,), replace=False)", jax::random::choice(k, v, {9}, false));
    REFUSED("jr.choice(k, x, (2,), p=v)", jax::random::choice(k, x, {2}, v));
    REFUSED("jr.randint(k, (3,), n, 20)", jax::random::randint(k, 3, n, 20));
    REFUSED("jnp.linalg.cond(v)", jnp::linalg::cond(v));
    REFUSED("jnp.linalg.lstsq(x, v)", jnp::linalg::lstsq(x, v).x);
    REFUSED("jnp.linalg.multi_dot([x, x[None], v])", jnp::linalg::multi_dot({x, x[{none}], v}));
    REFUSED("jnp.linalg.outer(x, v)", jnp::linalg::outer(x, v));
    REFUSED("jnp.fft.fft(x, -1)", jnp::fft::fft(x, -1));
    REFUSED("jnp.fft.fftn(x, axes=(0, 0))", jnp::fft::fftn(x, {.axes = {0, 0}}));
    REFUSED("jnp.fft.fftn(x, s=(2, 2), axes=(0,))", jnp::fft::fftn(x, {.s = {2, 2}, .axes = {0}}));
    REFUSED("jnp.fft.fft(x, norm='half')", jnp::fft::fft(x, {.norm = "half"}));
    REFUSED("lax.sort((n, v), num_keys=3)", lax::sort({n, v}, -1, 3));
}
void weak_types_and_places_of_none() {
    REFUSED("jax.linearize(lambda a: a * 2., 1.)[1](v)", jax::linearize([](Array a) { return a * 2.; }, 1.).second(v));
    REFUSED("jax.linear_transpose(lambda a: a * 2., 1.)(v)", jax::linear_transpose([](Array a) { return a * 2.; }, 1.)(v));
    REFUSED("jax.jit(lambda s: jax.jit(lambda a, m: a, static_argnums=1)(v, s))(1.)",
            jax::jit([&](Array s) { return jax::jit([](Array a, Array) { return a; }, {.static_argnums = 1})(v, s); })(1.));
    REFUSED("jax.tree.map(lambda a, c: a, (v, None), (v, x))",
            jax::tree_map([](Array a, Array) { return a; }, std::tuple(v, none), std::tuple(v, x)));
    REFUSED("jax.tree.map(lambda a, c: a, [None, v], [v, None])",
            jax::tree_map([](Array a, Array) { return a; }, std::vector<std::optional<Array>>{std::nullopt, v},
                          std::vector<std::optional<Array>>{v, std::nullopt}));
    REFUSED("jax.vmap(lambda a: (a, None), out_axes=(0, (0,)))(x)",
            jax::vmap([](Array a) { return std::pair(a, none); }, {.out_axes = {0, jax::Axis(std::vector<jax::Axis>{0})}})(x));
}
void windows_and_sizes() {
    REFUSED("lax.reduce_window(v, 0., lax.add, (2,), (0,), 'SAME')", lax::reduce_window(v, 0., lax::add, {2}, {0}, "SAME"));
    REFUSED("lax.reduce_window(v, 0., lax.add, (0,), (1,), 'VALID')", lax::reduce_window(v, 0., lax::add, {0}, {1}, "VALID"));
    REFUSED("lax.reduce_window(v, 0., lax.add, (2, 2), (1,), 'SAME')", lax::reduce_window(v, 0., lax::add, {2, 2}, {1}, "SAME"));
    REFUSED("lax.reduce_window(v, 0., lax.add, (2,), (1, 1), 'SAME')", lax::reduce_window(v, 0., lax::add, {2}, {1, 1}, "SAME"));
    REFUSED("lax.conv_general_dilated(x[None, None], x[None, None], (1, 1), 'SAME', rhs_dilation=(0, 1))",
            lax::conv_general_dilated(x[{none, none}], x[{none, none}], {1, 1}, "SAME", {.rhs_dilation = {0, 1}}));
    REFUSED("lax.conv_general_dilated(x[None], x[None, None], (1, 1), 'SAME')",
            lax::conv_general_dilated(x[{none}], x[{none, none}], {1, 1}, "SAME"));
    REFUSED("lax.conv_general_dilated(x[None, None], x[None, None], (1, 1), [(0, 0)])",
            lax::conv_general_dilated(x[{none, none}], x[{none, none}], {1, 1}, {{0, 0}}));
    REFUSED("lax.conv_general_dilated(x[None, None], x[None, None], (1,), 'SAME')",
            lax::conv_general_dilated(x[{none, none}], x[{none, none}], {1}, "SAME"));
    REFUSED("lax.slice_in_dim(x, 0, 5, 1, 1)", lax::slice_in_dim(x, 0, 5, 1, 1));
    REFUSED("lax.slice_in_dim(x, -9, 2, 1, 1)", lax::slice_in_dim(x, -9, 2, 1, 1));
    REFUSED("lax.slice_in_dim(x, 2, 1, 1, 1)", lax::slice_in_dim(x, 2, 1, 1, 1));
    REFUSED("lax.slice(x, (0, 0), (2, 2), (1,))", lax::slice(x, {0, 0}, {2, 2}, {1}));
    REFUSED("lax.cumsum(x, -1)", lax::cumsum(x, -1));
    REFUSED("lax.cumsum(x, 3)", lax::cumsum(x, 3));
    REFUSED("lax.broadcasted_iota(jnp.int32, (2, 3), -1)", lax::broadcasted_iota(jnp::int32, {2, 3}, -1));
    REFUSED("lax.broadcasted_iota(jnp.int32, (2, 3), 2)", lax::broadcasted_iota(jnp::int32, {2, 3}, 2));
    REFUSED("lax.iota(jnp.float32, -1)", lax::iota(jnp::float32, -1));
    REFUSED("lax.argmax(x, 2, jnp.int32)", lax::argmax(x, 2, jnp::int32));
    REFUSED("lax.argmax(x, 1, jnp.float32)", lax::argmax(x, 1, jnp::float32));
    REFUSED("lax.collapse(x, 1, 0)", lax::collapse(x, 1, 0));
    REFUSED("lax.rev(x, (0, 0))", lax::rev(x, {0, 0}));
    REFUSED("lax.rev(x, (2,))", lax::rev(x, {2}));
    REFUSED("lax.pad(x, 0., [(1, 1, 0)])", lax::pad(x, 0., {{1, 1, 0}}));
    REFUSED("lax.pad(x, 0., [(1, 1, -1), (0, 0, 0)])", lax::pad(x, 0., {{1, 1, -1}, {0, 0, 0}}));
    REFUSED("lax.pad(x, v, [(1, 1, 0), (0, 0, 0)])", lax::pad(x, v, {{1, 1, 0}, {0, 0, 0}}));
    REFUSED("lax.pad(x, 0., [(-4, 0, 0), (0, 0, 0)])", lax::pad(x, 0., {{-4, 0, 0}, {0, 0, 0}}));
    REFUSED("lax.clamp(v[:2], v, v)", lax::clamp(v[{slice(2)}], v, v));
    REFUSED("lax.select(v, v, v)", lax::select(v, v, v));
    REFUSED("lax.select(x > 1, x, v)", lax::select(x > 1, x, v));
    REFUSED("lax.select(v > 1, x, x)", lax::select(v > 1, x, x));
    REFUSED("lax.select_n(v > 1, v, v, v)", lax::select_n(v > 1, {v, v, v}));
    REFUSED("jnp.roll(x, (1, 2, 3), (0, 1))", jnp::roll(x, {1, 2, 3}, {0, 1}));
}
void numbers_that_no_type_has() {
    REFUSED("jnp.array([3000000000])", jnp::array({3000000000}));
    REFUSED("jnp.array([[1, 2], [3000000000, 3]])", jnp::array({{1, 2}, {3000000000, 3}}));
    REFUSED("jnp.array([300], jnp.uint8)", jnp::array({300}, jnp::uint8));
    REFUSED("jnp.array([-1], jnp.uint8)", jnp::array({-1}, jnp::uint8));
    REFUSED("jnp.array([-129], jnp.int8)", jnp::array({-129}, jnp::int8));
    REFUSED("jr.fold_in(k, -1)", jr::fold_in(k, -1));
    REFUSED("jr.bernoulli(k, 1)", jr::bernoulli(k, 1));
    REFUSED("jnp.std(v, dtype=jnp.int32)", jnp::std(v, {.dtype = jnp::int32}));
    REFUSED("jnp.argmax(lax.complex(v, v))", jnp::argmax(lax::complex(v, v)));
    REFUSED("lax.argmin(lax.complex(v, v), 0, jnp.int32)", lax::argmin(lax::complex(v, v), 0, jnp::int32));
    REFUSED("nn.standardize(lax.complex(v, v))", nn::standardize(lax::complex(v, v)));
    REFUSED("jnp.clip(lax.complex(v, v), 0, 1)", jnp::clip(lax::complex(v, v), 0, 1));
    REFUSED("jnp.linalg.norm(x[None], 2)", jnp::linalg::norm(x[{none}], 2));
    REFUSED("jr.multivariate_normal(k, v, x)", jr::multivariate_normal(k, v, x));
    REFUSED("jr.multivariate_normal(k, v, v)", jr::multivariate_normal(k, v, v));
}
}  // namespace

void errors() {
    windows_and_sizes();
    numbers_that_no_type_has();
    weak_types_and_places_of_none();
    wholes_and_positions();
    choices_and_carries();
    other_trees();
    masks_that_nothing_would_look_at();
    types_that_lax_keeps_apart();
    keys_as_numbers();
    products();
    joined();
    shaped();
    indexed();
    keys();
    collectives();
    composed();
}

}  // namespace pairs
