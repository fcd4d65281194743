"""PPO: rollouts by scan, GAE reverse scan, clipped loss, epochs of shuffled minibatches, all in one jit."""
CALL = "update"

import jax, jax.numpy as jnp, optax
from typing import NamedTuple


class Tr(NamedTuple):
    obs: jax.Array
    act: jax.Array
    rew: jax.Array
    val: jax.Array
    logp: jax.Array
tx = optax.chain(optax.clip_by_global_norm(.5), optax.adam(3e-4, eps=1e-5))


def net(p, o):
    h = jnp.tanh(o @ p["w"])
    return h @ p["pi"], (h @ p["v"])[..., 0]


def env(s, a):
    s = jnp.sin(s + .1 * (a[:, None] - 1))
    return s, -jnp.abs(s).sum(-1)


def loss_fn(p, b, adv, tgt):
    logits, v = net(p, b.obs)
    lp = jnp.take_along_axis(jax.nn.log_softmax(logits), b.act[:, None], 1)[:, 0]
    ratio = jnp.exp(lp - b.logp)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    pl = -jnp.minimum(ratio * adv, jnp.clip(ratio, .8, 1.2) * adv).mean()
    vl = .5 * jnp.maximum((v - tgt) ** 2, (b.val + (v - b.val).clip(-.2, .2) - tgt) ** 2).mean()
    ent = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1).mean()
    return pl + .5 * vl - .01 * ent, (pl, vl, ent)


@jax.jit
def update(runner):
    p, opt, s, key = runner
    def roll(c, _):
        s, key = c
        key, k = jax.random.split(key)
        logits, v = net(p, s)
        a = jax.random.categorical(k, logits)
        lp = jnp.take_along_axis(jax.nn.log_softmax(logits), a[:, None], 1)[:, 0]
        s2, r = env(s, a.astype(jnp.float32))
        return (s2, key), Tr(s, a, r, v, lp)
    (s, key), t = jax.lax.scan(roll, (s, key), None, 8)
    def gae(c, x):
        g, nv = c
        d = x.rew + .99 * nv - x.val
        g = d + .99 * .95 * g
        return (g, x.val), g
    _, adv = jax.lax.scan(gae, (jnp.zeros(4), net(p, s)[1]), t, reverse=True, unroll=2)
    def epoch(c, _):
        p, opt, key = c
        key, k = jax.random.split(key)
        perm = jax.random.permutation(k, 32)
        flat = jax.tree.map(lambda x: x.reshape(32, *x.shape[2:])[perm].reshape(4, 8, *x.shape[2:]), (t, adv, adv + t.val))
        def mini(c, b):
            p, opt = c
            (l, aux), g = jax.value_and_grad(loss_fn, has_aux=True)(p, *b)
            u, opt = tx.update(g, opt, p)
            return (optax.apply_updates(p, u), opt), l
        (p, opt), l = jax.lax.scan(mini, (p, opt), flat)
        return (p, opt, key), l
    (p, opt, key), l = jax.lax.scan(epoch, (p, opt, key), None, 2)
    return (p, opt, s, key), l


def data():
    k = jax.random.split(jax.random.PRNGKey(0), 3)
    p = {"w": jax.random.normal(k[0], (3, 16)), "pi": jax.random.normal(k[1], (16, 3)) * .1, "v": jnp.ones((16, 1)) * .1}
    return (p, tx.init(p), jnp.ones((4, 3)) * .3, k[2]),


def program(): return dict(fn=update, args=data())


def loss_program():
    p = data()[0][0]
    z = jnp.zeros(8)
    return loss_fn, (p, Tr(jnp.ones((8, 3)), jnp.zeros(8, int), z, z, z), z + jnp.arange(8), z), dict(has_aux=True)


if __name__ == "__main__": update(*data())
