// x.at, einsum, fft, more of jax.random, loops with traced bounds, barriers.
#include "pairs.h"

namespace pairs {

void more_functions() {
    PAIR("x.at[1].set(2.)", x.at({1}).set(2.));
    PAIR("x.at[-1].set(v)", x.at({-1}).set(v));
    PAIR("x.at[1].add(v)", x.at({1}).add(v));
    PAIR("x.at[i].set(0.)", x.at({i}).set(0.));
    PAIR("x.at[i].add(y)", x.at({i}).add(y));
    PAIR("x.at[:, i].multiply(2.)", x.at({all, i}).multiply(2.));
    PAIR("x.at[1:3, 2].multiply(2.)", x.at({slice(1, 3), 2}).multiply(2.));
    PAIR("x.at[..., 1].min(0.)", x.at({ellipsis, 1}).min(0.));
    PAIR("x.at[0, 1].max(3)", x.at({0, 1}).max(3));
    PAIR("x.at[1:].subtract(y[1:])", x.at({slice(1, none)}).subtract(y[{slice(1, none)}]));
    PAIR("n.at[2].set(7)", n.at({2}).set(7));
    PAIR("jax.grad(lambda v: (x.at[1].add(v) ** 2).sum())(v)",
         jax::grad([&](Array t) { return jnp::power(x.at({1}).add(t), 2).sum(); })(v));
    PAIR("jnp.einsum('ij,j->i', x, v)", jnp::einsum("ij,j->i", x, v));
    PAIR("jnp.einsum('ij,jk->ik', x, w)", jnp::einsum("ij,jk->ik", x, w));
    PAIR("jnp.einsum('ij,jk->ki', x, w)", jnp::einsum("ij,jk->ki", x, w));
    PAIR("jnp.einsum('ij,ij->i', x, y)", jnp::einsum("ij,ij->i", x, y));
    PAIR("jnp.einsum('ij,ij', x, y)", jnp::einsum("ij,ij", x, y));
    PAIR("jnp.einsum('ij,kj->ik', x, y)", jnp::einsum("ij,kj->ik", x, y));
    PAIR("jnp.einsum('ij,kl->jl', x, y)", jnp::einsum("ij,kl->jl", x, y));
    PAIR("jnp.einsum('i,j->ij', v, v)", jnp::einsum("i,j->ij", v, v));
    PAIR("jnp.einsum('bij,bjk->bik', w.reshape(2, 2, 5), w.reshape(2, 5, 2))",
         jnp::einsum("bij,bjk->bik", w.reshape({2, 2, 5}), w.reshape({2, 5, 2})));
    PAIR("jnp.einsum('ij->ji', x)", jnp::einsum("ij->ji", x));
    PAIR("jnp.einsum('ij->', x)", jnp::einsum("ij->", x));
    PAIR("jnp.einsum('ij->j', x)", jnp::einsum("ij->j", x));
    PAIR("jnp.einsum('ij,j->i', x, n)", jnp::einsum("ij,j->i", x, n));
    PAIR("jnp.fft.fft(v)", jnp::fft::fft(v));
    PAIR("jnp.fft.ifft(x)", jnp::fft::ifft(x));
    PAIR("jnp.fft.rfft(x)", jnp::fft::rfft(x));
    PAIR("jnp.fft.irfft(jnp.fft.rfft(x))", jnp::fft::irfft(jnp::fft::rfft(x)));
    PAIR("jr.permutation(k, 7)", jax::random::permutation(k, 7));
    PAIR("lax.fori_loop(0, n[1], lambda i, a: a * 2. + i, v)", lax::fori_loop(
                                                                   0, n[1], [](Array at, Array a) { return a * 2. + at; }, v));
    PAIR("lax.scan(lambda c, t: ((c[0] * t, c[1]), (t, c[0])), (1., x), v)",
         lax::scan([](std::pair<Array, Array> c, Array t) { return std::pair(std::pair(c.first * t, c.second), std::pair(t, c.first)); },
                   std::pair{Array(1.), x}, v));
    PAIR("lax.while_loop(lambda c: c[0] < c[2], lambda c: (c[0] + 1., c[1], c[2]), (v[0], x, v[3]))",
         lax::while_loop([](std::tuple<Array, Array, Array> c) { return std::get<0>(c) < std::get<2>(c); },
                         [](std::tuple<Array, Array, Array> c) {
                             return std::tuple{std::get<0>(c) + 1., std::get<1>(c), std::get<2>(c)};
                         },
                         std::tuple{v[0], x, v[3]}));
    PAIR("lax.dot_general(n, n, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32)",
         lax::dot_general(n, n, {.lhs_contracting = {0}, .rhs_contracting = {0}}, jnp::float32));
    PAIR("jnp.fft.fft(x, 3)", jnp::fft::fft(x, 3));
    PAIR("jnp.fft.rfft(x, 6)", jnp::fft::rfft(x, 6));
    PAIR("jnp.fft.irfft(jnp.fft.rfft(v), 4)", jnp::fft::irfft(jnp::fft::rfft(v), 4));
    PAIR("jnp.hypot(x, 2)", jnp::hypot(x, 2));
    PAIR("jnp.diag(v)", jnp::diag(v));
    PAIR("jnp.diag(x[:, :3])", jnp::diag(x[{jax::all, slice(3)}]));
    PAIR("jnp.asarray(n, jnp.float32) * jnp.asarray(2.5, jnp.float32)", jnp::asarray(n, jnp::float32) * jnp::asarray(2.5, jnp::float32));
    PAIR("jax.ops.segment_sum(x, i, num_segments=4)", jax::ops::segment_sum(x, i, 4));
    PAIR("jax.ops.segment_max(x, i, num_segments=2)", jax::ops::segment_max(x, i, 2));
    PAIR("jax.ops.segment_min(n, n, num_segments=6)", jax::ops::segment_min(n, n, 6));
    PAIR("jax.ops.segment_prod(n, n * 0, num_segments=2)", jax::ops::segment_prod(n, n * 0, 2));
    PAIR("lax.optimization_barrier((x, v))", lax::optimization_barrier(std::pair{x, v}));
    PAIR("jax.grad(lambda v: lax.optimization_barrier(jnp.sin(v)).sum())(v)",
         jax::grad([](Array t) { return lax::optimization_barrier(jnp::sin(t)).sum(); })(v));
}

}  // namespace pairs
