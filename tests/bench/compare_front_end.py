"""The C++ front end beside JAX, in one run: a cached jit call, and tracing the train step of a transformer.

  python tests/bench/compare_front_end.py build/release/tests/cost_driver

Prints microseconds of a call with one array, with a struct of a hundred leaves, with as many results, and with one of 64 MiB; milliseconds of tracing forward,
autodiff and Adam of twelve blocks (tests/trace/cost_driver.cpp has the same program).
"""
import subprocess
import sys
import time
import timeit

import jax
import jax.numpy as jnp

BATCH, TOKENS, WIDE, HEADS, LAYERS, VOCABULARY = 4, 64, 64, 4, 12, 256


def microseconds(f, *args, number=300) -> float:
    f(*args)
    return min(timeit.repeat(lambda: f(*args), number=number, repeat=10)) / number * 1e6


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * scale


def attention(b, x):
    def heads(y):
        return jnp.transpose(y.reshape(BATCH, TOKENS, HEADS, WIDE // HEADS), (0, 2, 1, 3))

    q, k, v = heads(x @ b["q"]), heads(x @ b["k"]), heads(x @ b["v"])
    y = jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / 4.0) @ v
    return jnp.transpose(y, (0, 2, 1, 3)).reshape(BATCH, TOKENS, WIDE) @ b["o"]


def loss(p, tokens):
    x = jnp.take(p["embed"], tokens, 0)
    for b in p["blocks"]:
        x = x + attention(b, norm(x, b["scale1"]))
        x = x + jax.nn.gelu(norm(x, b["scale2"]) @ b["up"]) @ b["down"]
    logits = norm(x, p["scale"]) @ p["embed"].T
    return -jnp.mean(jax.nn.log_softmax(logits) * jax.nn.one_hot(tokens, VOCABULARY))


def step(s, tokens):
    p, mu, nu, count = s
    value, grads = jax.value_and_grad(loss)(p, tokens)
    count = count + 1
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, grads)
    nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, nu, grads)
    c1, c2 = 1 - 0.9**count, 1 - 0.999**count
    p = jax.tree.map(lambda p, m, v: p - 1e-3 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), p, mu, nu)
    return (p, mu, nu, count), value


def trace_milliseconds() -> tuple[float, int]:
    block = {k: jnp.zeros((WIDE, WIDE)) for k in "qkvo"} | {"up": jnp.zeros((WIDE, 4 * WIDE)), "down": jnp.zeros((4 * WIDE, WIDE)),
                                                            "scale1": jnp.ones(WIDE), "scale2": jnp.ones(WIDE)}
    p = {"embed": jnp.zeros((VOCABULARY, WIDE)), "scale": jnp.ones(WIDE), "blocks": [block] * LAYERS}
    state = (p, p, p, jnp.array(0))
    best, equations = 1e9, 0
    for _ in range(3):
        jax.clear_caches()
        begin = time.perf_counter()
        equations = len(jax.make_jaxpr(step)(state, jnp.zeros((BATCH, TOKENS), int)).eqns)
        best = min(best, time.perf_counter() - begin)
    return best * 1e3, equations


def figures(driver: str, what: str) -> dict[str, float]:
    out = subprocess.run([driver, what], capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in out.splitlines()}


def main() -> None:
    ours = figures(sys.argv[1], "overhead")
    many = [{"w": jnp.ones(1), "b": jnp.zeros(1)} for _ in range(50)]
    add_one = lambda h: jax.tree.map(lambda a: a + 1, h)  # noqa: E731
    add_to_large = jax.jit(lambda x: x + 1)
    theirs = {
        "call_one_array": microseconds(jax.jit(lambda x: x + 1), jnp.ones(1)),
        "call_hundred_leaves": microseconds(jax.jit(lambda h: h[0]["w"] + h[49]["b"]), many),
        "call_hundred_leaves_and_results": microseconds(jax.jit(add_one), many),
        "call_large_result": microseconds(lambda x: add_to_large(x).block_until_ready(), jnp.ones(16 << 20), number=2),
    }
    for name, us in theirs.items():
        print(f"{name}: {ours[name]:.2f} us, JAX {us:.2f} us, ratio {ours[name] / us:.3f}")
    ours = figures(sys.argv[1], "tracing")
    ms, equations = trace_milliseconds()
    print(f"trace_step: {ours['trace_step']:.2f} ms ({ours['trace_equations']:.0f} equations, {ours['trace_per_equation']:.2f} us each), "
          f"JAX {ms:.1f} ms ({equations} equations), {ms / ours['trace_step']:.1f} times as long")


if __name__ == "__main__":
    main()
