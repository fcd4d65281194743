"""Steps with two differentiations, and programs that jaxscope differentiates itself: what is tried, and what figures are of."""
import json
import sys
from pathlib import Path

import pytest
import two_gradients

pytest.importorskip("jax")

HEAD = "import jax, jax.numpy as jnp\nS = lambda *s: jax.ShapeDtypeStruct(s, jnp.float32)\n"
TWO = two_gradients.source(rows=4096)
LOSS = HEAD + """
def f(w, x):
    a = jnp.sin(x @ w)
    b = jnp.tanh(a * a)
    c = b @ w
    d = jnp.exp(-c)
    return jnp.sum(d * c)
def program():
    return dict(fn=f, args=(S(64, 64), S(1024, 64)), differentiate=0)
"""
ADAM = HEAD + """
def loss(p, x): return jnp.mean(jnp.tanh(x @ p) ** 2)
def step(p, m, v, x):
    g = jax.grad(loss)(p, x)
    m, v = .9 * m + .1 * g, .99 * v + .01 * g * g
    return p - m / (jnp.sqrt(v) + 1e-8), m, v
def program():
    return dict(fn=step, args=(S(512, 512), S(512, 512), S(512, 512), S(8, 512)))
"""


@pytest.fixture
def captured(cli, monkeypatch):
    monkeypatch.setenv("JAXSCOPE_PYTHON", sys.executable)

    def capture(name, source):
        Path(cli.folder / f"{name}.py").write_text(source)
        cli.ok("capture", f"{name}.py:program", "-o", f"{name}.jaxscope")
        return f"{name}.jaxscope"
    return capture


def test_a_budget_is_looked_for_in_every_differentiation(cli, captured, schema):
    two = captured("two", TWO)
    rows = [cli.json("policies", two, "--no-run", "--region", n)["policies"] for n in "01"]
    now, least = rows[0][0]["planned_peak"], [min(r["planned_peak"] for r in table) for table in rows]
    assert least[1] < least[0] * 0.8
    found = cli.json("plan", two, "--budget", str(least[1]))
    schema.validate(found)
    fit = found["fit"]
    assert fit["fits"] and fit["region"] == 1 and fit["of"] == "the step" and fit["found"]["planned_peak"] <= least[1] < now
    assert fit["where"].endswith("in critic (region 1)")
    chosen = cli.raw("plan", two, "--budget", str(least[1]), "--region", "0")
    assert chosen.returncode == 1
    verdict = " ".join(cli.json("report", two, "--no-run", "--policies")["verdict"])
    assert "Cheapest change that was tried" in verdict and "in critic (region 1)" in verdict


def test_a_proof_plans_what_the_search_planned(cli, captured):
    loss = captured("loss", LOSS)
    least = min(r["planned_peak"] for r in cli.json("policies", loss, "--no-run")["policies"])
    alone = cli.json("plan", loss)["memory"]["planned_peak"]
    fit = json.loads(cli.raw("plan", loss, "--budget", str(least), "--prove", "--json").stdout)["fit"]
    assert fit["of"] == "value and gradient" and alone < fit["found"]["planned_peak"]
    assert fit["proof"]["planned_peak"] == fit["found"]["planned_peak"] and fit["proof"]["residual_bytes"] == fit["found"]["residual_bytes"]
    assert json.loads(cli.ok("check", loss, "--max-peak", "1G", "--json"))["programs"][0]["peak_of"] == "the program"
    (one,) = json.loads(cli.raw("check", loss, "--max-peak", "1K", "--json").stdout)["findings"]
    assert "(of the program alone, without its gradient)" in one["message"]


def test_the_verdict_says_why_nothing_helps_and_what_donating_would(cli, captured):
    verdict = " ".join(cli.json("report", captured("adam", ADAM), "--no-run")["verdict"])
    assert "where the state is updated" in verdict and "arguments and outputs, which no checkpoint changes" in verdict
    assert "Donating p, m, v (donate_argnums=(0, 1, 2)) lowers the peak: " in verdict
    whole = TWO.replace("jax.grad(critic)", "jax.grad(jax.checkpoint(critic))")
    verdict = " ".join(cli.json("report", captured("whole", whole), "--no-run", "--region", "1")["verdict"])
    assert "in the backward pass" in verdict or "where the backward pass recomputes" in verdict


def test_the_phase_of_a_program_with_checkpoints(cli):
    assert "planned, in the backward pass" in cli.json("report", "sample:transformer_lm", "--no-run")["verdict"][0]


def test_depth_opens_levels_of_groups(cli):
    def nodes(*depth):
        cli.ok("export", "sample:transformer_lm", "--what", "program", "-o", "x.dot", *depth)
        return Path(cli.folder / "x.dot").read_text().count("label=")
    assert nodes("--depth", "0") < nodes("--depth", "1") < nodes("--depth", "2")
    for format in ("svg", "mermaid", "html"):
        cli.ok("export", "sample:mlp", "-o", f"x.{format}", "--depth", "1")
    refused = cli.raw("export", "sample:mlp", "-o", "x.csv", "--depth", "1")
    assert refused.returncode == 2 and "expected --depth beside a picture" in refused.stderr
