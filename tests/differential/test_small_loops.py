"""Random loops of little work (loop_programs.py), which run as one function, beside JAX. (Step by step: tests/jit/whole_loops_test.cpp.)

8 by a printed seed, 2,000 with JAXSCOPE_FULL, one with JAXSCOPE_SEED=N."""
import os

import jax
import ml_dtypes
import numpy as np
import pytest
from loop_programs import Loops
from seed import seed_of_sample

import jaxscope
from conftest import largest_error

COUNT = 1 if "JAXSCOPE_SEED" in os.environ else 2000 if os.environ.get("JAXSCOPE_FULL") else 8
FIRST = int(os.environ.get("JAXSCOPE_SEED", seed_of_sample() * 100))
# Of a number beside its own size or the usual one: sums are taken in another order, and what follows from them for 25 turns.
TOLERANCE = {"float32": 2e-4, "float64": 1e-11, "bfloat16": 0.2}


def results(cli, file, folder):
    out = folder / "results.npz"
    cli.raw("run", file, "--outputs", str(out))
    with np.load(out) as z:
        return [z[k].view(ml_dtypes.bfloat16) if z[k].dtype.kind == "V" else z[k] for k in z.files]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_small_loops(cli, tmp_path, seed):
    with jax.enable_x64(True):
        program = Loops(seed)
        file = str(tmp_path / "loops.jaxscope")
        jaxscope.capture(program.fn, values="all")(*program.args).save(file)
        want = jax.tree.leaves(jax.jit(program.fn)(*program.args))
        got = results(cli, file, tmp_path)
        assert len(got) == len(want)
        for ours, theirs in zip(got, want):
            error = largest_error(np.asarray(ours), np.asarray(theirs))
            assert error <= (TOLERANCE[program.dtype] if np.asarray(theirs).dtype.kind in "fV" else 0), f"JAXSCOPE_SEED={seed}: {error}"
