"""Ctrl-C while something computes: 200 times, each ends with 130 and never by a crash; and what the environment says of threads."""
import json
import os
import random
import signal
import subprocess
import time

import pytest

from conftest import BINARY

# Nothing but products of matrices, which compile at once: the library's kernels use the stack register as a pointer into the heap, and the
# frame of a handler would be written there.
pytestmark = pytest.mark.alone
PRODUCTS = """{ lambda ; a:f32[256,256] b:f32[256,256]. let
    c:f32[256,256] = scan[
      jaxpr={ lambda ; d:f32[256,256] e:f32[256,256]. let
          f:f32[256,256] = dot_general[dimension_numbers=(([1], [0]), ([], []))] e d
          g:f32[256,256] = tanh f
        in (g,) }
      length=64
      linear=(False, False)
      num_carry=1
      num_consts=1
      reverse=False
      unroll=1
    ] a b
    h:f32[] = reduce_sum[axes=(0, 1)] c
  in (h,) }
"""
RUN_ON = ["--repeat", "100000"]


@pytest.fixture
def products(cli):
    (cli.folder / "products.jaxpr").write_text(PRODUCTS)
    return cli


def seconds(cli, args) -> float:
    begin = time.monotonic()
    cli.ok(*args)
    return time.monotonic() - begin


def interrupted(cli, args, after: float) -> bool:
    """False: it had ended before."""
    p = subprocess.Popen([BINARY, *args], cwd=cli.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(after)
    if p.poll() is None:
        p.send_signal(signal.SIGINT)
    _, error = p.communicate(timeout=30)
    assert p.returncode in (0, 130), f"{args} after {after:.3f} s: {p.returncode}\n{error}"
    assert "bug" not in error
    return p.returncode == 130


@pytest.mark.parametrize("times, args", [
    (124, ["run", "products.jaxpr", "--threads", "1"]),
    (40, ["run", "products.jaxpr"]),
    (6, ["run", "sample:transformer_lm", "--threads", "1"]),
    (6, ["run", "sample:transformer_lm"]),
    (12, ["policies", "products.jaxpr"]),
    (12, ["export", "products.jaxpr", "--run", "-o", "out.html"]),
])
def test_ctrl_c_while_computing(products, times, args):
    whole = seconds(products, args)
    runs_on = args[0] == "run"
    rng = random.Random(0)
    done = tried = 0
    while done < times:
        # A run goes on until it is stopped; of the others most of the time is spent in runs, and some may end before they are stopped.
        after = whole * rng.uniform(0.9, 1.3) if runs_on else whole * rng.uniform(0.3, 0.8)
        stopped = interrupted(products, args + (RUN_ON if runs_on else []), after)
        done += stopped
        tried += 1
        whole *= 1 if stopped else 0.7  # measured while the machine was busier
        assert tried < 2 * times + 4
    assert not [f for f in os.listdir(products.folder) if f.startswith("out.html.")]


def signals_of(pid: int) -> dict[str, set[str]]:
    """Of each thread: which of the signals that a user sends it takes, and which it has blocked."""
    out = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status") as f:
            blocked = next(int(line.split()[1], 16) for line in f if line.startswith("SigBlk:"))
        out[task] = {s.name for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGTSTP) if blocked >> (s - 1) & 1}
    return out


def test_one_thread_takes_the_signals(products):
    p = subprocess.Popen([BINARY, "run", "products.jaxpr", "--threads", "3", *RUN_ON], cwd=products.folder, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while len(os.listdir(f"/proc/{p.pid}/task")) < 4 and time.monotonic() < end:  # 3 that compute, the signals'
        time.sleep(0.02)
    blocked = list(signals_of(p.pid).values())
    p.send_signal(signal.SIGTERM)
    assert p.wait(timeout=20) == 130
    everything = {"SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD", "SIGTSTP"}
    # One waits for the first two (which the system then counts as not blocked) and takes the others.
    takes = [b for b in blocked if b != everything]
    assert len(blocked) >= 4 and takes in ([set()], [{"SIGINT", "SIGTERM"}])


@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
def test_other_signals_do_what_they_do_anywhere(products, sent):
    p = subprocess.Popen([BINARY, "run", "products.jaxpr", *RUN_ON], cwd=products.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         preexec_fn=lambda: signal.signal(sent, signal.SIG_DFL))  # nohup, and shells in the background, have some ignored
    time.sleep(0.3)
    p.send_signal(sent)
    try:
        assert p.wait(timeout=20) == -sent
    finally:
        p.kill()


def test_ctrl_z_stops_and_goes_on(products):
    p = subprocess.Popen([BINARY, "run", "products.jaxpr", *RUN_ON], cwd=products.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.3)
    p.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(p.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    p.send_signal(signal.SIGCONT)
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=20) == 130


TANH = """{ lambda ; a:f32[500,500]. let
    b:f32[500,500] = tanh a
    c:f32[500,500] = mul b 2.0:f32[]
    d:f32[500] = reduce_sum[axes=(0,)] c
    e:f32[500] = cumsum[axis=0 reverse=False] d
    f:f32[300,300] = slice[limit_indices=(300, 300) start_indices=(0, 0) strides=None] c
    g:f32[300,300] = dot_general[dimension_numbers=(([1], [0]), ([], []))] f f
    h:f32[500,500] = sort[dimension=1 is_stable=True num_keys=1] a
    i:f32[1,1,300,300] = reshape[dimensions=None new_sizes=(1, 1, 300, 300) sharding=None] f
    j:f32[8,1,3,3] = broadcast_in_dim[broadcast_dimensions=() shape=(8, 1, 3, 3) sharding=None] 0.5:f32[]
    k:f32[1,8,298,298] = conv_general_dilated[
      batch_group_count=1
      dimension_numbers=ConvDimensionNumbers(lhs_spec=(0, 1, 2, 3), rhs_spec=(0, 1, 2, 3), out_spec=(0, 1, 2, 3))
      feature_group_count=1
      lhs_dilation=(1, 1)
      padding=((0, 0), (0, 0))
      precision=None
      preferred_element_type=None
      rhs_dilation=(1, 1)
      window_strides=(1, 1)
    ] i j
  in (c, e, g, h, k) }
"""


@pytest.mark.parametrize("name, value", [("OMP_THREAD_LIMIT", "1"), ("OMP_THREAD_LIMIT", "2"), ("OMP_DYNAMIC", "true"), ("OMP_NUM_THREADS", "1"),
                                         ("OMP_NUM_THREADS", "7"), ("OMP_MAX_ACTIVE_LEVELS", "0"), ("OMP_NESTED", "true"), ("OMP_WAIT_POLICY", "active")])
def test_numbers_stay_whatever_the_environment_says_of_threads(cli, monkeypatch, name, value):
    """Half of every threaded kernel's result wasn't written where fewer threads came than were asked for."""
    (cli.folder / "tanh.jaxpr").write_text(TANH)

    def outputs(threads: int):
        done = subprocess.run([BINARY, "run", "tanh.jaxpr", "--json", "--threads", str(threads)], cwd=cli.folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["outputs"]

    expected = outputs(1)
    monkeypatch.setenv(name, value)
    for want, got in zip(expected, outputs(3), strict=True):
        for figure in ("sum", "abs_sum", "wsum"):
            assert got[figure] == pytest.approx(want[figure], rel=1e-5, abs=1e-5 * want["abs_sum"]), (got["path"], figure)

