"""`--apply`: what a step leaves the same stays the same, names and values follow, results can be written and read."""
import json
import subprocess

import pytest

from conftest import TEXT

NEUTRAL = ["simplify", "jit", "checkpoint", "checkpoint:dots_saveable", "dce"]


def values(outputs):
    return [o.get("values", o.get("first16")) for o in outputs]


def read_capture(path):
    data = path.read_bytes()
    return json.loads(data if data.startswith(b"{") else subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout)


def close(ours, theirs):
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours == theirs or isinstance(theirs, float) and ours == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("program, step", [(p, s) for p in ("sample:mlp", "x.jaxpr") for s in NEUTRAL] + [("sample:transformer_lm_scan", "simplify")])
def test_steps_that_compute_the_same(cli, program, step):
    before, after = cli.json("run", program), cli.json("run", program, "--apply", step)
    assert [(o["path"], o["aval"]) for o in after["outputs"]] == [(o["path"], o["aval"]) for o in before["outputs"]]
    assert close(values(after["outputs"]), values(before["outputs"]))


def test_jit_then_simplify_is_simplify(cli):
    jit = cli.json("transform", "sample:mlp", "--apply", "jit", "--print")
    assert jit["program"]["primitives"]["jit"] == 1 and jit["program"]["jaxprs"] == 1
    both = cli.json("transform", "sample:mlp", "--apply", "jit", "--apply", "simplify", "--print")["text"]
    assert both == cli.json("transform", "sample:mlp", "--apply", "simplify", "--print")["text"]


def test_simplify_merges_inlines_and_drops(cli):
    text = """{ lambda ; a:f32[3]. let
    b:f32[3] = jit[name=f jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c; e:f32[3] = cos c in (d,) }] a
    f:f32[3] = sin a
    g:f32[3] = convert_element_type[new_dtype=float32 weak_type=False] f
    h:f32[3] = add b g
    i:f32[3] = optimization_barrier h
    j:f32[3] = optimization_barrier h
    k:f32[3] = add i j
  in (k,) }"""
    assert cli.json("transform", "-", "--apply", "simplify", "--print", input=text)["program"]["primitives"] == {"add": 2, "optimization_barrier": 2, "sin": 1}


def test_names_follow_the_result_trees_of_jax(cli):
    (cli.folder / "r.txt").write_text(TEXT)
    paths = lambda *steps: [o["path"] for o in cli.json("transform", "r.txt", *[w for s in steps for w in ("--apply", s)])["program"]["outputs"]]
    assert paths("grad") == ["[0]", "[1]"] and paths("grad:1") == [""]
    assert paths("value_and_grad") == ["[0]", "[1][0]", "[1][1]"] and paths("value_and_grad:0") == ["[0]", "[1]"]
    assert paths("jvp") == ["[0]", "[1]"] and paths("vmap") == [""]
    inputs = cli.json("transform", "r.txt", "--apply", "jvp:1")["program"]["inputs"]
    assert [i["path"] for i in inputs] == ["a", "b", "tangent of b"]
    assert [i["path"] for i in cli.json("transform", "r.txt", "--apply", "linearize:0")["program"]["inputs"]][-1] == "tangent of a"


def test_vmap_sizes_and_axes(cli):
    avals = lambda step: [i["aval"] for i in cli.json("transform", "x.jaxpr", "--apply", step)["program"]["inputs"]]
    assert avals("vmap") == ["f32[8,3,4]", "f32[8,4]"] and avals("vmap@2") == ["f32[2,3,4]", "f32[2,4]"]
    assert avals("vmap:0,-@5") == ["f32[5,3,4]", "f32[4]"] and avals("vmap:-1,1@5") == ["f32[3,4,5]", "f32[4,5]"]


def test_values_of_another_shape_are_not_taken_over(cli):
    found = cli.json("run", "sample:mlp", "--apply", "vmap@2")
    assert len(found["synthesised"]) == 6 and found["outputs"][0]["aval"].startswith("f32[2,")


@pytest.mark.parametrize("step", ["grad", "jvp", "linearize", "vmap@3", "checkpoint", "simplify", "jit", "value_and_grad:1"])
def test_what_is_written_is_what_is_printed(cli, step):
    text = cli.json("transform", "x.jaxpr", "--apply", step, "--print", "-o", "y.jaxscope")["text"]
    assert cli.json("print", "y.jaxscope")["text"] == text
    assert cli.json("run", "y.jaxscope")["outputs"] == cli.json("run", "x.jaxpr", "--apply", step)["outputs"]


@pytest.mark.parametrize("step, kept", [("grad", [0, 1]), ("value_and_grad:1", [0, 1]), ("jvp", [0, 1]), ("linearize", []), ("vmap:0,-@3", [0, 1])])
def test_shardings_follow_their_inputs(cli, step, kept):
    """Shardings stand input by input, same arrays by number: a step with other inputs numbers the ones anew and forgets the others."""
    cli.ok("transform", "x.jaxpr", "--apply", "simplify", "-o", "plain.jaxscope")
    capture = read_capture(cli.folder / "plain.jaxscope")
    spread = ["first's", "second's"]
    capture["program"]["in_shardings"], capture["program"]["same_arrays"] = spread, [[0, 1]]
    (cli.folder / "spread.jaxscope").write_text(json.dumps(capture))
    cli.ok("transform", "spread.jaxscope", "--apply", step, "-o", "out.jaxscope")
    inputs = cli.json("transform", "out.jaxscope", "--apply", "simplify")["program"]["inputs"]  # the reader takes it
    program = read_capture(cli.folder / "out.jaxscope")["program"]
    assert "same_arrays" not in program
    found = program.get("in_shardings", [])
    assert len(found) in (0, len(inputs)) and [s for s in found if s is not None] == [spread[i] for i in kept]
    assert found[: len(kept)] == [spread[i] for i in kept]
