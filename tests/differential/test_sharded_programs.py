"""Captured programs over several devices, run on virtual ones (core/sharding, core/devices), against JAX on eight forced host devices."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from seed import seed_of_sample

from conftest import largest_error

DRIVER = pathlib.Path(os.environ.get("JAXSCOPE", "jaxscope")).parent / "tests" / "device_driver"
COUNT = 208 if os.environ.get("JAXSCOPE_FULL") else 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    seed = seed_of_sample()
    out = tmp_path_factory.mktemp("sharded")
    script = pathlib.Path(__file__).with_name("sharded_programs.py")
    done = subprocess.run([sys.executable, str(script), str(out), str(seed), str(COUNT)], capture_output=True, text=True, timeout=1200,
                          env=dict(os.environ, JAX_PLATFORMS="cpu"))
    assert done.returncode == 0, done.stderr[-3000:]
    return out


def run(path, out):
    return subprocess.run([str(DRIVER), str(path), str(out)], capture_output=True, text=True, timeout=120)


def test_values_are_jaxs(folder, tmp_path):
    programs = sorted(folder.glob("*.jaxscope"))
    assert len(programs) == 11 + COUNT
    wrong = []
    for p in programs:
        out = tmp_path / (p.stem + ".npz")
        done = run(p, out)
        if done.returncode != 0:
            wrong.append(f"{p.stem}: {done.stderr.strip()}")
            continue
        ours, theirs = np.load(out), np.load(folder / (p.stem + ".jax.npz"))
        for name in theirs.files:
            error = largest_error(ours[name], theirs[name])
            if not error < 2e-4:
                wrong.append(f"{p.stem} {name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_two_runs_are_the_same_bit_for_bit(folder, tmp_path):
    p = folder / "map-x8-sums.jaxscope"
    assert run(p, tmp_path / "a.npz").returncode == 0 and run(p, tmp_path / "b.npz").returncode == 0
    a, b = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    assert all(a[n].tobytes() == b[n].tobytes() for n in a.files)


def test_collectives_are_counted(folder, tmp_path):
    lines = run(folder / "map-x8-gathers.jaxscope", tmp_path / "o.npz").stdout.splitlines()
    found = [l.split()[1:] for l in lines if l.startswith("collective")]
    # 2 x 3 floats a device: seven times 24 bytes for a gather, 1/8 of what was gathered for a scatter.
    assert ["all_gather", "8", "168"] in found and ["reduce_scatter", "8", "168"] in found
