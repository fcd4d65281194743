"""`--save` and `--offload`: values chosen by hand. What was planned is what the program does once the Python that it gives is written into it."""
import pytest

MODEL = """import jax, jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
def block(x, w):
    h = jnp.tanh(x @ w[0])
    NAME_H
    y = jax.nn.softmax(h @ w[1])
    NAME_Y
    return y + x
def loss(ws, x):
    for w in ws:
        x = block(x, w)
    return (x ** 2).mean()
WRAP
"""


def capture(cli, name, **lines):
    jax = pytest.importorskip("jax")
    import jaxscope

    source = MODEL
    for mark in ("NAME_H", "NAME_Y", "WRAP"):
        source = source.replace(mark, lines.get(mark, "pass" if mark != "WRAP" else ""))
    path = cli.folder / f"{name}.py"
    path.write_text(source)
    space = {}
    exec(compile(source, str(path), "exec"), space)
    out = str(cli.folder / f"{name}.jaxscope")
    jaxscope.capture(space["loss"], differentiate=0)([jax.numpy.ones((2, 32, 32))] * 3, jax.numpy.ones((256, 32))).save(out)
    return out


def figures(cli, program, *options):
    residuals = cli.json("residuals", program, *options)
    # The gradient's peak: without a choice `plan` speaks of the program as it was captured, which is the loss alone.
    peak = cli.json("plan", program, *options)["memory"]["planned_peak"] if options else cli.json("policies", program, "--no-run")["policies"][0]["planned_peak"]
    return residuals["total_bytes"], sorted(r["aval"] for r in residuals["residuals"]), peak


@pytest.mark.parametrize("marks, lines", [
    (["--save", "plain.py:4=tanh"], {"NAME_H": 'h = checkpoint_name(h, "h")', "POLICY": 'save_only_these_names("h")'}),
    (["--save", "plain.py:4=tanh", "--save", "plain.py:6"],
     {"NAME_H": 'h = checkpoint_name(h, "h")', "NAME_Y": 'y = checkpoint_name(y, "y")', "POLICY": 'save_only_these_names("h", "y")', "inside": True}),
    (["--save", "none"], {"POLICY": "nothing_saveable"}),
    (["--offload", "plain.py:4=tanh"],
     {"NAME_H": 'h = checkpoint_name(h, "h")',
      "POLICY": 'save_and_offload_only_these_names(names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device", offload_dst="pinned_host")'}),
])
def test_what_was_planned_is_what_python_does(cli, schema, marks, lines):
    plain = capture(cli, "plain")
    lines = dict(lines)
    policy, inside = lines.pop("POLICY"), lines.pop("inside", False)
    written = capture(cli, "written", WRAP=f"loss = jax.checkpoint(loss, policy=jax.checkpoint_policies.{policy})", **lines)
    planned = figures(cli, plain, *marks)
    if not inside:  # a line that makes several values: all of them are named, where Python names the last
        assert planned == figures(cli, written)
    report = cli.json("plan", plain, *marks)
    schema.validate(report)
    by_hand = report["by_hand"]
    assert by_hand["where"] == "around the whole function loss" and "loss = jax.checkpoint(loss, policy=policy)" in by_hand["python"]
    assert {s["offloaded"] for s in by_hand["saved"]} <= {marks[0] == "--offload"} and len(by_hand["saved"]) >= len([m for m in marks if ":" in m])
    for row in by_hand["saved"]:
        assert row["count"] == 3 and f'checkpoint_name(..., "{row["name"]}")' in by_hand["python"] and row["name"] in by_hand["policy"]
    page = cli.ok("plan", plain, *marks)
    assert "Chosen by hand: a checkpoint around the whole function loss" in page and "What to write" in page


def test_names_that_are_there_and_checkpoints_that_are_there(cli):
    named = capture(cli, "named", NAME_H='h = checkpoint_name(h, "h")', WRAP="block = jax.checkpoint(block)")
    found = cli.json("plan", named, "--save", "h")
    assert found["by_hand"]["where"] == "in the checkpoints that are there" and found["by_hand"]["saved"][0]["has_name"]
    written = capture(cli, "written", NAME_H='h = checkpoint_name(h, "h")',
                      WRAP='block = jax.checkpoint(block, policy=jax.checkpoint_policies.save_only_these_names("h"))')
    assert figures(cli, named, "--save", "h") == figures(cli, written)


def test_what_cant_be_marked_is_refused(cli):
    plain = capture(cli, "plain")
    done = cli.raw("residuals", plain, "--save", "plain.py:2")
    assert done.returncode == 2 and "expected a value that a checkpoint_name could name at 'plain.py:2', found none" in done.stderr and "plain.py:4" in done.stderr
    done = cli.raw("residuals", plain, "--save", "plain.py:4", "--policy", "dots_saveable")
    assert done.returncode == 2 and "expected values marked by hand or a policy, found both" in done.stderr
    done = cli.raw("plan", plain, "--save", "=tanh")
    assert done.returncode == 2 and "expected FILE:LINE or a name to save" in done.stderr
