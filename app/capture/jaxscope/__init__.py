# SPDX-License-Identifier: Apache-2.0
"""Capture of JAX programs for jaxscope: pure Python, needs JAX (0.4.30 or later) and nothing else.

    import jaxscope
    jaxscope.capture(train_step, donate_argnums=0)(state, batch).save("step.jaxscope")

JAX is imported on first use only, so that a script that sets XLA_FLAGS itself can still do so.
"""
from __future__ import annotations

from typing import Any

from .version import VERSION as __version__

_ANALYSIS = ("analyze", "assert_peak", "assert_residuals", "assert_no_unused_donation", "Analysis")

__all__ = ["capture", "load", "show", "Capture", "CaptureError", "__version__", *_ANALYSIS]


def capture(fn: Any, **options: Any) -> Any:
    """A function that traces `fn` on the arguments it is called with, and returns a `Capture`.

    Options: donate_argnums, donate_argnames, static_argnums, static_argnames, differentiate (an argument number or
    several: what `residuals` differentiates by), has_aux (fn returns (scalar, aux)), name, values ("all", "small" or
    "none": which array values are kept), compile (ask XLA about memory and cost), source (keep the text of user files).
    """
    from .api import capture as impl
    return impl(fn, **options)


def load(path: Any) -> Any:
    """A capture as a JAX function again: what `jaxscope transform -o` made of a program, run, differentiated or compiled by JAX itself.

    It takes the leaves of the program's arguments, in order (`in_paths` names them), and returns those of its results; `jaxpr` is JAX's
    own of it, `notes` say what isn't as it was. Raises CaptureError, by name and line, for what Python alone could say.
    """
    from .rebuild.load import load as impl
    return impl(path)


def show(fn: Any, **options: Any) -> Any:
    """Like `capture`, then opens the window; in a notebook, shows the report instead."""
    from .asking.display import show as impl
    return impl(fn, **options)


def __getattr__(name: str) -> Any:
    if name == "Capture":
        from .api import Capture
        return Capture
    if name == "CaptureError":
        from .errors import CaptureError
        return CaptureError
    if name in _ANALYSIS:
        from .asking import analysis
        return getattr(analysis, name)
    raise AttributeError(f"module 'jaxscope' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext jaxscope`."""
    from .asking.magic import register
    register(shell)
