"""libtpu is one process's at a time: programs that ask for targets at once. Scripts stand for libtpu, and lock as it does."""
import concurrent.futures
import subprocess
import sys
import time

import pytest
from jaxscope.errors import TargetProblem
from jaxscope.targets import lock, names, request

from test_targets import ANSWER, capture, compiler, folder  # noqa: F401

TARGET = names.parse("tpu:v5p")
TAKEN = "ABORTED: Internal error when accessing libtpu multi-process lockfile. Run \"$ sudo rm /tmp/libtpu_lockfile\"."
LOCKING = """
    import fcntl
    held = open({path!r}, 'w')
    try:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.5)
        print(json.dumps({answer!r}))
    except BlockingIOError:
        print(json.dumps({{'topology': {taken!r}}}))
    sys.stdout.flush()
    os._exit(0)"""


@pytest.fixture
def libtpu(folder):  # noqa: F811
    return compiler(folder, LOCKING.format(path=str(folder / "lock"), answer=ANSWER, taken=TAKEN))


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(lock, "_POLL", 0.1)


@pytest.fixture
def holder(folder):  # noqa: F811
    """A process that holds libtpu's lock for so many seconds."""
    started = []

    def hold(seconds):
        script = f"import fcntl,time\nf=open({str(folder / 'lock')!r},'w')\nfcntl.lockf(f,fcntl.LOCK_EX)\nprint(1,flush=True)\ntime.sleep({seconds})"
        started.append(subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE))
        started[-1].stdout.readline()
        return started[-1]
    yield hold
    for process in started:
        process.kill()
        process.communicate()


def asked(python, deadline=None, tell=lambda text: None):
    return request.compile_for(TARGET, lambda: b"", python, deadline, tell)


@pytest.mark.parametrize("ours", [True, False])
def test_several_at_once_take_turns(libtpu, folder, quick, monkeypatch, ours):  # noqa: F811
    """Also without a lock of our own (another user's jaxscope): who comes second asks again."""
    if not ours:
        monkeypatch.setattr(lock, "_taken_by", lambda fd: None)
    told = []
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: asked(libtpu, tell=told.append), range(4)))
    assert [a["device"] for a in answers] == ["TPU v5"] * 4
    assert 1 <= len(told) <= 3 and all("uses libtpu" in text and text.endswith("waiting for it") for text in told)
    assert not (folder / "lock").exists()  # nobody holds it


def test_the_lock_is_waited_for_and_said(libtpu, folder, holder):  # noqa: F811
    held, told = holder(1.5), []
    with pytest.raises(TargetProblem, match=f"time-out: process {held.pid} held libtpu's lock .* all the time"):
        asked(libtpu, time.monotonic(), told.append)
    assert asked(libtpu, None, told.append)["device"] == "TPU v5"
    assert held.wait() == 0 and len(told) == 2 and f"process {held.pid} uses libtpu" in told[0]
    assert not (folder / "lock").exists()


def test_a_time_out_behind_a_wait_says_both(folder, holder):  # noqa: F811
    held = holder(1.5)
    with pytest.raises(TargetProblem, match=rf"time-out: XLA's compiler was not done; \d s of the time it waited for process {held.pid}, which held libtpu's lock"):
        asked(compiler(folder, "time.sleep(1000)"), time.monotonic() + 4)


def test_the_commands_own_time_out_says_what_it_waited_for(capture, libtpu, holder):  # noqa: F811
    held = holder(1000)
    done = capture("--target-python", libtpu, "--timeout", "4")
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 3 and f"not finished after 4 s: process {held.pid} held libtpu's lock" in last and "was not done" not in last, done.stderr


def test_a_lock_that_nobody_is_seen_to_hold_is_not_waited_for_forever(folder, quick):  # noqa: F811
    taken = compiler(folder, f"print(json.dumps({{'topology': {TAKEN!r}}}))")
    with pytest.raises(TargetProblem, match="no process is seen to hold it: ABORTED: Internal error"):
        asked(taken)
    with pytest.raises(TargetProblem, match="time-out: another process held libtpu's lock"):
        lock.Line("tpu:v5p", time.monotonic(), print).again(TAKEN)


def test_a_folder_that_takes_no_lock_of_ours(libtpu, folder, monkeypatch):  # noqa: F811
    monkeypatch.setattr(lock, "LIBTPU", str(folder / "nowhere" / "lock"))
    assert asked(libtpu)["device"] == "TPU v5"
