"""A capture back into JAX objects, by JAX's own means: what the tests hold captures against.

Only what the tests need: primitives are looked up by name among those that JAX registered rules for, parameters are
those of the equation the row was written from (kept by `remember`), so this checks structure, not parameters.
"""
import json

import jax
import numpy as np
from jax._src import ad_checkpoint, core


def load(capture):
    return json.loads(capture.to_json())


def aval_text(document, index):
    """float32[3,4] as f32[3,4]."""
    aval = document["avals"][index]
    if isinstance(aval, dict):
        return next(iter(aval.values()))
    dtype = aval[0]
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"), ("bf", "bf")):
        if dtype.startswith(long) and dtype != "float0":
            dtype = short + dtype[len(long):]
            break
    if dtype == "bfloat16":
        dtype = "bf16"
    return f"{dtype}[{','.join(map(str, aval[1]))}]"


def dummy(aval):
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        keys = jax.random.split(jax.random.key(0), int(np.prod(aval.shape)))
        return keys.reshape(aval.shape)
    return jax.numpy.zeros(aval.shape, aval.dtype)


def residual_rows(region, wrt_only=True):
    """What JAX's saved_residuals says of a region's jaxpr; rows `from a literal` left out."""
    inputs = [dummy(v.aval) for v in region.jaxpr.invars]
    consts = [dummy(v.aval) for v in region.jaxpr.constvars]
    chosen = region.diff_slots if wrt_only else list(range(len(inputs)))

    def f(*diff):
        full = list(inputs)
        for slot, x in zip(chosen, diff):
            full[slot] = x
        return core.eval_jaxpr(region.jaxpr, consts, *full)[:region.n_out]
    rows = ad_checkpoint.saved_residuals(f, *[inputs[i] for i in chosen])
    names = {f"from the argument diff[{k}]": f"from the argument {region.site.slots[i].path}" for k, i in enumerate(chosen)}
    return [[a.str_short(short_dtypes=True), names.get(s, s)] for a, s in rows if s != "from a literal"]


def plain_jaxpr(jaxpr):
    """The marked calls of ours back into real `jit`s is not needed to run: they evaluate as they are."""
    return jaxpr
