"""optax chain with clipping, schedule, decoupled weight decay
CALL = "train_step"

pytree of params
dropout rng split in the step."""
import jax, jax.numpy as jnp, optax
from functools import partial
sched = optax.warmup_cosine_decay_schedule(0., 1e-3, 10, 100)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(sched, weight_decay=1e-2), optax.apply_every(2))


def init(key):
    k1, k2 = jax.random.split(key)
    return {"emb": jax.random.normal(k1, (16, 32)) * .02, "out": {"w": jax.random.normal(k2, (32, 16)) * .02, "b": jnp.zeros(16)}}


def forward(params, tokens, key, train):
    h = params["emb"][tokens]
    if train:
        h = jnp.where(jax.random.bernoulli(key, .9, h.shape), h / .9, 0)
    h = jax.nn.silu(h)
    return h @ params["out"]["w"] + params["out"]["b"]
def loss_fn(params, batch, key):
    logits = forward(params, batch["x"], key, True)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()
    return loss, {"acc": (logits.argmax(-1) == batch["y"]).mean()}


@partial(jax.jit, donate_argnums=(0,))
def train_step(state, batch):
    params, opt_state, key = state
    key, sub = jax.random.split(key)
    (loss, aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch, sub)
    updates, opt_state = tx.update(grads, opt_state, params)
    return (optax.apply_updates(params, updates), opt_state, key), {"loss": loss, **aux, "gnorm": optax.tree.norm(grads)}


def data():
    k = jax.random.key(0)
    p = init(k)
    return (p, tx.init(p), k), {"x": jnp.arange(24).reshape(4, 6) % 16, "y": (jnp.arange(24).reshape(4, 6) + 1) % 16}


def program():
    s, b = data()
    return dict(fn=train_step, args=(s, b))


def loss_program():
    (p, _, k), b = data()
    return loss_fn, (p, b, k), dict(has_aux=True)


if __name__ == "__main__":
    s, b = data()
    for i in range(2):
        s, m = train_step(s, b)
        print(i, float(m["loss"]))
