"""A transformer of 70 billion parameters over 16 x 16 devices that aren't there: `sharded_transformer.py FOLDER` captures its step with FSDP, over all
devices or beside tensor parallelism, with tensor parallelism alone and as a pipeline of 16 stages, layers scanned; and unrolled. No array is made."""
import os
import sys
from functools import partial

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
    column, row = {"fsdp": (P("data", "model"), P("model", "data")), "tensor": (P(None, "model"), P("model", None)), "pipeline": (P("data", "model"), P("model", "data")),
                   "all": (P(("data", "model")), P(("data", "model")))}[layout]
    return {name: P() if name == "norm" else row if name in ROWS else column for name in SHAPES} | {"embedding": row, "logits": column}


def array(shape, spec, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, spec))


def parameters(layout, scanned):
    of = specs(layout)
    if layout == "pipeline":  # a stage has its layers, whole
        layers = {n: array((LAYERS, *s), P("model")) for n, s in SHAPES.items()}
    elif scanned:
        layers = {n: array((LAYERS, *s), P(None, *of[n])) for n, s in SHAPES.items()}
    else:
        layers = [{n: array(s, of[n]) for n, s in SHAPES.items()} for _ in range(LAYERS)]
    return {"embedding": array((VOCABULARY, WIDTH), of["embedding"]), "layers": layers, "logits": array((WIDTH, VOCABULARY), of["logits"])}


def on_both(x, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(MESH, P(*spec)))


def on_samples(x, *_):
    """Each device has a sample."""
    return on_both(x, ("data", "model"))


def norm(x, scale):
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-5) * scale


def block(x, p, on):
    batch = x.shape[0]

    def heads(name, n):
        return (h @ p[name]).reshape(batch, LENGTH, n, 128)

    h = norm(x, p["norm"][0])
    q, k, v = on(heads("query", 64), "data", None, "model"), heads("key", 8), heads("value", 8)
    k, v = jnp.repeat(k, 8, 2), jnp.repeat(v, 8, 2)
    weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 11.3, -1)
    x = on(x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, LENGTH, WIDTH) @ p["out"], "data")
    h = norm(x, p["norm"][1])
    return on(x + on(jax.nn.silu(h @ p["gate"]) * (h @ p["up"]), "data", None, "model") @ p["down"], "data")


def run_stages(layers, x):
    """Of one device: 16 stages along `model`, and the samples that its row of devices has, one after the other (GPipe)."""
    samples, stages, stage = x.shape[0], lax.axis_size("model"), lax.axis_index("model")

    def stage_of(x):
        return lax.scan(lambda c, p: (jax.checkpoint(lambda c, p: block(c, p, lambda v, *_: v))(c, p), None), x, layers)[0]

    def tick(state, t):
        now = jnp.where(stage == 0, lax.dynamic_index_in_dim(x, jnp.clip(t, 0, samples - 1), keepdims=True), state)
        made = jax.checkpoint(stage_of)(now)
        return lax.ppermute(made, "model", [(k, k + 1) for k in range(stages - 1)]), made[0]

    made = lax.scan(tick, jnp.zeros_like(x[:1]), jnp.arange(samples + stages - 1))[1][stages - 1:]
    return lax.psum(jnp.where(stage == stages - 1, made, 0), "model")


def loss(params, tokens, layout):
    on = on_samples if layout == "all" else on_both
    x = on(params["embedding"][tokens], "data")
    if layout == "pipeline":
        x = jax.shard_map(run_stages, mesh=MESH, in_specs=(P("model"), P("data")), out_specs=P("data"), check_vma=False)(params["layers"], x)
    elif isinstance(params["layers"], dict):
        x = lax.scan(lambda c, p: (jax.checkpoint(partial(block, on=on))(c, p), None), x, params["layers"])[0]
    else:
        for p in params["layers"]:
            x = jax.checkpoint(partial(block, on=on))(x, p)
    return jnp.mean(jax.nn.logsumexp(on(x @ params["logits"], "data", None, "model"), -1))


def step(params, tokens, layout):
    value, g = jax.value_and_grad(loss)(params, tokens, layout)
    return jax.tree.map(lambda p, d: p - (1e-4 * d).astype(p.dtype), params, g), value


def main(folder):
    for name, layout, scanned in (("all", "all", True), ("fsdp", "fsdp", True), ("tensor", "tensor", True), ("pipeline", "pipeline", True), ("unrolled", "fsdp", False)):
        tokens = array((BATCH, LENGTH), P(("data", "model") if layout == "all" else "data"), jnp.int32)
        jaxscope.capture(partial(step, layout=layout), donate_argnums=0, name="step")(parameters(layout, scanned), tokens).save(os.path.join(folder, name + ".jaxscope"))


if __name__ == "__main__":
    main(sys.argv[1])
