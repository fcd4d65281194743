"""Captured programs over several devices, run on virtual ones by the command line, against JAX on eight forced host devices."""
import json
import os
import subprocess

import numpy as np
import pytest
from seed import seed_of_sample

from conftest import largest_error, made_by

JAXSCOPE = os.environ.get("JAXSCOPE", "jaxscope")
COUNT = 208 if os.environ.get("JAXSCOPE_FULL") else 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_by("sharded_programs.py", tmp_path_factory.mktemp("sharded"), seed_of_sample(), COUNT, timeout=1200)


def run(path, out):
    return subprocess.run([JAXSCOPE, "run", str(path), "--json", "--outputs", str(out)], capture_output=True, text=True, timeout=120)


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


def report(path, out):
    done = run(path, out)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_collectives_are_counted(folder, tmp_path):
    sharding = report(folder / "map-x8-gathers.jaxscope", tmp_path / "o.npz")["sharding"]
    found = [(c["kind"], c["members"], c["bytes"]) for c in sharding["collectives"]]
    # 2 x 3 floats a device: seven times 24 bytes for a gather, 1/8 of what was gathered for a scatter.
    assert ("all_gather", 8, 168) in found and ("reduce_scatter", 8, 168) in found
    assert sharding["sent_bytes"] == sum(c["total_bytes"] for c in sharding["collectives"])


def test_loops_multiply_what_is_sent(folder, tmp_path):
    rows = report(folder / "map-x8-loops.jaxscope", tmp_path / "o.npz")["sharding"]["collectives"]
    found = [(c["kind"], c["bytes"], c["times"]) for c in rows]
    # A scan of three steps meets in pmean and psum, a branch once; of a while loop nobody knows.
    assert ("psum", 7, 3) in found and ("psum", 42, 3) in found and ("psum", 42, 1) in found and ("pmax", 7, None) in found, found


def test_memory_is_one_devices(folder, tmp_path):
    memory = report(folder / "pmap.jaxscope", tmp_path / "o.npz")["memory"]
    # f32[8,4] by its first dimension, f32[4] everywhere; f32[1,4] and i32[1] come out.
    assert memory["devices"] == 8 and memory["arguments"] == 16 + 16 and memory["outputs"] == 16 + 4
    assert len(memory["device_peaks"]) == 8 and max(memory["device_peaks"]) == memory["measured_peak"] >= 52
