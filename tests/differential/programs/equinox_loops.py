"""equinox.internal.while_loop: the loops of tests/trace/programs/equinox_loops.cpp."""
import equinox.internal as eqxi
import jax
import jax.numpy as jnp


def gradients(steps, **options):
    def loss(factor, start):
        body = lambda s: (jnp.tanh(factor * s[0]) + 0.1 * jnp.sin(s[0]) * jnp.cos(s[1].astype("float32")), s[1] + 1)
        return jnp.sum(eqxi.while_loop(lambda s: s[1] < steps, body, (start, jnp.asarray(0)), **options)[0])
    return jax.value_and_grad(loss, argnums=(0, 1))


def until_small(**options):
    def loss(factor, start):
        end = eqxi.while_loop(lambda v: jnp.max(jnp.abs(v)) > 0.2, lambda v: jnp.sin(factor * v) * 0.9, start, **options)
        return jnp.sum(jnp.square(end))
    return jax.value_and_grad(loss, argnums=(0, 1))


def with_buffer(**options):
    def loss(factor, start):
        def body(s):
            x, steps, saved = s
            following = jnp.tanh(factor * x) + 0.2
            return following, steps + 1, saved.at[steps].set(following)
        init = start, jnp.asarray(0), jnp.zeros((9, 3))
        x, _, saved = eqxi.while_loop(lambda s: s[1] < 9, body, init, buffers=lambda s: s[2], **options)
        return jnp.sum(jnp.sin(saved) * (jnp.arange(27).reshape(9, 3) + 1.)) + jnp.sum(x)
    return jax.value_and_grad(loss, argnums=(0, 1))


ARGUMENTS = jnp.array([0.9, 1.1, 0.7]), jnp.array([0.3, -0.8, 1.2])
LOOPS = {f"steps_{n}_{c}": gradients(n, kind="checkpointed", checkpoints=c) for n, c in ((0, 2), (1, 1), (7, 1), (7, 2), (40, 2), (40, 5))} | {
    "default_checkpoints": gradients(12, kind="checkpointed", max_steps=30),
    "ends_at_max_steps": gradients(12, kind="checkpointed", max_steps=5),
    "bounded": gradients(12, kind="bounded", max_steps=20, base=4),
    "bounded_end": gradients(12, kind="bounded", max_steps=6, base=4),
    "until_small": until_small(kind="checkpointed", checkpoints=4),
    "until_small_bounded": until_small(kind="bounded", max_steps=64),
    "buffer": with_buffer(kind="checkpointed", checkpoints=3),
    "buffer_bounded": with_buffer(kind="bounded", max_steps=9),
}
