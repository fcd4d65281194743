"""Calls of the C++ front end beside JAX's, in one run.

  python tests/bench/compare_front_end.py build/release/tests/cost_driver

Prints microseconds of a cached jit call: with one array, with a struct of a hundred leaves, and with as many results.
"""
import subprocess
import sys
import timeit

import jax
import jax.numpy as jnp


def microseconds(f, *args) -> float:
    f(*args)
    return min(timeit.repeat(lambda: f(*args), number=300, repeat=10)) / 300 * 1e6


def main() -> None:
    out = subprocess.run([sys.argv[1], "overhead"], capture_output=True, text=True, check=True).stdout
    ours = {line.split()[0]: float(line.split()[1]) for line in out.splitlines()}
    many = [{"w": jnp.ones(1), "b": jnp.zeros(1)} for _ in range(50)]
    add_one = lambda h: jax.tree.map(lambda a: a + 1, h)  # noqa: E731
    theirs = {
        "call_one_array": microseconds(jax.jit(lambda x: x + 1), jnp.ones(1)),
        "call_hundred_leaves": microseconds(jax.jit(lambda h: h[0]["w"] + h[49]["b"]), many),
        "call_hundred_leaves_and_results": microseconds(jax.jit(add_one), many),
    }
    for name, us in theirs.items():
        print(f"{name}: {ours[name]:.2f} us, JAX {us:.2f} us, ratio {ours[name] / us:.3f}")


if __name__ == "__main__":
    main()
