"""Compiled code on disk: found by its content, refused when it isn't what was written, shared by processes, bounded, off by a flag."""
import json
import os
import subprocess
import time

import pytest

from conftest import BINARY

PROGRAM = "{ lambda ; a:f32[64,32]. let b:f32[64,32] = tanh a; c:f32[32] = reduce_sum[axes=(0,)] b; d:f32[64,32] = broadcast_in_dim[broadcast_dimensions=(1,) shape=(64, 32) sharding=None] c; e:f32[64,32] = mul d b in (e,) }"


@pytest.fixture
def run(tmp_path):
    (tmp_path / "p.jaxpr").write_text(PROGRAM)

    def call(*words, **env):
        done = subprocess.run([BINARY, *words, "run", "p.jaxpr", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **env})
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        return found["outputs"], found["time"]["objects_compiled"], found["time"]["objects_from_disk"]
    call.folder = tmp_path / "cache" / "jaxscope" / "code"
    return call


def test_second_process_compiles_nothing(run):
    first, compiled, found = run()
    assert compiled > 0 and found == 0
    again, recompiled, found = run()
    assert again == first and recompiled == 0 and found == compiled
    assert run.folder.stat().st_mode & 0o777 == 0o700


def test_off_by_a_flag(run):
    run()
    assert run("--no-code-cache")[2] == 0
    for f in run.folder.iterdir():
        f.unlink()
    run("--no-code-cache")
    assert list(run.folder.iterdir()) == []


@pytest.mark.parametrize("harm", ["cut", "changed", "empty"])
def test_corrupt_code_is_compiled_anew(run, harm):
    first, compiled, _ = run()
    files = list(run.folder.iterdir())
    assert len(files) == compiled
    for file in files:
        data = bytearray(file.read_bytes())
        if harm == "changed":
            data[len(data) // 2] ^= 1
        file.write_bytes({"cut": data[:-7], "changed": data, "empty": b""}[harm])
    assert run() == (first, compiled, 0)
    assert run() == (first, 0, compiled)


def test_a_folder_that_others_may_write_is_not_used(run):
    run()
    run.folder.chmod(0o777)
    assert run()[2] == 0


def test_many_processes_at_a_time(run, tmp_path):
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    all_ = [subprocess.Popen([BINARY, "run", "p.jaxpr", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=env) for _ in range(6)]
    outputs = [json.loads(p.communicate(timeout=60)[0])["outputs"] for p in all_]
    assert all(o == outputs[0] for o in outputs)
    assert [f for f in run.folder.iterdir() if not f.name.endswith(".code")] == []


def test_it_is_bounded(run):
    run()
    old = run.folder / ("0" * 40 + ".code")
    with open(old, "wb") as f:
        f.truncate(300 << 20)
    os.utime(old, (time.time() - 1000,) * 2)
    for f in run.folder.iterdir():
        if f != old:
            f.unlink()
    _, compiled, _ = run()  # what it writes brings the folder above its bound
    assert not old.exists() and len(list(run.folder.iterdir())) == compiled
