"""JAX's own primitive harnesses, which its wheel ships: every one that traces is captured.

A sample by printed seed; JAXSCOPE_FULL=1 takes all of them (5,594 in 0.10.2).
"""
import json
import os
import random
import time

import jax
import numpy as np
import pytest
from wellformed import check

from jaxscope import api

harnesses = pytest.importorskip("jax._src.internal_test_util.test_harnesses")


def test_harnesses_are_captured():
    cases = list(harnesses.all_harnesses)
    if not os.environ.get("JAXSCOPE_FULL"):
        seed = int(os.environ.get("JAXSCOPE_SEED", time.time_ns() % 100_000))
        print(f"JAXSCOPE_SEED={seed}")
        cases = random.Random(seed).sample(cases, 400)
    captured, failures = 0, []
    for h in cases:
        try:
            args = h.dyn_args_maker(np.random.RandomState(0))
            jax.make_jaxpr(h.dyn_fun)(*args)
        except Exception:  # JAX itself refuses this dtype or this platform
            continue
        try:
            document = json.loads(api.capture(lambda *a: h.dyn_fun(*a), values="all")(*args).to_json())
            check(document)
            assert "warnings" not in document
            captured += 1
        except Exception as e:
            failures.append(f"{h.fullname}: {type(e).__name__}: {e}"[:300])
    assert not failures, "\n".join(failures[:20])
    assert captured > 0.9 * len(cases)
