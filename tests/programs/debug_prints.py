"""jax.debug.print and callback, ordered and not, in a scan; a cloned key: Python isn't run, everything else is."""
NAME = "debug_prints"
REQUIRES = ['jax==0.10.2']

import jax
import jax.numpy as jnp


def fn(x, key):
    jax.debug.print("x {x} {y}", x=x.sum(), y=3)
    jax.debug.callback(lambda v: None, x)

    def body(carry, t):
        jax.debug.print("carry {}", carry, ordered=True)
        return carry * t + jnp.sin(t), None
    h, _ = jax.lax.scan(body, x, x)
    return jnp.sum(h) + jax.random.normal(jax.random.clone(key), (3,)).sum()


def program():
    return dict(fn=fn, args=(jnp.arange(3.0), jax.random.key(1)), differentiate=0)
