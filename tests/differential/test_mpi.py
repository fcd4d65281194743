"""`mpirun -n N jaxscope run --mpi`: one process a device, the same numbers bit for bit as on threads, and an end where one of them dies."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from conftest import made_by

JAXSCOPE = os.environ.get("JAXSCOPE", "jaxscope")
MPIRUN = shutil.which("mpirun")
pytestmark = pytest.mark.skipif(not MPIRUN, reason="needs Open MPI's mpirun (Debian: openmpi-bin)")
ENV = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_by("mpi_programs.py", tmp_path_factory.mktemp("mpi"))


def job(n, *args):
    return [MPIRUN, "-n", str(n), "--bind-to", "none", JAXSCOPE, "run", "--mpi", *map(str, args)]


def ran(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENV)


@pytest.mark.parametrize("name", ["moves", "step", "loops", "uneven"])
def test_processes_give_what_threads_give_bit_for_bit(folder, tmp_path, name):
    p = folder / f"{name}.jaxscope"
    reports = []
    for where, command in (("threads", [JAXSCOPE, "run", str(p)]), ("processes", job(4, p))):
        done = ran([*command, "--json", "--outputs", str(tmp_path / f"{where}.npz")])
        assert done.returncode == 0, done.stderr
        reports.append(json.loads(done.stdout))  # one object: the first process speaks for all
    threads, processes = (np.load(tmp_path / f"{w}.npz") for w in ("threads", "processes"))
    assert sorted(threads.files) == sorted(processes.files) != []
    for k in threads.files:
        assert threads[k].dtype == processes[k].dtype and threads[k].tobytes() == processes[k].tobytes(), k
    assert reports[0]["outputs"] == reports[1]["outputs"]
    assert reports[0]["memory"]["device_peaks"] == reports[1]["memory"]["device_peaks"] and len(reports[0]["memory"]["per_device"]) == 4


def children(pid):
    out = []
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int((p / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                out.append(int(p.name))
        except (OSError, ValueError):  # it ended meanwhile
            pass
    return out


def at_work(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"  # who is dead waits for a parent that reads it
    except OSError:
        return False


def test_a_process_that_dies_ends_the_job(folder):
    work = subprocess.Popen(job(4, folder / "spin.jaxscope"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
    end = time.monotonic() + 60
    while len(children(work.pid)) < 4 and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(3)  # they are at work
    ranks = children(work.pid)
    assert len(ranks) == 4 and work.poll() is None
    os.kill(ranks[2], signal.SIGKILL)
    begin = time.monotonic()
    _, said = work.communicate(timeout=30)
    assert time.monotonic() - begin < 10
    assert work.returncode != 0 and "signal 9" in said, said
    end = time.monotonic() + 10
    while any(at_work(p) for p in ranks) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [p for p in ranks if at_work(p)]


@pytest.mark.parametrize("n, name, words", [(3, "step", "expected a process for each of the program's 4 devices, found 3"),
                                            (2, "alone", "expected a program over several devices for several processes, found one for one")])
def test_what_cannot_be_is_said_once(folder, n, name, words):
    done = ran(job(n, folder / f"{name}.jaxscope"))
    assert done.returncode == 3 and done.stderr.count(words) == 1 and done.stdout == "", done.stderr
