"""Limits of memory and time: what is run lives in a process of its own, and its end is an ordinary message."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import BINARY, ROOT

pytestmark = pytest.mark.alone
ENDLESS = "{ lambda ; a:i32[]. let b:i32[] = while[body_jaxpr={ lambda ; c:i32[]. let d:i32[] = mul c 1:i32[] in (d,) } body_nconsts=0 cond_jaxpr={ lambda ; e:i32[]. let f:bool[] = ge e e in (f,) } cond_nconsts=0] a in (b,) }"
SORTS = "{ lambda ; a:f32[4000000]. let b:f32[4000000] = sort[dimension=0 is_stable=True num_keys=1] a; c:f32[4000000] = neg b; d:f32[4000000] = sort[dimension=0 is_stable=True num_keys=1] c in (d,) }"


def seconds_of(*args, cwd=None):
    begin = time.monotonic()
    done = subprocess.run([BINARY, *args], cwd=cwd, capture_output=True, text=True, timeout=60)
    return done, time.monotonic() - begin


def test_a_limit_of_time_ends_what_never_ends(cli):
    (cli.folder / "endless.jaxpr").write_text(ENDLESS)
    done, took = seconds_of("run", "endless.jaxpr", "--time-limit", "0.5", cwd=cli.folder)
    assert done.returncode == 3 and took < 4
    assert done.stderr.splitlines()[-1] == "jaxscope: expected an end within 500 ms, found it still at work [cannot-run]"
    assert "cancelled" not in done.stderr


def test_results_are_those_without_limits(cli):
    plain = cli.json("run", "sample:mlp")
    limited = cli.json("run", "sample:mlp", "--memory-limit", "1G", "--time-limit", "60")
    assert limited["outputs"] == plain["outputs"]


def test_a_limit_of_memory_below_the_plan_refuses_and_above_it_runs(cli):
    (cli.folder / "sorts.jaxpr").write_text(SORTS)
    memory = json.loads(seconds_of("run", "sorts.jaxpr", "--json", cwd=cli.folder)[0].stdout)["memory"]
    done, _ = seconds_of("run", "sorts.jaxpr", "--memory-limit", str(memory["planned_peak"] - 1), cwd=cli.folder)
    assert done.returncode == 3 and "expected a plan within" in done.stderr
    done, _ = seconds_of("run", "sorts.jaxpr", "--memory-limit", str(memory["planned_peak"] + (8 << 20)), cwd=cli.folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number, code", [(signal.SIGKILL, 3), (signal.SIGILL, 4), (signal.SIGABRT, 4)])
def test_death_of_the_child_is_a_message(cli, number, code):
    (cli.folder / "endless.jaxpr").write_text(ENDLESS)
    p = subprocess.Popen([BINARY, "run", "endless.jaxpr", "--time-limit", "30"], cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child = None
    end = time.monotonic() + 10
    while child is None and time.monotonic() < end:
        time.sleep(0.2)
        found = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
        child = int(found[0]) if found else None
    time.sleep(0.3)
    os.kill(child, number)
    _, error = p.communicate(timeout=10)
    assert p.returncode == code, error
    assert re.search(r"killed the process \(SIGKILL\).*its plan needs|SIGILL|SIGABRT", error) and error.startswith("jaxscope: ")


def test_interrupts_reach_the_child(cli):
    (cli.folder / "endless.jaxpr").write_text(ENDLESS)
    for number in (signal.SIGINT, signal.SIGTERM):
        p = subprocess.Popen([BINARY, "run", "endless.jaxpr", "--time-limit", "30"], cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.6)
        begin = time.monotonic()
        p.send_signal(number)
        _, error = p.communicate(timeout=10)
        assert p.returncode == 130 and time.monotonic() - begin < 2
        assert error.splitlines()[-1] == "jaxscope: cancelled [cancelled]", error
        assert error.count("cancelled [cancelled]") == 1, error


def test_profile(cli, schema):
    found = cli.json("run", "sample:mlp", "--profile", "--repeat", "3")
    schema.validate(found)
    profile = found["profile"]
    assert profile["flops_per_second"] > 1e8 and profile["bytes_per_second"] > 1e8
    assert profile["kernels"] == sorted(profile["kernels"], key=lambda r: -r["seconds"])
    products = [r for r in profile["kernels"] if r["what"] == "dot_general"]
    assert products and all(r["file"].endswith(".py") and r["line"] > 0 and r["flops"] > 0 for r in products)
    assert abs(sum(r["share"] for r in profile["kernels"] if not r["loop"]) - 1) < 1e-6
    live = 0
    for e in profile["events"]:
        live += {"alloc": e["bytes"], "free": -e["bytes"], "alias": 0}[e["kind"]]
        assert e["live_bytes"] == live
    assert live == 0
    assert "Profile: " in cli.ok("run", "sample:mlp", "--profile")


def test_what_is_measured_is_explained(cli):
    (cli.folder / "sorts.jaxpr").write_text(SORTS)
    memory = cli.json("run", "sorts.jaxpr")["memory"]
    assert memory["measurement_problem"] == ""
    beyond = memory["measured_peak"] - memory["planned_peak"]
    assert abs(beyond) <= max(1 << 20, memory["planned_peak"] // 100) or memory["unplanned"], json.dumps(memory)[:2000]


def test_what_is_larger_than_the_machine_is_not_begun(cli):
    for command in (["run", "sample:llama_7b"], ["samples", "llama_7b"], ["run", "sample:llama_7b", "--memory-limit", "1G"]):
        done, seconds = seconds_of(*command)
        assert done.returncode == 3 and "expected a plan within " in done.stderr and seconds < 20, done.stderr
    row = cli.json("policies", "sample:llama_7b", "--memory-limit", "64G", "--no-run")["policies"][0]
    assert row["measured_peak"] is None and row["planned_peak"] > 2**35


def test_report_asks_before_it_runs_what_is_large(tmp_path):
    """7 billion parameters: planned at once; run it would take hours and more memory than there is."""
    capture = ROOT / "samples" / "captures" / "llama_7b.jaxscope"
    done = subprocess.run([BINARY, "report", capture, "--json"], capture_output=True, text=True, timeout=300)
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["memory"]["planned_peak"] > 2**34 and report["memory"]["measured_peak"] is None
    said = [p for p in report["problems"] if p.startswith("run: not run without being asked")]
    assert len(said) == 1 and "hours" in said[0] and "--run" in said[0]
    assert all(row["planned_peak"] is None or row["measured_peak"] is None for row in report["policies"])
    both = subprocess.run([BINARY, "report", capture, "--run", "--no-run"], capture_output=True, text=True, timeout=60)
    assert both.returncode == 2 and "--run or --no-run" in both.stderr


def test_a_plan_says_for_which_machine_it_is(cli):
    sample = str(ROOT / "samples" / "captures" / "conv_net.jaxscope")
    one, four = (json.loads(cli.raw("plan", sample, "--threads", n, "--json").stdout)["memory"] for n in "14")
    assert (one["threads"], four["threads"]) == (1, 4) and one["instructions"] == four["instructions"] != ""
    assert 0 < one["scratch"] < four["scratch"]
    text = cli.raw("plan", sample, "--threads", "4").stdout
    assert f"planned for 4 threads and {four['instructions']}, which decide what kernels take to work in" in text
    estimate = json.loads(cli.raw("plan", sample, "--target", "tpu:v5p", "--json").stdout)["memory"]
    assert (estimate["threads"], estimate["instructions"], estimate["scratch"]) == (0, "", 0)


def test_a_budget_is_held_for_as_many_threads_as_it_says(cli):
    sample = str(ROOT / "samples" / "captures" / "conv_net.jaxscope")
    peak = json.loads(cli.raw("plan", sample, "--threads", "1", "--json").stdout)["memory"]["planned_peak"]
    kept, missed = (cli.raw("check", sample, "--threads", n, "--max-peak", str(peak), "--json") for n in "14")
    assert kept.returncode == 0 and json.loads(kept.stdout)["programs"][0]["threads"] == 1
    assert missed.returncode == 1 and json.loads(missed.stdout)["programs"][0]["threads"] == 4


def test_what_a_library_makes_once_is_no_memory_of_the_run(cli):
    """The first product of a process has 3.5 MiB of code made, 100 times what this one takes."""
    (cli.folder / "product.jaxpr").write_text(
        "{ lambda ; a:f32[64,64]. let b:f32[64,64] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a a in (b,) }\n")
    memory = cli.json("run", "product.jaxpr")["memory"]
    assert memory["planned_peak"] <= memory["measured_peak"] + (1 << 16) and memory["measured_peak"] < 1 << 20, json.dumps(memory)[:2000]
