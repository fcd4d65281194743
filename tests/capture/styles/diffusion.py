"""DDPM step: linen-free UNet-ish convs, time embedding, EMA of params, vmap'd noise."""
CALL = "train_step"

import jax, jax.numpy as jnp, optax
T = 100
betas = jnp.linspace(1e-4, .02, T)
abar = jnp.cumprod(1 - betas)
tx = optax.adam(1e-3)


def conv(p, x): return jax.lax.conv_general_dilated(x, p["k"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["b"]


def temb(t):
    f = jnp.exp(-jnp.arange(4) * 1.)
    a = t[:, None] * f
    return jnp.concatenate([jnp.sin(a), jnp.cos(a)], -1)


def gn(x):
    m = x.mean((1, 2, 3), keepdims=True)
    return (x - m) * jax.lax.rsqrt(x.var((1, 2, 3), keepdims=True) + 1e-5)


def unet(p, x, t):
    h = jax.nn.silu(gn(conv(p["in"], x)) + (temb(t) @ p["t"])[:, None, None])
    d = jax.lax.reduce_window(h, 0., jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    d = jax.checkpoint(lambda d: jax.nn.silu(gn(conv(p["mid"], d))))(d)
    u = jax.image.resize(d, h.shape, "nearest")
    return conv(p["out"], jnp.concatenate([h, u], -1))


def loss_fn(p, x, key):
    kt, kn = jax.random.split(key)
    t = jax.random.randint(kt, (x.shape[0],), 0, T)
    n = jax.random.normal(kn, x.shape)
    a = abar[t][:, None, None, None]
    return jnp.mean((unet(p, jnp.sqrt(a) * x + jnp.sqrt(1 - a) * n, t.astype(jnp.float32)) - n) ** 2)


@jax.jit
def train_step(p, ema, opt, x, key):
    l, g = jax.value_and_grad(loss_fn)(p, x, key)
    u, opt = tx.update(g, opt)
    p = optax.apply_updates(p, u)
    return p, optax.incremental_update(p, ema, .001), opt, l


def data():
    k = jax.random.split(jax.random.key(0), 4)
    c = lambda k, i, o: {"k": jax.random.normal(k, (3, 3, i, o)) * .1, "b": jnp.zeros(o)}
    p = {"in": c(k[0], 1, 8), "mid": c(k[1], 8, 8), "out": c(k[2], 16, 1), "t": jax.random.normal(k[3], (8, 8)) * .1}
    return p, p, tx.init(p), jnp.ones((2, 8, 8, 1)), jax.random.key(9)


def program(): return dict(fn=train_step, args=data(), donate_argnums=(0, 1, 2))


def loss_program():
    p, _, _, x, k = data()
    return loss_fn, (p, x, k), {}


if __name__ == "__main__": train_step(*data())
