"""Generated programs with hostile indices: fused = each equation by itself = with every index checked, bit by bit, and = JAX.

500 by a printed seed (JAXSCOPE_SEED repeats them), of which JAX runs one in twenty-five: it compiles longer than all the rest takes. JAXSCOPE_FULL=1: 100,000, JAX runs all."""
import json
import os
import pathlib
import subprocess

import jax
import numpy as np
import pytest
from codegen_programs import Program
from seed import seed_of_sample

from conftest import jaxscope_binary
from jaxscope import api

FULL = bool(os.environ.get("JAXSCOPE_FULL"))
COUNT = int(os.environ.get("JAXSCOPE_PROGRAMS_OF_CODE", 100_000 if FULL else 500))
JAX_RUNS = 1 if FULL else 25
WAYS = {"fused": {"threads": 2}, "unfused": {"fuse": False}, "checked": {"debug": True, "threads": 2}}


@pytest.fixture
def driver():
    path = pathlib.Path(jaxscope_binary()).parent / "tests" / "value_driver"
    if not path.exists():
        pytest.fail("value_driver is not built")
    p = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield p
    p.stdin.close()
    p.wait(60)


def ask(driver, **request):
    driver.stdin.write(json.dumps(request) + "\n")
    driver.stdin.flush()
    line = driver.stdout.readline()
    return json.loads(line) if line else {"error": f"the driver died with {driver.wait()}"}


def difference(expected, found):
    """Where they differ; NaN equals NaN, zeros have signs."""
    for k, (e, f) in enumerate(zip(expected, found, strict=True)):
        if e.shape != f.shape or e.dtype != f.dtype:
            return f"output {k}: {f.dtype}{f.shape} instead of {e.dtype}{e.shape}"
        wrong = np.flatnonzero(~((e == f) | ((e != e) & (f != f))).ravel())
        if len(wrong):
            return f"output {k}[{wrong[0]}]: {f.ravel()[wrong[0]]} instead of {e.ravel()[wrong[0]]} ({len(wrong)} differ)"
    return None


def test_generated_code(driver, tmp_path):
    base = seed_of_sample() * 1000
    wrong = []
    for seed in range(base, base + COUNT):
        program = Program(seed)
        args = program.inputs()
        expected = [np.asarray(o) for o in program(*map(jax.numpy.asarray, args))] if seed % JAX_RUNS == 0 else None
        api.capture(lambda *a: program(*a), values="all")(*args).save(tmp_path / "p.jaxscope")
        for way, options in WAYS.items():
            answer = ask(driver, file=str(tmp_path / "p.jaxscope"), do="run", out=str(tmp_path / "o.npz"), **options)
            if "error" in answer:
                wrong.append(f"{seed} {way}: {answer['error']}")
                continue
            with np.load(tmp_path / "o.npz") as z:
                found = [z[f"out{k}"] for k in range(3)]
            expected = expected or found
            if why := difference(expected, found):
                wrong.append(f"{seed} {way}: {why}")
        if driver.poll() is not None:
            break
    print(f"{seed - base + 1} programs")
    assert not wrong, "\n".join(wrong[:20])
    assert seed - base + 1 == COUNT
