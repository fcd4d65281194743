// Weakly typed operands, as Python's numbers make them: `n * 1.` of integers. What keeps the weak type, what makes it plain.
#include "pairs.h"

namespace pairs {

void weak_types() {
#define WEAK(name) PAIR("jnp." #name "(n * 1.)", jnp::name(n * 1.))
    WEAK(abs);
    WEAK(negative);
    WEAK(positive);
    WEAK(sign);
    WEAK(floor);
    WEAK(ceil);
    WEAK(round);
    WEAK(rint);
    WEAK(trunc);
    WEAK(exp);
    WEAK(exp2);
    WEAK(expm1);
    WEAK(log);
    WEAK(log1p);
    WEAK(log2);
    WEAK(log10);
    WEAK(sin);
    WEAK(cos);
    WEAK(tan);
    WEAK(arcsin);
    WEAK(arctan);
    WEAK(sinh);
    WEAK(cosh);
    WEAK(tanh);
    WEAK(arcsinh);
    WEAK(arccosh);
    WEAK(sqrt);
    WEAK(cbrt);
    WEAK(square);
    WEAK(reciprocal);
    WEAK(isnan);
    WEAK(isinf);
    WEAK(isfinite);
    WEAK(logical_not);
    WEAK(deg2rad);
    WEAK(signbit);
    WEAK(ravel);
    WEAK(flip);
    WEAK(nan_to_num);
    WEAK(real);
    WEAK(imag);
    WEAK(conj);
    WEAK(sum);
    WEAK(prod);
    WEAK(max);
    WEAK(min);
    WEAK(mean);
    WEAK(var);
    WEAK(std);
    WEAK(any);
    WEAK(all);
    WEAK(ptp);
    WEAK(cumsum);
    WEAK(cumprod);
    WEAK(sort);
    WEAK(argsort);
    WEAK(argmax);
    WEAK(diff);
    WEAK(median);
    WEAK(zeros_like);
    WEAK(ones_like);
    WEAK(transpose);
    WEAK(count_nonzero);
#undef WEAK
#define WEAK_NN(name)                               \
    PAIR("nn." #name "(n * 1.)", nn::name(n * 1.)); \
    PAIR("jax.grad(lambda t: nn." #name "(t).sum())(n * 1.)", jax::grad([](Array t) { return nn::name(t).sum(); })(n * 1.))
    WEAK_NN(relu);
    WEAK_NN(relu6);
    WEAK_NN(elu);
    WEAK_NN(selu);
    WEAK_NN(celu);
    WEAK_NN(glu);
    WEAK_NN(hard_tanh);
    WEAK_NN(hard_sigmoid);
    WEAK_NN(hard_silu);
    WEAK_NN(softplus);
    WEAK_NN(mish);
    WEAK_NN(squareplus);
    WEAK_NN(log_sigmoid);
    WEAK_NN(sparse_plus);
    WEAK_NN(sparse_sigmoid);
    WEAK_NN(sigmoid);
    WEAK_NN(silu);
    WEAK_NN(softmax);
    WEAK_NN(log_softmax);
    WEAK_NN(logsumexp);
    WEAK_NN(leaky_relu);
    WEAK_NN(soft_sign);
#undef WEAK_NN
#define WEAK_PAIR(name)                                       \
    PAIR("jnp." #name "(n * 1., v)", jnp::name(n * 1., v));   \
    PAIR("jnp." #name "(n * 1., 2.)", jnp::name(n * 1., 2.)); \
    PAIR("jnp." #name "(n * 1., n * 2.)", [&] {               \
        const Array l = n * 1., r = n * 2.;                   \
        return jnp::name(l, r);                               \
    }())
    WEAK_PAIR(add);
    WEAK_PAIR(subtract);
    WEAK_PAIR(multiply);
    WEAK_PAIR(divide);
    WEAK_PAIR(floor_divide);
    WEAK_PAIR(remainder);
    WEAK_PAIR(fmod);
    WEAK_PAIR(power);
    WEAK_PAIR(maximum);
    WEAK_PAIR(minimum);
    WEAK_PAIR(fmax);
    WEAK_PAIR(fmin);
    WEAK_PAIR(arctan2);
    WEAK_PAIR(less);
    WEAK_PAIR(logical_and);
    WEAK_PAIR(copysign);
    WEAK_PAIR(nextafter);
    WEAK_PAIR(heaviside);
    WEAK_PAIR(isclose);
    WEAK_PAIR(outer);
    WEAK_PAIR(dot);
    WEAK_PAIR(inner);
    WEAK_PAIR(logaddexp);
#undef WEAK_PAIR
    PAIR("jnp.sum(n * 1., keepdims=True)", jnp::sum(n * 1., {.keepdims = true}));
    PAIR("(n * 1.)[1]", (n * 1.)[1]);
    PAIR("(n * 1.)[i]", (n * 1.)[i]);
    PAIR("(n * 1.).at[0].set(2.)", (n * 1.).at({0}).set(2.));
    PAIR("(n * 1.).at[0].add(v[0])", (n * 1.).at({0}).add(v[0]));
    PAIR("v.at[:].set(n * 1.)", v.at({all}).set(n * 1.));
    PAIR("jnp.where(n > 1, n * 1., 0.)", jnp::where(n > 1, n * 1., 0.));
    PAIR("jnp.where(n > 1, v, n * 1.)", jnp::where(n > 1, v, n * 1.));
    PAIR("jnp.clip(n * 1., 0., 1.)", jnp::clip(n * 1., 0., 1.));
    PAIR("jnp.concatenate([n * 1., v])", jnp::concatenate({n * 1., v}));
    PAIR("jnp.stack([n * 1., n * 1.])", jnp::stack({n * 1., n * 1.}));
    PAIR("jnp.linalg.norm(n * 1.)", jnp::linalg::norm(n * 1.));
    PAIR("jnp.einsum('i->', n * 1.)", jnp::einsum("i->", n * 1.));
    PAIR("jnp.einsum('i->i', n * 1.)", jnp::einsum("i->i", n * 1.));
    PAIR("jnp.einsum('i,i->', n * 1., v)", jnp::einsum("i,i->", n * 1., v));
    PAIR("jnp.einsum('i,j->j', n * 1., n * 1.)", jnp::einsum("i,j->j", n * 1., n * 1.));
    PAIR("jnp.quantile(n * 1., 0.3)", jnp::quantile(n * 1., 0.3));
    PAIR("jnp.full_like(n * 1., 2)", jnp::full_like(n * 1., 2));
    PAIR("jnp.broadcast_to(n * 1., (3, 4))", jnp::broadcast_to(n * 1., {3, 4}));
    PAIR("jnp.tril(n * 1. * x)", jnp::tril(n * 1. * x));
    PAIR("lax.dynamic_update_slice(n * 1., v[:2], (1,))", lax::dynamic_update_slice(n * 1., v[slice(2)], {1}));
    PAIR("jax.grad(lambda t: (t * 2.).sum())(n * 1.)", jax::grad([](Array t) { return (t * 2.).sum(); })(n * 1.));
    PAIR("jax.grad(lambda t: jnp.mean(jnp.square(t * v)))(n * 1.)",
         jax::grad([&](Array t) { return jnp::mean(jnp::square(t * v)); })(n * 1.));
    PAIR("jax.vmap(lambda t: t * 2.)(n * 1.)", jax::vmap([](Array t) { return t * 2.; })(n * 1.));
    PAIR("lax.scan(lambda c, t: (c + t, c), 0., n * 1.)", lax::scan(
                                                              [](Array c, Array t) {
                                                                  return std::pair{c + t, c};
                                                              },
                                                              Array(0.), n * 1.));
    PAIR("lax.while_loop(lambda c: c.sum() < 30, lambda c: c + v, n * 1.)",
         lax::while_loop([](Array c) { return c.sum() < 30; }, [&](Array c) { return c + v; }, n * 1.));
    PAIR("nn.gelu(n * 1.)", nn::gelu(n * 1.));
    PAIR("lax.cond(n[0] > 0, lambda t: t, lambda t: v, n * 1.)", [&] {
        const Array above = n[0] > 0;
        return lax::cond(
            above, [](Array t) { return t; }, [&](Array) { return v; }, n * 1.);
    }());
    PAIR("jax.jit(lambda t: t * 2.)(n * 1.)", jax::jit([](Array t) { return t * 2.; }, {.name = "<lambda>"})(n * 1.));
    PAIR("jax.checkpoint(lambda t: jnp.sin(t))(n * 1.)", jax::checkpoint([](Array t) { return jnp::sin(t); })(n * 1.));
}

}  // namespace pairs
