"""Sharded steps whose planned peak of one device is compared with XLA's: `NAME_N` of LAYOUTS over N devices that aren't there. Arguments are shapes."""
from __future__ import annotations

from typing import Any, Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P

from programs import cross_entropy

bf16 = jnp.bfloat16
TOPOLOGIES = {4: "2x2x1", 64: "4x4x4", 256: "8x8x4"}
MESHES = {4: (2, 2), 64: (8, 8), 256: (16, 16)}
WIDTH, HIDDEN, HEADS, LENGTH, VOCABULARY, LAYERS = 2048, 8192, 16, 1024, 32768, 4
LAYOUTS = {"data": (P(), P(), ("data", "model")), "fsdp": (P(("data", "model")), P(("data", "model")), ("data", "model")), "tensor": (P(None, "model"), P("model", None), "data"),
           "mixed": (P("data", "model"), P("model", "data"), "data")}
ROWS = {"out", "down"}


def step_over(layout: str, devices: int, scanned: bool) -> dict[str, Any]:
    mesh = AbstractMesh(MESHES[devices], ("data", "model"))
    column, row, samples = LAYOUTS[layout]
    shapes = {"query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH)}

    def array(shape: tuple[int, ...], spec: Any, dtype: Any = bf16) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))
    of = {n: row if n in ROWS else column for n in shapes}
    layers: Any = ({n: array((LAYERS, *s), P(None, *of[n])) for n, s in shapes.items()} if scanned else [{n: array(s, of[n]) for n, s in shapes.items()} for _ in range(LAYERS)])
    params = {"embedding": array((VOCABULARY, WIDTH), row), "layers": layers, "logits": array((WIDTH, VOCABULARY), column)}

    def on(x: Any, *spec: Any) -> Any:
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))
    split = "model" if layout in ("tensor", "mixed") else None

    def norm(x: Any) -> Any:
        return (x * lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), -1, keepdims=True) + 1e-5)).astype(bf16)

    def block(x: Any, p: Any) -> Any:
        heads = lambda n: on((norm(x) @ p[n]).reshape(x.shape[0], LENGTH, HEADS, -1), samples, None, split)
        s = jnp.einsum("bqhd,bkhd->bhqk", heads("query"), heads("key")).astype(jnp.float32) * 0.09
        a = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1).astype(bf16), heads("value"))
        x = on(x + a.reshape(x.shape) @ p["out"], samples)
        return on(x + on(jax.nn.gelu(norm(x) @ p["up"]), samples, None, split) @ p["down"], samples)

    def loss(params: Any, tokens: Any) -> Any:
        x = on(params["embedding"][tokens], samples)
        one = jax.checkpoint(block)
        if scanned:
            x, _ = lax.scan(lambda x, p: (one(x, p), None), x, params["layers"])
        else:
            for p in params["layers"]:
                x = one(x, p)
        return cross_entropy(on(norm(x) @ params["logits"], samples, None, split), tokens)

    def step(params: Any, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens)
        return jax.tree_util.tree_map(lambda p, g: p - (0.01 * g).astype(p.dtype), params, grads), value
    batch = 2 * (MESHES[devices][0] if samples == "data" else devices)
    return {"fn": step, "args": (params, array((batch, LENGTH), P(samples), jnp.int32)), "donate_argnums": (0,)}


PROGRAMS: dict[str, Callable[[], dict[str, Any]]] = {
    f"{layout}_{form}_{devices}": (lambda layout=layout, devices=devices, form=form: step_over(layout, devices, form == "scan"))
    for layout in LAYOUTS for form in ("scan", "flat") for devices in MESHES}


def __getattr__(name: str) -> Callable[[], dict[str, Any]]:
    if name in PROGRAMS:
        return PROGRAMS[name]
    raise AttributeError(name)
