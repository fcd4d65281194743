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


@pytest.mark.parametrize("name", ["moves", "step", "loops", "apart", "uneven"])
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


# ---- Two machines: network namespaces with a cable between, each with a name of its own

class Machines:
    """Processes of the second one are started there by what Open MPI takes for ssh."""

    def __init__(self, folder):
        self.names = [f"jaxscope{os.getpid()}{side}" for side in "ab"]
        self.agent = folder / "agent.sh"
        self.agent.write_text(f"#!/bin/sh\nshift\nexec ip netns exec {self.names[1]} unshare --uts sh -c \"hostname second; $*\"\n")
        self.agent.chmod(0o755)

    def __enter__(self):
        ends = [name[-8:] + "0" for name in self.names]
        for name in self.names:
            ip("netns", "add", name)
        ip("link", "add", ends[0], "netns", self.names[0], "type", "veth", "peer", "name", ends[1], "netns", self.names[1])
        for k, (name, end) in enumerate(zip(self.names, ends)):
            ip("-n", name, "address", "add", f"10.77.0.{k + 1}/24", "dev", end)
            ip("-n", name, "link", "set", end, "up")
            ip("-n", name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)

    def job(self, *args):
        network = [w for kind in ("btl_tcp_if_include", "oob_tcp_if_include") for w in ("--mca", kind, "10.77.0.0/24")]
        command = [MPIRUN, "--host", "10.77.0.1:2,10.77.0.2:2", "-n", "4", "--bind-to", "none", "--mca", "plm_rsh_agent", str(self.agent), "--mca", "btl", "self,tcp", *network,
                   JAXSCOPE, "run", "--mpi", *map(str, args)]
        return ["ip", "netns", "exec", self.names[0], "unshare", "--uts", "sh", "-c", "hostname first; exec \"$@\"", "sh", *command]

    def sent(self):
        """Bytes over the cable."""
        table = subprocess.run(["ip", "netns", "exec", self.names[0], "cat", "/proc/net/dev"], capture_output=True, text=True, check=True).stdout
        return sum(int(line.split(":")[1].split()[8]) for line in table.splitlines() if ":" in line and "lo:" not in line)

    def ranks(self):
        """Of the second machine: what runs there, by its network."""
        there = os.stat(f"/run/netns/{self.names[1]}").st_ino
        found = []
        for p in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.stat(p / "ns" / "net").st_ino == there and b"--mpi" in (p / "cmdline").read_bytes() and b"mpirun" not in (p / "cmdline").read_bytes():
                    found.append(int(p.name))
            except OSError:  # it ended meanwhile, or isn't ours
                pass
        return found


def ip(*args):
    subprocess.run(["ip", *args], check=True, capture_output=True)


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    made = Machines(tmp_path_factory.mktemp("machines"))
    try:
        made.__enter__()
    except (OSError, subprocess.CalledProcessError) as e:
        made.__exit__()
        pytest.skip(f"this machine allows no network namespaces: {e}")
    yield made
    made.__exit__()


@pytest.mark.parametrize("name", ["moves", "step"])
def test_machines_give_what_threads_give_bit_for_bit(folder, machines, tmp_path, name):
    p, before = folder / f"{name}.jaxscope", machines.sent()
    for where, command in (("threads", [JAXSCOPE, "run", str(p)]), ("machines", machines.job(p))):
        done = ran([*command, "--json", "--outputs", str(tmp_path / f"{where}.npz")])
        assert done.returncode == 0, done.stderr
    threads, far = (np.load(tmp_path / f"{w}.npz") for w in ("threads", "machines"))
    assert threads.files and all(threads[k].tobytes() == far[k].tobytes() for k in threads.files)
    assert machines.sent() > before  # it went over the cable


def test_a_process_that_dies_on_the_other_machine_ends_the_job(folder, machines):
    work = subprocess.Popen(machines.job(folder / "spin.jaxscope"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
    end = time.monotonic() + 60
    while len(machines.ranks()) < 2 and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(3)
    ranks = machines.ranks()
    assert len(ranks) == 2 and work.poll() is None
    os.kill(ranks[0], signal.SIGKILL)
    begin = time.monotonic()
    _, said = work.communicate(timeout=30)
    assert time.monotonic() - begin < 10
    assert work.returncode != 0 and "on node 10.77.0.2 exited on signal 9" in said, said
    while machines.ranks() and time.monotonic() < end + 20:
        time.sleep(0.1)
    assert not machines.ranks()
