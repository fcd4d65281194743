# SPDX-License-Identifier: Apache-2.0
"""JAX's primitives, enumerations and small value classes by the names that a capture has for them."""
from __future__ import annotations

import enum
import functools
import sys
from typing import Any

from .. import compat
from ..compat import lowering

_MODULES = ["jax", "jax.lax", "jax.lax.linalg", "jax.numpy", "jax.random", "jax.scipy.special", "jax.ad_checkpoint", "jax.experimental.sparse"]


class CannotRebuild(Exception):
    """What of a program JAX can't be handed back; `placed` where the text says where it stands."""

    def __init__(self, why: str, placed: bool = False):
        super().__init__(why)
        self.placed = placed


@functools.cache
def _everything() -> tuple[dict[str, Any], dict[str, type]]:
    """Primitives and classes of JAX's own modules. Of primitives with one name those that can be compiled come first."""
    import importlib
    for name in _MODULES:
        importlib.import_module(name)
    primitives: dict[str, Any] = {}
    classes: dict[str, type] = {}
    for name, module in sorted(sys.modules.items()):
        if not (name == "jax" or name.startswith(("jax.", "jax_"))) or module is None:
            continue
        for value in list(vars(module).values()):
            if isinstance(value, compat.Primitive):
                known = primitives.get(value.name)
                if known is None or (not any(lowering.lowering_rules(known)) and any(lowering.lowering_rules(value))):
                    primitives[value.name] = value
            elif isinstance(value, type) and (value.__module__.startswith("jax") or issubclass(value, enum.Enum)):
                classes.setdefault(value.__name__, value)
    return primitives, classes


def primitive(name: str) -> Any:
    found = _everything()[0].get(name)
    if found is None:
        raise CannotRebuild(f"JAX {compat.jax.__version__} has no primitive '{name}'")
    return found


def known_class(name: str) -> type:
    found = _everything()[1].get(name)
    if found is None:
        raise CannotRebuild(f"JAX {compat.jax.__version__} has no class '{name}'")
    return found


def enum_member(kind: str, member: str) -> Any:
    try:
        return known_class(kind)[member]  # type: ignore[index]
    except (KeyError, TypeError):
        raise CannotRebuild(f"JAX {compat.jax.__version__} has no {kind}.{member}") from None
