"""debug_print in a run: how often, where, and with --debug-prints the text that JAX writes."""
import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from conftest import made_by

SEED = int(os.environ.get("JAXSCOPE_SEED", 1))


def printed_by_jax(fn, args, capsys) -> list:
    capsys.readouterr()
    jax.jit(fn)(*args)
    jax.effects_barrier()
    return capsys.readouterr().out.splitlines()


def report(cli, fn, args, *options) -> dict:
    file = str(cli.folder / "prints.jaxscope")
    jaxscope.capture(fn, values="all")(*args).save(file)
    return cli.json("run", file, *options)


def printed(rows) -> list:
    texts = sorted((o, t) for r in rows for o, t in zip(r["order"], r["texts"]))
    return [line for _, t in texts for line in t.splitlines()]


def formats(x, y):
    jax.debug.print("x={x} {} {{}}", 3, x=x, ordered=True)
    jax.debug.print("{0:.3f}|{1:>8d}|{0:+.2e}|{y!s:>40}|{b}", x.sum(), jnp.int32(7), y=y, b=True, ordered=True)
    jax.debug.print("{a} {n}", a="hi", n=x[0], ordered=True)
    jax.debug.print("{} {}", jnp.float32(1e20), jnp.float32(1.5e-7), ordered=True)
    return x * y


def loops(x, y):
    def step(c, a):
        jax.debug.print("step {} of {}", a, c, ordered=True)
        return c + a, c * a
    c, ys = jax.lax.scan(step, x.sum(), y)
    def body(s):
        jax.debug.print("while {}", s, ordered=True)
        return s + 1
    jax.lax.while_loop(lambda s: s < 3, body, 0)
    jax.lax.cond(c > 100, lambda: jax.debug.print("never"), lambda: jax.debug.print("else {}", c))
    return ys


@pytest.mark.parametrize("fn", [formats, loops])
def test_texts(cli, capsys, fn):
    args = jnp.linspace(0.1, 0.9, 4), jnp.linspace(-0.7, 0.8, 4)
    theirs = printed_by_jax(fn, args, capsys)
    rows = report(cli, fn, args, "--debug-prints")["debug_prints"]
    assert printed(rows) == theirs
    assert all(r["problem"] == "" and len(r["texts"]) == r["calls"] and "test_debug_prints.py" in r["source"] for r in rows)


def array(r) -> np.ndarray:
    shape = tuple(r.integers(1, 6, r.integers(0, 4))) if r.random() < 0.8 else (int(r.integers(900, 1200)),)
    kind = r.integers(0, 6)
    if kind == 0:
        return r.integers(-1000, 1000, shape).astype(np.int32)
    if kind == 1:
        return r.random(shape) < 0.5
    x = (r.standard_normal(shape) * 10.0 ** r.integers(-8, 9)).astype(np.float32)
    if kind == 2:
        x = np.asarray(np.round(x, 2), np.float32)
    if kind == 3 and x.size > 1:
        x.flat[:: max(2, x.size // 3)] = r.choice([np.nan, np.inf, -np.inf, 0.0])
    return x


def test_arrays(cli, capsys):
    """Arrays as NumPy writes them: exponents, widths, broken rows, long ones cut."""
    r = np.random.default_rng(SEED)
    arrays = [jnp.asarray(array(r)) for _ in range(120)]

    def fn(*arrays):
        for i, a in enumerate(arrays):
            jax.debug.print("{}: {}", i, a, ordered=True)
        return arrays[0]
    theirs = printed_by_jax(fn, arrays, capsys)
    assert printed(report(cli, fn, arrays, "--debug-prints")["debug_prints"]) == theirs, f"JAXSCOPE_SEED={SEED}"


def test_counted(cli):
    """Without the flag calls are counted and nothing is read; what jaxscope can't write says so."""
    def fn(x):
        jax.debug.callback(lambda v: None, x)
        jax.debug.print("{}", {"a": x})
        jax.debug.print("{x!r}", x=x)
        return jax.lax.map(lambda a: (jax.debug.print("{}", a.astype(jnp.bfloat16)), a)[1], x)
    x = jnp.arange(5.0)
    plain = report(cli, fn, (x,))
    assert [r["calls"] for r in plain["debug_prints"]] == [1, 1, 1, 5]
    assert all(r["texts"] == [] and r["problem"] == "" for r in plain["debug_prints"])
    problems = [r["problem"] for r in report(cli, fn, (x,), "--debug-prints")["debug_prints"]]
    assert problems[0] == "it calls Python, which isn't run"
    assert "trees" in problems[1] and "{x!r}" in problems[2] and "bf16[]" in problems[3]
    np.testing.assert_array_equal(plain["outputs"][0]["values"], x)
    assert "Debug prints" in cli.raw("run", str(cli.folder / "prints.jaxscope")).stdout


def test_dead_loops_look_too(cli, capsys):
    def fn(x):
        jax.lax.scan(lambda c, _: (jax.debug.print("c {}", c), c * 2)[1:] + (None,), x[0], length=3)
        return x * 2
    x = jnp.arange(1.0, 4.0)
    theirs = printed_by_jax(fn, (x,), capsys)
    assert len(theirs) == 3
    assert printed(report(cli, fn, (x,), "--debug-prints")["debug_prints"]) == theirs


def test_report_shows_them(cli, capsys, tmp_path):
    args = jnp.linspace(0.1, 0.9, 4), jnp.linspace(-0.7, 0.8, 4)
    theirs = printed_by_jax(loops, args, capsys)
    file = str(cli.folder / "prints.jaxscope")
    jaxscope.capture(loops, values="all")(*args).save(file)
    assert printed(cli.json("report", file, "--debug-prints")["debug_prints"]) == theirs
    counted = cli.json("report", file)["debug_prints"]
    assert sum(r["calls"] for r in counted) == len(theirs) and not any(r["texts"] for r in counted)
    page = cli.raw("report", file, "--debug-prints", "-d", str(tmp_path)).stdout
    html = (tmp_path / "report.html").read_text()
    assert all(line in page and line in html for line in theirs), theirs


@pytest.fixture(scope="module")
def over_devices(tmp_path_factory):
    return made_by("sharded_prints.py", tmp_path_factory.mktemp("prints"))


@pytest.mark.parametrize("name", ["both", "parts", "last"])
def test_over_several_devices(cli, over_devices, name):
    """What looks at whole values does so once, what stands in shard_map or asks for parts on each device; JAX leaves the order of devices open."""
    theirs = json.loads((over_devices / "said.json").read_text())[name]
    found = cli.json("run", str(over_devices / f"{name}.jaxscope"), "--debug-prints")
    rows = found["debug_prints"]
    assert sorted(printed(rows)) == sorted(theirs)
    counted = cli.json("run", str(over_devices / f"{name}.jaxscope"))["debug_prints"]
    assert [r["calls"] for r in counted] == [r["calls"] for r in rows] and not any(r["texts"] for r in counted)
    assert all("sharded_prints.py" in r["source"] and r["equation"] for r in rows)
    if name == "both":
        assert [(r["format"], r["calls"]) for r in rows] == [
            ("before {}", 1), ("local {}", 4), ("at {} {}", 4), ("c {}", 8), ("m {}", 8), ("w {}", 18), ("after {}", 1), ("cut {} {}", 1),
            ("sum {}", 4), ("", 1)]
        assert rows[-1]["problem"] == "it calls Python, which isn't run"
        assert len({r["equation"] for r in rows}) == len(rows) and rows[3]["equation"].count("/") == 4
        assert printed(cli.json("report", str(over_devices / "both.jaxscope"), "--debug-prints")["debug_prints"]) == printed(rows)


def test_ordered_over_several_devices(cli, over_devices):
    """As JAX, which compiles no such program."""
    assert "not supported for more than 1 device" in json.loads((over_devices / "said.json").read_text())["ordered"]
    for command in ("run", "plan"):
        done = cli.raw(command, str(over_devices / "ordered.jaxscope"), check=False)
        assert done.returncode != 0 and "ordered" in done.stderr and "debug_print" in done.stderr and "sharded_prints.py:" in done.stderr
