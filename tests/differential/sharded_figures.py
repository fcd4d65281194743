"""Programs over eight forced host devices and what JAX and XLA say of one device's memory: `sharded_figures.py FOLDER` writes NAME.jaxscope and facts.json.
A process of its own, as the number of devices is fixed when JAX starts."""
import json
import os
import re
import sys
import warnings

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import numpy as np  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import jaxscope  # noqa: E402

MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))


def lies(*spec):
    return NamedSharding(MESH, P(*spec))


def array(shape, *spec):
    return jax.device_put(jnp.asarray(np.random.default_rng(0).standard_normal(shape), jnp.float32), lies(*spec))


def loss(params, x, y):
    h = lax.with_sharding_constraint(jnp.tanh(x @ params["w1"]), lies("x", "y"))
    return jnp.mean((h @ params["w2"] - y) ** 2)


def step(params, x, y):
    value, g = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, d: p - 0.1 * d, params, g), value


def uneven(x):
    return lax.with_sharding_constraint(x[:17] * 2.0, lies(("x", "y"))), (x * 3.0).sum()


PARAMS = {"w1": array((32, 64), None, "y"), "w2": array((64, 16), "y", None)}
DATA = (array((64, 32), "x"), array((64, 16), "x"))
STEP = {"w1": lies(None, "y"), "w2": lies("y", None)}


def double(x):
    return x * 2.0


def picked(x):  # the loss of a language model: of each row the element that the label says
    loss = lambda v: (jax.nn.logsumexp(v, -1) - jnp.take_along_axis(v, jnp.argmin(v, -1)[:, None], -1)[:, 0]).mean()
    return jax.value_and_grad(loss)(x)


def pair(x, z):
    return x + 1.0, lax.with_sharding_constraint(z * x.sum(), lies(None, "x"))


def cases():
    """name: (function, arguments, out_shardings or None, donated)"""
    return {
        "step": (step, (PARAMS, *DATA), None, 0),
        "step-said": (step, (PARAMS, *DATA), (STEP, lies()), 0),
        "donated-same": (double, (array((16, 16), "x"),), lies("x"), 0),
        "donated-unsaid": (double, (array((16, 16), "x"),), None, 0),
        "donated-as-large": (double, (array((16, 16), "x"),), lies(None, "x"), 0),
        "donated-to-whole": (double, (array((16, 16), "x"),), lies(), 0),
        "donated-whole": (double, (array((16, 16)),), lies("x"), 0),
        "donated-two": (pair, (array((16, 16), "x"), array((16, 16), "x")), (lies("x"), lies(None, "x")), (0, 1)),
        "picked": (picked, (array((64, 512), ("x", "y")),), None, ()),
        "uneven": (uneven, (array((32, 8), "x"),), None, ()),
    }


def facts(fn, args, out, donated):
    jitted = jax.jit(fn, donate_argnums=donated, **({} if out is None else {"out_shardings": out}))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        compiled = jitted.lower(*args).compile()
    m = compiled.memory_analysis()
    return {"arguments": m.argument_size_in_bytes, "outputs": m.output_size_in_bytes, "aliased": m.alias_size_in_bytes,
            "warning": next((str(w.message) for w in told if "donated" in str(w.message)), None)}


def kept_on_each_device():
    """Bytes of what the pullback of the loss keeps, by the shardings that XLA gives them."""
    made = jax.jit(lambda p, x, y: jax.tree.leaves(jax.vjp(lambda q: loss(q, x, y), p)[1]))
    compiled = made.lower(PARAMS, *DATA).compile()
    values = jax.eval_shape(made, PARAMS, *DATA)
    return sum(int(np.prod(s.shard_shape(v.shape))) * v.dtype.itemsize for v, s in zip(values, compiled.output_shardings))


# ---- What devices send: data-parallel and tensor-parallel steps

def perceptron(lay, data, model):
    width, hidden, batch = 256, 1024, 512
    params = {"w1": lay((width, hidden), None, model), "w2": lay((hidden, width), model, None)}
    return lambda p, x, y: jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] - y) ** 2), (params, lay((batch, width), data), lay((batch, width), data))


def transformer_block(lay, data, model):
    width, heads, batch, length = 256, 8, 8, 128
    columns, rows = (None, model), (model, None)
    sizes = {"q": (width, columns), "k": (width, columns), "v": (width, columns), "o": (width, rows), "up": (4 * width, columns), "down": (width, rows)}
    params = {n: lay((4 * width if n == "down" else width, size), *spec) for n, (size, spec) in sizes.items()}

    def norm(v):
        return v * lax.rsqrt(jnp.mean(v * v, -1, keepdims=True) + 1e-5)

    def mean(p, x):
        q, k, v = ((norm(x) @ p[n]).reshape(batch, length, heads, width // heads) for n in "qkv")
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k), -1)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width) @ p["o"]
        return jnp.mean((x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]) ** 2)
    return mean, (params, lay((batch, length, width), data))


LAYOUTS = {"data4": ((4,), ("d",), "d", None), "data2model2": ((2, 2), ("d", "m"), "d", "m"), "model4": ((4,), ("m",), None, "m")}


def reduced_by_xla(text):
    """Bytes of what all-reduces give, and any other collectives."""
    total, others = 0, []
    for line in text.splitlines():
        kind = re.search(r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start)?\(", line)
        if kind and kind.group(1) != "all-reduce":
            others.append(kind.group(1))
        elif kind:
            total += sum(4 * int(np.prod([int(n) for n in s.split(",") if n] or [1])) for s in re.findall(r"f32\[([\d,]*)\]", line[: kind.start()]))
    return total, others


def moves(folder, told):
    for model, make in (("perceptron", perceptron), ("block", transformer_block)):
        for name, (shape, axes, data, cut) in LAYOUTS.items():
            mesh = Mesh(np.array(jax.devices()[:4]).reshape(shape), axes)
            fn, args = make(lambda s, *spec: jax.device_put(jnp.ones(s), NamedSharding(mesh, P(*spec))), data, cut)

            def train(p, *x):
                value, g = jax.value_and_grad(fn)(p, *x)
                return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), value
            jitted = jax.jit(train, donate_argnums=0)
            compiled = jitted.lower(*args).compile()
            m = compiled.memory_analysis()
            reduced, others = reduced_by_xla(compiled.as_text())
            told[f"{model}-{name}"] = {"reduced": reduced, "others": others, "peak": m.argument_size_in_bytes + m.output_size_in_bytes
                                       - m.alias_size_in_bytes + m.temp_size_in_bytes}
            jaxscope.capture(jitted, compile=True)(*args).save(os.path.join(folder, f"{model}-{name}.jaxscope"))


def main(folder):
    told = {}
    moves(folder, told)
    for name, (fn, args, out, donated) in cases().items():
        told[name] = facts(fn, args, out, donated)
        jitted = jax.jit(fn, donate_argnums=donated, **({} if out is None else {"out_shardings": out}))
        jaxscope.capture(jitted, values="all")(*args).save(os.path.join(folder, name + ".jaxscope"))
    told["residuals"] = kept_on_each_device()
    few = Mesh(np.array(jax.devices()[:4]), ("z",))  # fewer devices: no mesh has both
    all_of, half_of = (jax.shard_map(lambda v, n=n: lax.psum(v, n), mesh=m, in_specs=P(n), out_specs=P()) for m, n in ((MESH, "x"), (few, "z")))
    jaxscope.capture(lambda v: (all_of(v), half_of(v)))(np.asarray(DATA[0])).save(os.path.join(folder, "half.jaxscope"))
    with open(os.path.join(folder, "facts.json"), "w") as f:
        json.dump(told, f)


if __name__ == "__main__":
    main(sys.argv[1])
