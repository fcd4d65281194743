"""`--target`: figures estimated for a device, against what XLA's compiler for it said of the corpus (tests/bench/foresight) when its captures were made."""
import pathlib
import re

import pytest

CAPTURES = sorted((pathlib.Path(__file__).resolve().parents[1] / "bench" / "foresight" / "captures").glob("*.jaxscope"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda p: p.name)
def test_no_estimate_of_the_corpus_is_worse_than_told(cli, path):
    facts = cli.json("inspect", str(path))["program"]["compiled"][0]
    told = cli.json("plan", str(path), "--target", "tpu:v5p")
    low, high = (float(n) / 100 for n in re.search(r"from ([+-]\d+) % to ([+-]\d+) %", told["notes"][-1]).groups())
    off = told["memory"]["planned_peak"] / facts["peak"] - 1
    assert low - 0.005 <= off <= high + 0.005


def test_every_figure_says_what_it_is(cli):
    plan = cli.json("plan", "sample:transformer_lm", "--target", "tpu:v5p:2x2x1")
    assert plan["notes"][-1].startswith("estimated for tpu:v5p: ") and plan["memory"]["target"] == "tpu:v5p" and plan["device"]["fits"]
    host = cli.json("plan", "sample:transformer_lm")
    assert host["memory"]["target"] == "" and not any("estimated" in n for n in host.get("notes", []))
    rows = cli.json("policies", "sample:transformer_lm", "--target", "tpu:v5p")
    assert rows["notes"][-1] == plan["notes"][-1] and all(r["measured_peak"] is None and r["planned_peak"] for r in rows["policies"] if not r["problem"])
    checked = cli.json("check", str(CAPTURES[0]), "--target", "tpu:v5p", "--max-peak", "100G")
    assert any(f["rule"] == "caveat" and f["message"].startswith("estimated for tpu:v5p") for f in checked["findings"])
    text = cli.raw("plan", "sample:transformer_lm", "--target", "tpu:v5p")
    assert "Memory estimated for tpu:v5p" in text.stdout and "CPU JIT" not in text.stdout and "estimated for tpu:v5p: " in text.stderr


@pytest.mark.parametrize("name", ["tpu:v4", "gpu:h100", "v5p", "tpu:v5px"])
def test_a_target_that_was_not_measured_is_not_offered(cli, name):
    done = cli.raw("plan", "sample:mlp", "--target", name)
    assert done.returncode == 2 and f"expected a target that estimates were measured for (tpu:v5p), found '{name}'" in done.stderr
