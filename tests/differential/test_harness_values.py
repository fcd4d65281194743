"""Values of JAX's own primitive harnesses (its wheel ships them), run, differentiated and mapped; a sample by printed seed, JAXSCOPE_FULL=1 takes all.
And of the primitives that run as routines, with cases of our own.
"""
import os
import pathlib
import random
from collections import Counter

import jax
import numpy as np
import pytest
from harness_sweep import KINDS, Case, Driver, compare, prepared
from routine_cases import CASES
from seed import seed_of_sample

from conftest import jaxscope_binary

harnesses = pytest.importorskip("jax._src.internal_test_util.test_harnesses")
pytestmark = pytest.mark.skipif(jax.__version__ != "0.10.2", reason="JAX 0.10.2's values and refusals")
SAMPLE = 50


@pytest.fixture(scope="module")
def wide():
    """64-bit types: without them half of the harnesses are others once more."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    path = pathlib.Path(jaxscope_binary()).parent / "tests" / "value_driver"
    if not path.exists():
        pytest.fail("value_driver is not built")
    d = Driver(path, tmp_path_factory.mktemp("values"))
    yield d
    d.close()


def sweep(driver, cases, folder):
    """Counts of what was compared, by kind, and what differs."""
    counts, wrong = Counter(), {}
    for i, case in cases:
        name, expected = prepared(i, case, folder)
        for kind in KINDS:
            if kind not in expected:
                continue
            counts[kind] += 1
            found = driver.ask(str(folder / f"{i}.{'grad' if kind == 'grad' else 'run'}.jaxscope"), kind)
            why = compare(expected[kind], found, name, expected["narrow"])
            if why:
                wrong.setdefault(kind, []).append(f"{name}: {why}")
    return counts, wrong


def test_harnesses(wide, driver, tmp_path):
    cases = [(i, h) for i, h in enumerate(harnesses.all_harnesses)]
    full = bool(os.environ.get("JAXSCOPE_FULL"))
    if not full:
        cases = random.Random(seed_of_sample()).sample(cases, SAMPLE)
    counts, wrong = sweep(driver, cases, tmp_path)
    print(dict(counts), {kind: len(w) for kind, w in wrong.items()})
    assert counts["run"] > (0.98 if full else 0.9) * len(cases)
    allowed = 0.01 if full else 0.1  # of a small sample: it may meet several of the few that differ
    for kind in KINDS:
        assert len(wrong.get(kind, [])) <= allowed * counts[kind], "\n".join(wrong[kind])


@pytest.mark.parametrize("family", sorted({name.split("_")[0] for name in CASES}))
def test_routines(wide, driver, tmp_path, family):
    cases = [(i, Case(name, *case)) for i, (name, case) in enumerate(CASES.items()) if name.split("_")[0] == family]
    counts, wrong = sweep(driver, cases, tmp_path)
    assert counts["run"] == len(cases)
    assert not wrong, "\n".join(line for lines in wrong.values() for line in lines)
