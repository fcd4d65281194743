"""JAX's own primitive harnesses, which its wheel ships: every one that traces is captured, opens, type checks and prints as JAX prints it.

A sample by printed seed; JAXSCOPE_FULL=1 takes all of them (5,594 in 0.10.2, of which 14 don't trace).
"""
import json
import os
import pathlib
import random
import re
import subprocess
import time

import jax
import numpy as np
import pytest
from wellformed import check

from jaxscope import api

ROOT = pathlib.Path(__file__).resolve().parents[2]
harnesses = pytest.importorskip("jax._src.internal_test_util.test_harnesses")


def as_printed(text: str) -> str:
    """Addresses cut; the items of frozensets, which JAX prints in hash order, sorted."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x_", text)
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: "frozenset({" + ", ".join(sorted(m[1].split(", "))) + "})", text)


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Folder of captures, and {number: (name, JAX's text)}."""
    cases = list(harnesses.all_harnesses)
    if not os.environ.get("JAXSCOPE_FULL"):
        seed = int(os.environ.get("JAXSCOPE_SEED", time.time_ns() % 100_000))
        print(f"JAXSCOPE_SEED={seed}")
        cases = random.Random(seed).sample(cases, 400)
    folder = tmp_path_factory.mktemp("harnesses")
    texts, failures = {}, []
    for i, h in enumerate(cases):
        try:
            args = h.dyn_args_maker(np.random.RandomState(0))
            text = str(jax.make_jaxpr(h.dyn_fun)(*args))
        except Exception:  # JAX itself refuses this dtype or this platform
            continue
        try:
            document = api.capture(lambda *a: h.dyn_fun(*a), values="all")(*args).to_json()
            check(json.loads(document))
            assert "warnings" not in json.loads(document)
            (folder / f"{i}.jaxscope").write_text(document)
            texts[i] = (h.fullname, as_printed(text))
        except Exception as e:
            failures.append(f"{h.fullname}: {type(e).__name__}: {e}"[:300])
    assert not failures, "\n".join(failures[:20])
    assert len(texts) > 0.9 * len(cases)
    return folder, texts


def jaxs_text(f, args):
    try:
        return str(jax.make_jaxpr(f)(*args)).strip()
    except KeyError:  # 0.10.2 can't print its own lax.mul with a dtype
        return None


def test_harnesses_are_captured(binary, tmp_path):
    cases = list(harnesses.all_harnesses)
    if not os.environ.get("JAXSCOPE_FULL"):
        seed = int(os.environ.get("JAXSCOPE_SEED", time.time_ns() % 100_000))
        print(f"JAXSCOPE_SEED={seed}")
        cases = random.Random(seed).sample(cases, 400)
    path = tmp_path / "a.jaxscope"
    captured, failures = 0, []
    for h in cases:
        try:
            args = h.dyn_args_maker(np.random.RandomState(0))
            jax.make_jaxpr(h.dyn_fun)(*args)
        except Exception:  # JAX itself refuses this dtype or this platform
            continue
        try:
            def f(*a):
                return h.dyn_fun(*a)
            capture = api.capture(f, values="all")(*args)
            document = json.loads(capture.to_json())
            check(document)
            assert "warnings" not in document
            capture.save(str(path), compress=False)
            opened = subprocess.run([binary, "print", str(path)], capture_output=True, text=True)
            assert opened.returncode == 0, opened.stderr
            # Older versions print parameters that are gone and leave out those that came.
            want = jaxs_text(f, args) if jax.__version__ == "0.10.2" else None
            assert want is None or opened.stdout.strip() == want, "printed otherwise"
            captured += 1
        except Exception as e:
            failures.append(f"{h.fullname}: {type(e).__name__}: {e}"[:300])
    assert not failures, "\n".join(failures[:20])
    assert captured > 0.9 * len(cases)
