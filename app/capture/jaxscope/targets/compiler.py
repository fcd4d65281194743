# SPDX-License-Identifier: Apache-2.0
"""`python -m jaxscope.targets.compiler`: a process that has a target's compiler in it, compiles one module and ends.

In: a line of JSON on standard input, then the module's bytes. Out: one line of JSON on standard output, nothing else there. A compiler that
crashes, hangs or fills the memory takes this process along and nothing else.
"""
from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from . import assignment


def main() -> int:
    own = os.dup(1)
    os.dup2(2, 1)  # libtpu prints
    asked = json.loads(sys.stdin.buffer.readline())
    answer = _answer(asked, sys.stdin.buffer.read())
    with os.fdopen(own, "w") as f:
        f.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # libtpu's threads aren't waited for


def _answer(asked: dict[str, Any], module: bytes) -> dict[str, Any]:
    try:
        import jax
    except ImportError as e:
        return {"unusable": f"has no JAX ({e})"}
    if jax.__version__ != asked["jax"]:
        return {"unusable": f"has JAX {jax.__version__} where the program was traced by JAX {asked['jax']}"}
    try:
        import libtpu
    except ImportError:
        return {"unusable": "has no libtpu"}
    from jax.experimental import topologies
    try:
        devices = topologies.get_topology_desc(platform="tpu", topology_name=asked["topology"]).devices
    except Exception as e:  # an unknown name, or a wheel that this JAX can't talk to
        return {"topology": str(e)}
    from ..compat import lowering
    who = {"device": devices[0].device_kind, "libtpu": getattr(libtpu, "__version__", None)}
    if "texts" in asked:
        with open(os.path.join(asked["texts"], assignment.DEVICE), "w", encoding="utf-8") as f:
            json.dump(who, f)
    start = time.monotonic()
    try:
        compiled = lowering.compile_module(module, devices)
    except lowering.OtherTopology as e:
        return {"other": str(e)}
    except Exception as e:
        return {"refused": str(e), **who, "compile_seconds": time.monotonic() - start}
    return {**who, "compile_seconds": time.monotonic() - start, **_facts(compiled)}


def _facts(compiled: Any) -> dict[str, Any]:
    from . import backend
    header = compiled.hlo_modules()[0].to_string().split("\n", 1)[0]
    return {"memory_analysis": backend.memory_json(compiled.get_compiled_memory_stats()), "cost_analysis": backend.cost_json(compiled.cost_analysis()), "input_output_alias": backend.aliases(header)}


if __name__ == "__main__":
    main()
