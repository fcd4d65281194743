"""Equinox: dropout keys split per example, attention, filter_jit with donation, state of optimizer over inexact arrays."""
CALL = "make_step"

import jax, jax.numpy as jnp, equinox as eqx, optax


class Enc(eqx.Module):
    emb: eqx.nn.Embedding
    att: eqx.nn.MultiheadAttention
    ln: eqx.nn.LayerNorm
    drop: eqx.nn.Dropout
    head: eqx.nn.Linear
    name: str = eqx.field(static=True, default="enc")
    def __init__(self, key):
        a, b, c = jax.random.split(key, 3)
        self.emb = eqx.nn.Embedding(11, 16, key=a)
        self.att = eqx.nn.MultiheadAttention(2, 16, dropout_p=.1, key=b)
        self.ln = eqx.nn.LayerNorm(16)
        self.drop = eqx.nn.Dropout(.1)
        self.head = eqx.nn.Linear(16, 11, key=c)
    def __call__(self, t, key):
        k1, k2 = jax.random.split(key)
        h = jax.vmap(self.emb)(t)
        h = h + self.att(h, h, h, key=k1)
        return jax.vmap(self.head)(self.drop(jax.vmap(self.ln)(h), key=k2))


def loss(model, x, y, key):
    keys = jax.random.split(key, x.shape[0])
    logits = jax.vmap(model)(x, keys)
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, y))
opt = optax.lion(1e-3)


@eqx.filter_jit(donate="all-except-first")
def make_step(x, model, opt_state, y, key):
    value, grads = eqx.filter_value_and_grad(loss)(model, x, y, key)
    updates, opt_state = opt.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), opt_state, value


def data():
    m = Enc(jax.random.key(0))
    x = jnp.arange(12).reshape(2, 6) % 11
    return x, m, opt.init(eqx.filter(m, eqx.is_inexact_array)), x[:, ::-1], jax.random.key(5)


def program(): return dict(fn=make_step, args=data())


def loss_program():
    x, m, _, y, k = data()
    d, s = eqx.partition(m, eqx.is_inexact_array)
    return (lambda model: loss(eqx.combine(model, s), x, y, k)), (d,), {}


if __name__ == "__main__":
    x, m, o, y, k = data()
    make_step(x, m, o, y, k)
