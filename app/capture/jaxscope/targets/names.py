# SPDX-License-Identifier: Apache-2.0
"""Names of targets: `tpu:v5p`, `tpu:v5p:2x2x1`."""
from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import CaptureError

CPU = "cpu"  # this machine's

# The smallest topology of each kind that XLA takes, and how Cloud TPU's names of accelerators count: prefix, and cores that make one chip's share.
_KINDS = {
    "v2": ("2x2", "v2", 2), "v3": ("2x2", "v3", 2), "v4": ("2x2x1", "v4", 2), "v5p": ("2x2x1", "v5p", 2),
    "v5e": ("2x2", "v5litepod", 1), "v6e": ("2x2", "v6e", 1), "tpu7x": ("2x2x1", "tpu7x", 2),
}
_NAME = re.compile(r"tpu:([A-Za-z0-9_]+)(?::([0-9]+(?:x[0-9]+){0,3}))?")


@dataclass(frozen=True)
class Target:
    kind: str
    topology: str

    @property
    def name(self) -> str:
        return f"tpu:{self.kind}:{self.topology}"

    @property
    def environment(self) -> dict[str, str]:
        """What libtpu asks a TPU's own machine for; where there is none it has to be told."""
        prefix, cores = _KINDS[self.kind][1:] if self.kind in _KINDS else (self.kind, 1)
        chips = 1
        for n in self.topology.split("x"):
            chips *= int(n)
        return {"TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": f"{prefix}-{chips * cores}", "TPU_WORKER_HOSTNAMES": "localhost"}


def parse(text: str) -> Target:
    """Kinds that we don't know are asked of the wheel, with their topology."""
    match = _NAME.fullmatch(text)
    if match is None:
        found = "GPUs, which have no compiler that starts without their driver" if text.split(":")[0] in ("gpu", "cuda", "rocm") else repr(text)
        raise CaptureError(f"--target: expected tpu:KIND[:TOPOLOGY], as in tpu:v5p or tpu:v5p:2x2x1, found {found}")
    kind, topology = match[1].lower(), match[2]
    if topology is None and kind not in _KINDS:
        raise CaptureError(f"--target: expected one of {', '.join(_KINDS)}, or another kind with its topology (tpu:{kind}:2x2x1), found {text!r}")
    return Target(kind, topology or _KINDS[kind][0])
