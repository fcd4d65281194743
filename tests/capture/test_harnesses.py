"""JAX's own primitive harnesses, which its wheel ships: every one that traces is captured, opens, type checks and prints as JAX prints it.

A sample by printed seed; JAXSCOPE_FULL=1 takes all of them (5,594 in 0.10.2, of which 14 don't trace).
"""
import json
import os
import pathlib
import random
import re
import subprocess

import jax
import numpy as np
import pytest
from conftest import missing
from seed import seed_of_sample
from wellformed import check

from jaxscope import api

ROOT = pathlib.Path(__file__).resolve().parents[2]
harnesses = pytest.importorskip("jax._src.internal_test_util.test_harnesses")

def as_printed(text: str) -> str:
    """Addresses cut; the items of frozensets, which JAX prints in hash order, sorted."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x_", text)
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: "frozenset({" + ", ".join(sorted(m[1].split(", "))) + "})", text)


def jaxs_text(jaxpr):
    """None where JAX can't print it (0.10.2 its own lax.mul with a dtype) and for older versions, which print other parameters."""
    if jax.__version__ != "0.10.2":
        return None
    try:
        return as_printed(str(jaxpr)).strip()
    except KeyError:
        return None


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """Folder of captures, and {number: (name, JAX's text)}."""
    cases = list(harnesses.all_harnesses)
    if not os.environ.get("JAXSCOPE_FULL"):
        cases = random.Random(seed_of_sample()).sample(cases, 400)
    folder = tmp_path_factory.mktemp("harnesses")
    texts, failures = {}, []
    for i, h in enumerate(cases):
        try:
            args = h.dyn_args_maker(np.random.RandomState(0))
            text = jaxs_text(jax.make_jaxpr(h.dyn_fun)(*args))
        except Exception:  # JAX itself refuses this dtype or this platform
            continue
        try:
            document = api.capture(lambda *a: h.dyn_fun(*a), values="all")(*args).to_json()
            check(json.loads(document))
            assert "warnings" not in json.loads(document)
            (folder / f"{i}.jaxscope").write_text(document)
            texts[i] = (h.fullname, text)
        except Exception as e:
            failures.append(f"{h.fullname}: {type(e).__name__}: {e}"[:300])
    assert not failures, "\n".join(failures[:20])
    assert len(texts) > 0.9 * len(cases)
    return folder, texts


def test_harnesses_are_captured(captured):
    assert captured[1]


def test_harnesses_open_and_print(captured, binary):
    """One process reads them all: text, text of the text, and result types that no equation has."""
    driver = pathlib.Path(binary).parent / "tests" / "capture_driver"
    if not driver.exists():
        missing("the test drivers are not built")
    folder, texts = captured
    files = "".join(f"{folder / str(i)}.jaxscope\n" for i in texts)
    done = subprocess.run([driver, "--lies"], input=files, capture_output=True, text=True, timeout=600, check=True)
    wrong = []
    for (name, text), line in zip(texts.values(), done.stdout.splitlines(), strict=True):
        found = json.loads(line)
        if "error" in found:
            wrong.append(f"{name}: {found['error']}")
        elif text is not None and found["text"] != text:
            wrong.append(f"{name}: JAX prints\n{text}\nand jaxscope\n{found['text']}")
        elif found["again"] is not None:
            wrong.append(f"{name}: the text\n{found['text']}\nreads back as\n{found['again']}")
        elif found["accepted"]:
            wrong.append(f"{name}: the type checker takes {found['accepted']}")
        elif found["opaque"] and jax.__version__ == "0.10.2":
            wrong.append(f"{name}: no type rule for {found['opaque']}")
    assert not wrong, f"{len(wrong)} of {len(texts)}\n" + "\n".join(wrong)[:5000]
