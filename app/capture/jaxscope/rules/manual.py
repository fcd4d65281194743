# SPDX-License-Identifier: Apache-2.0
"""Bodies of shard_map: what is in force where an equation of one stands, so that its rule is traced as JAX traces it there."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

import jax
from jax._src import config, core


def _varies(aval: Any) -> bool:
    return bool(getattr(aval, "vma", None) or getattr(getattr(aval, "mat", None), "varying", None))


@contextlib.contextmanager
def in_force(eqn: Any) -> Iterator[None]:
    """The mesh of manual axes that the equation remembers, their names, and whether types say what varies over them."""
    mesh = getattr(getattr(eqn, "ctx", None), "cur_abstract_mesh", None)
    manual = tuple(getattr(mesh, "manual_axes", None) or ())
    checked = getattr(config, "_check_vma", None)
    if not manual or checked is None or not hasattr(core, "extend_axis_env_nd"):
        yield
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(jax.sharding.use_abstract_mesh(mesh))
        stack.enter_context(checked(any(_varies(v.aval) for v in (*eqn.invars, *eqn.outvars))))
        stack.enter_context(core.extend_axis_env_nd([(name, mesh.shape[name]) for name in manual]))
        yield
