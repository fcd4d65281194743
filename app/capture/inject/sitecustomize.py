# SPDX-License-Identifier: Apache-2.0
"""First in the PYTHONPATH of a command that `capture --call` runs: every Python that it starts watches for the call."""
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _go_on():
    """The environment's own sitecustomize, which this one stands before."""
    rest = [p for p in sys.path if os.path.abspath(p or os.curdir) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "JAXSCOPE_CALL" in os.environ:
    from jaxscope.command import attach
    attach.watch()
_go_on()
