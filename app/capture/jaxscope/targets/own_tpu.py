# SPDX-License-Identifier: Apache-2.0
"""A process that asks for targets alone has no use for libtpu itself: where there is no TPU, its start is five lines of complaints, and its lock is in the compiler's way."""
from __future__ import annotations

import glob
import os

KEPT_OFF = ("TPU_LOAD_LIBRARY", "0")  # of the environment, libtpu's own: JAX goes on without it, in silence
_GOOGLE = "0x1ae0"
_NO_TPU = ("0x01", "0x02")  # the classes of disks and of network cards, which Google's machines without TPUs have too
_DEVICES = "/sys/bus/pci/devices/*"


def keep_off() -> None:
    """Before JAX is imported. Who has a TPU, or says which backends there are, has their program traced as they would run it."""
    chosen = any(name in os.environ for name in ("JAX_PLATFORMS", "JAX_FORCE_TPU_INIT", KEPT_OFF[0]))
    if not chosen and not _there():
        os.environ.update([KEPT_OFF])


def _there() -> bool:
    return any(_read(d, "vendor") == _GOOGLE and not _read(d, "class").startswith(_NO_TPU) for d in glob.glob(_DEVICES))


def _read(device: str, name: str) -> str:
    try:
        with open(os.path.join(device, name), encoding="ascii") as f:
            return f.read().strip()
    except (OSError, ValueError):
        return ""
