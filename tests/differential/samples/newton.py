import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp

import jaxscope


class State(NamedTuple):
    x: jax.Array
    moved: jax.Array
    steps: jax.Array


def cube_root(a):
    unfinished = lambda s: jnp.logical_and(s.moved > 1e-6, s.steps < 50)

    def body(s):
        following = s.x - (s.x * s.x * s.x - a) / (3 * s.x * s.x)
        return State(following, jnp.max(jnp.abs(following - s.x)), s.steps + 1)
    return jax.lax.while_loop(unfinished, body, State(jnp.ones_like(a), jnp.ones(()), 0))


def main():
    a = jnp.array([1., 8., 27., 64., 1000.])
    x, moved, steps = jax.jit(cube_root)(a)
    print(f"{x} after {steps} steps")
    print(jax.make_jaxpr(cube_root)(a))
    jaxscope.capture(cube_root)(a).save(sys.argv[1] if len(sys.argv) > 1 else "newton.jaxscope")


# ---- what the test asks for
def program():
    return dict(fn=cube_root, args=(jax.ShapeDtypeStruct((5,), "float32"),))


if __name__ == "__main__":
    main()
