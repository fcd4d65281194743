"""Writes effects.json: JAX's classes of effects, what str() of one is, and in which lists of allowed effects it stands.

.venv/bin/python tests/ir/make_effects.py
"""
import json
import pathlib
import re

import jax
import jax._src.pallas.primitives  # noqa: F401: adds its effects to the lists
from jax._src import buffer_callback, callback, checkify, core, debugging, effects, ffi, hijax
from jax._src.export import shape_poly
from jax._src.interpreters import partial_eval as pe
from jax._src.lax import lax, parallel
from jax._src.pallas import core as pallas_core
from jax._src.pallas import primitives as pallas_primitives
from jax._src.state import types as state

EXAMPLES = [
    state.ReadEffect(0), state.WriteEffect(1), state.AccumEffect(12), core.NamedAxisEffect("batch"), callback.IOEffect(), callback.OrderedIOEffect(),
    debugging.DebugEffect(), debugging.OrderedDebugEffect(), core.InternalMutableArrayEffect(), core.GenericEffect(jax.lax.sin_p), ffi.FfiEffect(),
    lax.NoDCEEffect(), parallel.SingleSideCollectiveEffect(), buffer_callback.BufferCallbackEffect(), shape_poly.ShapeAssertionEffect(),
    checkify.ErrorEffect(checkify.NaNError, ()), hijax.BoxEffect(), pallas_core.CommsEffect(), pallas_primitives.SemaphoreEffect(),
    pallas_primitives.DelayEffect(),
]
LISTS = {"dceable": pe.dceable_effects, "ordered": effects.ordered_effects, "remat_allowed": effects.remat_allowed_effects,
         "control_flow_allowed": effects.control_flow_allowed_effects,
         "custom_derivatives_allowed": effects.custom_derivatives_allowed_effects, "lowerable": effects.lowerable_effects}


def main() -> None:
    rows = [{"text": re.sub(r"0x[0-9a-f]+", "0x7f0000000000", str(e)), "ref": isinstance(e, state.RefEffect),
             "in": [name for name, allowed in LISTS.items() if allowed.contains(e)]} for e in EXAMPLES]
    out = pathlib.Path(__file__).with_name("effects.json")
    out.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
