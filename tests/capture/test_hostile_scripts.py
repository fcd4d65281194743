"""Scripts that leave, hang, flood, start others or break what they were given: one line, the right exit code, nothing left behind."""
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import os, sys, signal, threading, time, jax, jax.numpy as jnp
def f(x): return jnp.cos(x) * 2
def good(): return dict(fn=f, args=(jnp.ones(3),))
def long_message(): raise ValueError("x" * 10_000_000)
def many_lines(): raise ValueError("line\\n" * 1_000_000)
def control(): raise ValueError("a\\x1b[31m \\x07 \\x00 \\r over \\u202e \\udcff end")
def no_text():
    class E(Exception):
        def __str__(self): raise RuntimeError("str")
    raise E
def says_goodbye(): sys.exit("goodbye")
def leaves(): os._exit(0)
def terminates(): os.kill(os.getpid(), signal.SIGTERM)
def no_memory(): bytearray(1 << 48)
def moves():
    os.mkdir("elsewhere"); os.chdir("elsewhere"); return good()
def deletes_itself():
    os.unlink(__file__); return good()
def writes_the_output():
    open("a.jaxscope", "w").write("mine"); return good()
def other_bytes():
    sys.stdout.buffer.write(b"\\xff\\xfe\\x80\\n"); return good()
def closes_output():
    sys.stdout.close(); return good()
def puts_another_error_stream():
    sys.stderr = open(os.devnull, "w"); raise ValueError("heard")
def reads():
    return dict(fn=f, args=(jnp.ones(len(sys.stdin.read())),))
def waits_for_a_thread():
    threading.Thread(target=time.sleep, args=(600,)).start(); return good()
def waits_for_workers():
    import multiprocessing as mp
    for way in ("fork", "spawn"): mp.get_context(way).Process(target=time.sleep, args=(600,)).start()
    return good()
def waits_for_a_pool():
    from concurrent.futures import ProcessPoolExecutor
    global pool
    pool = ProcessPoolExecutor(2); pool.submit(time.sleep, 600); return good()
def pool_complains():
    from concurrent.futures import process
    def of_its_dead(self, cause): raise ValueError("the queue is closed")
    process._ExecutorManagerThread.terminate_broken = of_its_dead
    import atexit
    atexit.register(time.sleep, 1); return waits_for_a_pool()
def leaves_slowly():
    import atexit
    atexit.register(time.sleep, 600); return good()
def leaves_a_daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 3); time.sleep(600)
        os._exit(0)
    return good()
def sleeps():
    open("running", "w"); time.sleep(600)
def sleeps_whatever_comes():
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM): signal.signal(s, signal.SIG_IGN)
    open("running", "w"); time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def start(folder, binary):
    def go(name, *words, **options):
        command = [binary, "capture", f"s.py:{name}", "-o", "a.jaxscope", "--python", sys.executable, *words]
        env = {**os.environ, "JAXSCOPE_TEST": str(folder)}
        return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return go


@pytest.fixture
def run(start, folder):
    def go(name, *words, given=b"", **options):
        p = start(name, *words, stdin=subprocess.PIPE, **options)
        out, err = p.communicate(given, timeout=100)
        assert not left_running(folder)
        assert [n.name for n in folder.iterdir() if n.name.startswith(".")] == []
        return p.returncode, out.decode(), err.decode(errors="replace")
    return go


def left_running(folder):
    """Processes whose environment has the folder: children keep it."""
    mark = f"JAXSCOPE_TEST={folder}".encode()
    found = []
    for p in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (p / "environ").read_bytes():
                found.append((p / "cmdline").read_bytes())
        except OSError:
            pass
    return found


@pytest.mark.parametrize("name, words", [
    ("long_message", "raised ValueError: xxxx"), ("many_lines", "raised ValueError: line"), ("control", r"a\x1b[31m \x07 \x00 \r over \u202e \udcff end"),
    ("no_text", "raised E: <its text can't be had: RuntimeError>"), ("says_goodbye", "ended the Python process: goodbye"),
    ("leaves", "ended with exit code 0 before anything was captured"), ("no_memory", "raised MemoryError"),
    ("puts_another_error_stream", "raised ValueError: heard"),
])
def test_one_line_at_the_end(run, folder, name, words):
    (folder / "a.jaxscope").write_text("an older one")
    code, out, err = run(name)
    last = err.splitlines()[-1]
    assert (code, out) == (2, "") and last.startswith("jaxscope: ") and words in last
    assert len(last.encode()) <= 1000 and last.isprintable() and len(err) < 20_000
    assert (folder / "a.jaxscope").read_text() == "an older one"


@pytest.mark.parametrize("name", ["moves", "deletes_itself", "writes_the_output", "other_bytes", "closes_output", "waits_for_a_thread",
                                  "waits_for_workers", "waits_for_a_pool", "pool_complains", "leaves_slowly", "leaves_a_daemon"])
def test_the_capture_is_made_all_the_same(run, folder, name):
    begin = time.monotonic()
    code, out, err = run(name)
    assert code == 0 and out.startswith("a.jaxscope: f, 2 equations") and "Traceback" not in err, err
    assert time.monotonic() - begin < 60 and (folder / "a.jaxscope").exists()


def test_a_script_may_read_what_is_given(run):
    assert run("reads", given=b"12345")[0] == 0


def test_a_signal_of_its_own(run):
    code, _, err = run("terminates")
    assert code == 130 and err.splitlines()[-1] == "jaxscope: interrupted"


@pytest.mark.parametrize("name", ["sleeps", "sleeps_whatever_comes"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c(start, folder, name, sent):
    p = start(name, stdin=subprocess.DEVNULL)
    while not (folder / "running").exists():
        assert p.poll() is None
        time.sleep(0.05)
    begin = time.monotonic()
    p.send_signal(sent)
    err = p.communicate(timeout=30)[1].decode()
    assert p.returncode == 130 and err.splitlines()[-1] == "jaxscope: cancelled [cancelled]" and time.monotonic() - begin < 5
    assert not left_running(folder) and not list(folder.glob("*.jaxscope"))


def test_a_full_disk_and_places_that_cannot_be_written(run, folder):
    limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))}
    code, _, err = run("good", **limited)
    assert code == 2 and "cannot write" in err.splitlines()[-1] and err.splitlines()[-1].endswith("File too large") and "Traceback" not in err
    assert not (folder / "a.jaxscope").exists()
    (folder / "a.jaxscope").mkdir()
    code, _, err = run("good")
    assert code == 2 and err.splitlines()[-1].endswith("it is a directory") and "Traceback" not in err


def test_a_link_stays_one(run, folder):
    (folder / "a.jaxscope").symlink_to("real")
    assert run("good")[0] == 0 and (folder / "a.jaxscope").is_symlink() and (folder / "real").stat().st_size > 100
