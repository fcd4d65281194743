"""Residual rows of a region's jaxpr, by JAX's own means: what the tests hold captures against."""
import jax
import numpy as np
from jax._src import ad_checkpoint, core


def dummy(aval):
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return jax.random.split(jax.random.key(0), int(np.prod(aval.shape))).reshape(aval.shape)
    return jax.numpy.zeros(aval.shape, aval.dtype)


def residual_rows(region):
    """What saved_residuals says with respect to what was differentiated; rows `from a literal` left out."""
    inputs = [dummy(v.aval) for v in region.jaxpr.invars]
    consts = [dummy(v.aval) for v in region.jaxpr.constvars]

    def f(*diff):
        full = list(inputs)
        for slot, x in zip(region.diff_slots, diff):
            full[slot] = x
        return core.eval_jaxpr(region.jaxpr, consts, *full)[:region.n_out]
    rows = ad_checkpoint.saved_residuals(f, *[inputs[i] for i in region.diff_slots])
    names = {f"from the argument diff[{k}]": f"from the argument {region.site.slots[i].path}" for k, i in enumerate(region.diff_slots)}
    return [[a.str_short(short_dtypes=True), names.get(s, s)] for a, s in rows if s != "from a literal"]
