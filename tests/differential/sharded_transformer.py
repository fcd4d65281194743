"""A transformer of 70 billion parameters over 16 x 16 devices that aren't there: `sharded_transformer.py FOLDER` captures its step with FSDP and with tensor
parallelism, layers scanned, and with FSDP and unrolled. No array is made."""
import os
import sys

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

import jaxscope

MESH = AbstractMesh((16, 16), ("data", "model"))
LAYERS, WIDTH, HIDDEN, VOCABULARY, KEYS, BATCH, LENGTH = 80, 8192, 28672, 128256, 1024, 256, 4096
SHAPES = {"query": (WIDTH, WIDTH), "key": (WIDTH, KEYS), "value": (WIDTH, KEYS), "out": (WIDTH, WIDTH), "gate": (WIDTH, HIDDEN),
          "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH), "norm": (2, WIDTH)}
ROWS = ("out", "down")  # products that sum over what devices have


def specs(layout):
    column, row = {"fsdp": (P("data", "model"), P("model", "data")), "tensor": (P(None, "model"), P("model", None))}[layout]
    return {name: P() if name == "norm" else row if name in ROWS else column for name in SHAPES} | {"embedding": row, "logits": column}


def array(shape, spec, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, spec))


def parameters(layout, scanned):
    of = specs(layout)
    if scanned:
        layers = {n: array((LAYERS, *s), P(None, *of[n])) for n, s in SHAPES.items()}
    else:
        layers = [{n: array(s, of[n]) for n, s in SHAPES.items()} for _ in range(LAYERS)]
    return {"embedding": array((VOCABULARY, WIDTH), of["embedding"]), "layers": layers, "logits": array((WIDTH, VOCABULARY), of["logits"])}


def on(x, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(MESH, P(*spec)))


def norm(x, scale):
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-5) * scale


@jax.checkpoint
def block(x, p):
    def heads(name, n):
        return (h @ p[name]).reshape(BATCH, LENGTH, n, 128)

    h = norm(x, p["norm"][0])
    q, k, v = on(heads("query", 64), "data", None, "model"), heads("key", 8), heads("value", 8)
    k, v = jnp.repeat(k, 8, 2), jnp.repeat(v, 8, 2)
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 11.3, -1)
    x = on(x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(BATCH, LENGTH, WIDTH) @ p["out"], "data")
    h = norm(x, p["norm"][1])
    return on(x + on(jax.nn.silu(h @ p["gate"]) * (h @ p["up"]), "data", None, "model") @ p["down"], "data")


def loss(params, tokens):
    x = on(params["embedding"][tokens], "data")
    if isinstance(params["layers"], dict):
        x = lax.scan(lambda c, p: (block(c, p), None), x, params["layers"])[0]
    else:
        for p in params["layers"]:
            x = block(x, p)
    return jnp.mean(jax.nn.logsumexp(on(x @ params["logits"], "data", None, "model"), -1))


def step(params, tokens):
    value, g = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda p, d: p - (1e-4 * d).astype(p.dtype), params, g), value


def main(folder):
    tokens = array((BATCH, LENGTH), P("data"), jnp.int32)
    for name, layout, scanned in (("fsdp", "fsdp", True), ("tensor", "tensor", True), ("unrolled", "fsdp", False)):
        jaxscope.capture(step, donate_argnums=0)(parameters(layout, scanned), tokens).save(os.path.join(folder, name + ".jaxscope"))


if __name__ == "__main__":
    main(sys.argv[1])
