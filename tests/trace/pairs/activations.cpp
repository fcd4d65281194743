// jax.nn's activations, as JAX traces them, and their derivatives.
#include "pairs.h"

namespace pairs {

void activations() {
#define ACTIVATION(name)                  \
    PAIR("nn." #name "(x)", nn::name(x)); \
    PAIR("jax.grad(lambda t: nn." #name "(t).sum())(x)", jax::grad([](Array t) { return nn::name(t).sum(); })(x))
    PAIR("nn.softmax(n.astype('int8'))", nn::softmax(n.astype(jnp::int8)));
    PAIR("nn.softmax(n)", nn::softmax(n));
    PAIR("nn.softmax((n + 3).astype('uint16'))", nn::softmax((n + 3).astype(jnp::uint16)));
    PAIR("nn.softplus(lax.complex(v, 3 * v))", nn::softplus(lax::complex(v, 3 * v)));
    PAIR("nn.log_sigmoid(lax.complex(v, -v))", nn::log_sigmoid(lax::complex(v, -v)));
    PAIR("jax.grad(lambda t: jnp.abs(jnp.logaddexp(lax.complex(t, 2 * t), lax.complex(v, t))).sum())(v)",
         jax::grad([&](Array t) { return jnp::abs(jnp::logaddexp(lax::complex(t, 2 * t), lax::complex(v, t))).sum(); })(v));
    PAIR("jnp.nanvar(lax.complex(v, 3 * v))", jnp::nanvar(lax::complex(v, 3 * v)));
    PAIR("jnp.nanstd(lax.complex(x, y), axis=1, ddof=1)", jnp::nanstd(lax::complex(x, y), {.axis = 1, .ddof = 1}));
    PAIR("jnp.nanvar(x, dtype=jnp.complex64)", jnp::nanvar(x, {.dtype = jnp::complex64}));
    PAIR("b // 2", jnp::floor_divide(b, 2));
    PAIR("b // i[0]", jnp::floor_divide(b, i[0]));
    ACTIVATION(relu);
    ACTIVATION(relu6);
    ACTIVATION(elu);
    ACTIVATION(selu);
    ACTIVATION(celu);
    ACTIVATION(glu);
    ACTIVATION(hard_tanh);
    ACTIVATION(hard_sigmoid);
    ACTIVATION(hard_silu);
    ACTIVATION(softplus);
    ACTIVATION(mish);
    ACTIVATION(squareplus);
    ACTIVATION(log_sigmoid);
    ACTIVATION(sparse_plus);
    ACTIVATION(sparse_sigmoid);
    ACTIVATION(sigmoid);
    ACTIVATION(silu);
    ACTIVATION(gelu);
    ACTIVATION(softmax);
    ACTIVATION(log_softmax);
    ACTIVATION(logsumexp);
#undef ACTIVATION
    PAIR("nn.elu(x, 2.)", nn::elu(x, 2.));
    PAIR("jnp.logaddexp(x, y)", jnp::logaddexp(x, y));
    PAIR("jax.jvp(jnp.logaddexp, (x, y), (y, x))",
         jax::jvp([](Array s, Array t) { return jnp::logaddexp(s, t); }, std::tuple(x, y), std::tuple(y, x)));
    PAIR("jax.vmap(nn.relu)(x)", jax::vmap([](Array r) { return nn::relu(r); })(x));
    PAIR("jax.grad(jax.checkpoint(lambda t: nn.relu(t).sum()))(x)",
         jax::grad(jax::checkpoint([](Array t) { return nn::relu(t).sum(); }))(x));
    PAIR("jax.vmap(jax.grad(lambda t: nn.softplus(t).sum()))(x)", jax::vmap(jax::grad([](Array t) { return nn::softplus(t).sum(); }))(x));
    PAIR("jax.grad(lambda t: jax.grad(lambda s: nn.softplus(s).sum())(t).sum())(v)",
         jax::grad([](Array t) { return jax::grad([](Array s) { return nn::softplus(s).sum(); })(t).sum(); })(v));
}

}  // namespace pairs
