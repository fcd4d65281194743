# SPDX-License-Identifier: Apache-2.0
"""The version of this package, which a capture names as its producer; and the versions of JAX that it was tried with."""
from __future__ import annotations

import re

from .errors import CaptureError

VERSION = "0.1.0"
OLDEST_JAX, NEWEST_JAX = "0.4.30", "0.10.2"  # the ends of what the tests run under


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def doubt(jax_version: str) -> str | None:
    """What to say to whoever captures with a version of JAX that came later than our tests."""
    if _numbers(jax_version) <= _numbers(NEWEST_JAX):
        return None
    return (f"JAX {jax_version} is newer than {NEWEST_JAX}, the last one that jaxscope {VERSION} was tried with: "
            "compare what `jaxscope print` shows with jax.make_jaxpr before you rely on it")


def check_jax() -> None:
    """Refuses versions of JAX whose internals aren't where they are looked for, before anything is traced."""
    import jax
    if _numbers(jax.__version__) < _numbers(OLDEST_JAX):
        raise CaptureError(f"JAX {OLDEST_JAX} or later is needed, found {jax.__version__}")
    try:
        from . import compat  # noqa: F401
    except (ImportError, AttributeError) as e:
        said = doubt(jax.__version__) or f"JAX {jax.__version__} isn't as jaxscope {VERSION} expects it"
        raise CaptureError(f"{said.partition(':')[0]}, and it can't be captured with: {e}") from e
