"""`plan --fit ARG:AXIS --budget SIZE`: the largest size that fits, and that the next one doesn't, as captures of these sizes plan them."""
import json
import sys

import pytest

TRAIN = """import jax, jax.numpy as jnp
def loss(params, batch):
    x = batch["x"]
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - batch["y"]) ** 2)

def train_step(params, batch):
    value, grads = jax.value_and_grad(loss)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

def program(n=96, odd=True):
    x = jnp.ones((n, 64))
    fn = train_step if odd else lambda p, b: train_step(p, {k: v.reshape(8, -1, 64) for k, v in b.items()})
    return dict(fn=fn, args=([jnp.ones((64, 64))] * 8, {"x": x, "y": x}), donate_argnums=(0,))

def eights():
    return program(odd=False)
"""
AXES = ("--fit", "batch['x']:0", "--fit", "batch['y']:0")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    pytest.importorskip("jax")
    path = tmp_path_factory.mktemp("sizes") / "train.py"
    path.write_text(TRAIN)
    return path


def plan(cli, *words, code=0):
    done = cli.raw("plan", *map(str, words), "--python", sys.executable, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)["sizes"]


def peaks_of(cli, source, size):
    import jaxscope

    space = {}
    exec(compile(source.read_text(), str(source), "exec"), space)
    made = space["program"](size)
    path = str(cli.folder / f"at{size}.jaxscope")
    jaxscope.capture(made["fn"], donate_argnums=0)(*made["args"]).save(path)
    return {r["policy"]: r["planned_peak"] for r in cli.json("policies", path, "--no-run")["policies"]}


def test_what_it_finds_fits_and_the_next_size_does_not(cli, schema, source):
    found = plan(cli, f"{source}:program", *AXES, "--budget", "1M")
    assert found["captured"] == 96 and found["axes"] == ["batch['x']:0", "batch['y']:0"]
    assert [r["policy"] for r in found["rows"]][:2] == ["as it is", "everything_saveable"] and any(r["around"] for r in found["rows"])
    for row in found["rows"]:
        assert row["problem"] == "" and row["next"] == row["largest"] + 1 and row["planned_peak"] <= 1 << 20 < row["next_peak"], row
    # The same by hand: captures of programs that have these sizes.
    for row in (found["rows"][0], min(found["rows"], key=lambda r: r["largest"]), max(found["rows"], key=lambda r: r["largest"])):
        assert peaks_of(cli, source, row["largest"])[row["policy"]] == row["planned_peak"]
        assert peaks_of(cli, source, row["next"])[row["policy"]] == row["next_peak"]
    schema.validate(json.loads(cli.raw("plan", f"{source}:program", *AXES, "--budget", "1M", "--python", sys.executable, "--json").stdout))


def test_from_a_capture_and_in_multiples(cli, source):
    capture = str(source.with_suffix(".jaxscope"))
    cli.ok("capture", f"{source}:program", "-o", capture, "--python", sys.executable)
    found = plan(cli, capture, "--fit", "1:0", "--multiple-of", "32", "--budget", "2M")
    assert all(r["largest"] % 32 == 0 and r["next"] == r["largest"] + 32 for r in found["rows"])
    page = cli.ok("plan", capture, "--fit", "batch:0", "--budget", "2M", "--python", sys.executable)
    assert "Largest batch:0 within 2.00 MiB" in page and "each block: a checkpoint around each of 8 calls" in page


def test_sizes_that_the_program_refuses(cli, source):
    found = plan(cli, f"{source}:eights", "--fit", "b:0", "--multiple-of", "8", "--budget", "1M")
    assert all(r["next"] == r["largest"] + 8 for r in found["rows"])
    refused = plan(cli, f"{source}:eights", "--fit", "b:0", "--budget", "1M")["rows"][0]
    assert refused["largest"] == 96 or "reshape" in refused["problem"]


def test_nothing_fits_and_nothing_ends(cli, source):
    none = plan(cli, f"{source}:program", *AXES, "--budget", "100K", code=1)
    assert all(r["largest"] is None and "not even 1 fits" in r["problem"] for r in none["rows"])


@pytest.mark.parametrize("words, code, said", [
    (("--fit", "x:0", "--budget", "1M"), 2, "expected an argument 'x', found params[0]"),
    (("--fit", "batch:2", "--budget", "1M"), 2, "batch['x']: expected an array with axis 2, found shape (96, 64)"),
    (("--fit", "batch", "--budget", "1M"), 2, "expected ARG:AXIS, such as x:0, found 'batch'"),
    (("--fit", "params[0]:0", "--fit", "batch:0", "--budget", "1M"), 2, "expected axes of one size, found params[0]:0 = 64, batch['x']:0 = 96"),
    (("--fit", "batch:0"), 2, "expected --budget SIZE beside --fit"),
    (("--fit", "batch:0", "--budget", "1M", "--apply", "dce"), 2, "expected --fit without --apply"),
])
def test_bad_requests(cli, source, words, code, said):
    done = cli.raw("plan", f"{source}:program", *words, "--python", sys.executable)
    assert done.returncode == code and said in done.stderr, done.stderr


def test_a_capture_that_does_not_say_where_it_is_from(cli):
    done = cli.raw("plan", "sample:mlp", "--fit", "x:0", "--budget", "1G", "--python", sys.executable)
    assert done.returncode == 2 and done.stderr.count("\n") <= 2
