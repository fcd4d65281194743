"""What-ifs of layouts: `plan --spec` and `--layout`, on a transformer of 70 billion parameters over 256 devices that aren't there."""
import json
import os
import subprocess
import time

import pytest

from conftest import made_by

JAXSCOPE = os.environ.get("JAXSCOPE", "jaxscope")
COLUMNS, ROWS = ("query", "key", "value", "gate", "up"), ("out", "down")
TENSOR = "; ".join([f"params['layers']['{n}']=P(None, None, 'model')" for n in COLUMNS] + [f"params['layers']['{n}']=P(None, model)" for n in ROWS] +
                   ["params['embedding']=P('model')", "params['logits']=P(None, 'model')"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_by("sharded_transformer.py", tmp_path_factory.mktemp("layouts"))


def plan(path, *more):
    begin = time.monotonic()
    done = subprocess.run([JAXSCOPE, "plan", str(path), "--json", *more], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begin < 30
    return json.loads(done.stdout)


def test_a_layout_that_is_tried_is_the_layout_that_is_captured(folder):
    rows = plan(folder / "fsdp.jaxscope", "--layout", TENSOR)["layouts"]
    captured = {name: plan(folder / f"{name}.jaxscope") for name in ("fsdp", "tensor")}
    assert [r["layout"] for r in rows] == ["as captured", TENSOR]
    for row, name in zip(rows, ("fsdp", "tensor")):
        for figure in ("planned_peak", "arguments", "outputs", "aliased", "temporaries"):
            assert row[figure] == captured[name]["memory"][figure], (name, figure)
        assert row["sent_bytes"] == captured[name]["sharding"]["sent_bytes"]
    assert rows[0]["arguments"] < rows[1]["arguments"] / 10


def test_spec_is_that_layout_alone(folder):
    specs = [part for text in TENSOR.split(";") for part in ("--spec", text)]
    asked, captured = plan(folder / "fsdp.jaxscope", *specs), plan(folder / "tensor.jaxscope")
    assert asked["memory"] == captured["memory"]
    assert [i["local"] for i in asked["sharding"]["inputs"]] == [i["local"] for i in captured["sharding"]["inputs"]]


def test_arguments_are_what_the_specs_say(folder):
    layer = 2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672
    cut, whole = 80 * layer + 2 * 8192 * 128256, 80 * 2 * 8192
    tokens = 16 * 4096 * 4
    assert plan(folder / "fsdp.jaxscope")["memory"]["arguments"] == 2 * (cut // 256 + whole) + tokens
    assert plan(folder / "tensor.jaxscope")["memory"]["arguments"] == 2 * (cut // 16 + whole) + tokens


def test_scanned_layers_lie_as_unrolled_ones(folder):
    """How values lie goes into a scan's body and comes out: what it stacks is cut, too."""
    scanned, unrolled = plan(folder / "fsdp.jaxscope"), plan(folder / "unrolled.jaxscope")
    stacked = [v for v in scanned["sharding"]["values"] if v["path"] == "scan" and v["aval"] == "bf16[80,256,4096,8192]"]
    assert stacked and all(v["local"] == "bf16[80,16,4096,8192]" for v in stacked)
    assert abs(scanned["memory"]["planned_peak"] - unrolled["memory"]["planned_peak"]) < 0.05 * unrolled["memory"]["planned_peak"]


@pytest.mark.parametrize("spec, words", [
    ("tokens=P('data','data')", "an axis stands in it twice"), ("tokens=P('z')", "the mesh has no axis 'z'"),
    ("tokens=P('data',None,None)", "more dimensions"), ("nothing=P()", "found 'nothing'"), ("tokens=Q('x')", "expected a spec such as"),
    ("tokens", "expected PATH=SPEC"), ("params['layers']['norm']=P(None, 'model')", "the parts wouldn't be equal")])
def test_a_spec_that_cannot_be_is_refused(folder, spec, words):
    done = subprocess.run([JAXSCOPE, "plan", str(folder / "fsdp.jaxscope"), "--spec", spec], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and words in done.stderr, done.stderr


@pytest.mark.parametrize("more, words", [((), "256 virtual devices within this machine's"), (("--memory-limit", "1G"), "expected a plan within 1.00 GiB on each device")])
def test_a_run_beyond_this_machine_is_refused_before_it_begins(folder, more, words):
    begin = time.monotonic()
    done = subprocess.run([JAXSCOPE, "run", str(folder / "fsdp.jaxscope"), *more], capture_output=True, text=True, timeout=120)
    assert done.returncode == 3 and words in done.stderr, done.stderr
    assert time.monotonic() - begin < 10


def test_a_program_over_one_device_has_no_layouts():
    done = subprocess.run([JAXSCOPE, "plan", "sample:mlp", "--spec", "x=P()"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 3 and "nothing names a mesh" in done.stderr
