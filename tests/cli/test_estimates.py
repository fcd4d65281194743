"""`--target`: figures estimated for a device, against what XLA's compiler for it said of the corpus (tests/bench/foresight) when its captures were made."""
import os
import pathlib
import re

import pytest

CAPTURES = sorted((pathlib.Path(__file__).resolve().parents[1] / "bench" / "foresight" / "captures").glob("*.jaxscope"))
TARGETS = ("tpu:v5p", "tpu:v5e")


SHARDED = sorted((CAPTURES[0].parent / "sharded").glob("*.jaxscope"))  # one device's figures of steps over 4 to 256
SMALLEST = 100 << 20  # of the table: below it the vector memory decides


def told_range(report):
    return [float(n) / 100 for n in re.search(r"from ([+-]\d+) % to ([+-]\d+) %", report["notes"][-1]).groups()]


def offsets(cli, path):
    """(target, how far the estimate is off XLA's word, what is told) for each target that the capture has a word of."""
    for facts in cli.json("inspect", str(path))["program"]["compiled"]:
        target = ":".join(facts["target"].split(":")[:2])
        if target in TARGETS and (facts["peak"] or 0) >= SMALLEST:
            report = cli.json("plan", str(path), "--target", target)
            yield target, report["memory"]["planned_peak"] / facts["peak"] - 1, report


@pytest.mark.parametrize("path", CAPTURES[::8], ids=lambda p: p.name)
def test_no_estimate_of_the_corpus_is_worse_than_told(cli, path):
    for target, off, report in offsets(cli, path):
        low, high = told_range(report)
        assert low - 0.005 <= off <= high + 0.005, target


@pytest.mark.parametrize("path", [p for p in SHARDED if p.name.startswith(("fsdp_flat", "tensor_flat_64"))], ids=lambda p: p.name)
def test_one_device_of_several_is_estimated(cli, path):
    """Weights that FSDP gathers are gathered once, and stand beside the logits in both types."""
    ((_, off, report),) = offsets(cli, path)
    assert abs(off) <= 0.12 and any(n.startswith("estimates of one device of several, for tpu:v5p: ") for n in report["notes"])


def test_estimates_of_sharded_programs_are_offered_where_they_were_measured(cli):
    done = cli.raw("plan", str(SHARDED[0]), "--target", "tpu:v5e")
    assert done.returncode == 3 and "expected an estimate for tpu:v5e of a program of one device, found one of several" in done.stderr


@pytest.mark.parametrize("name, within", [
    ("bottleneck_bf16_plain", 0.02),  # a copy of the images, what pooling makes, and what its gradient reads
    ("flaxcnn_bf16_plain", 0.1),  # what pooling's gradient reads is made again, just before it
    ("recurrence_bf16_plain", 0.1),  # slices with strides, pads between elements
    ("gptodd_bf16_nothing", 0.1),  # the gradient of a tied embedding doesn't wait for its other part
    ("vitscan_bf16_dots", 0.1),  # images again, in front of a scan
    ("wholegpt_bf16_names", 0.02),  # what a checkpoint round the whole loss computes again, in the order of a list scheduler
    ("wholegpt_bf16_dots", 0.02),  # logits in both types, of which the checkpoint keeps one
    ("swin_bf16_plain", 0.06),  # queries, keys, values and scores of windows of 49 places
    ("vit_bf16_plain", 0.02),  # the same of 197 tokens
    ("llama_bf16_plain", 0.04),  # silu beside its product, masked scores in the product's type
    ("unetsmall_bf16_nothing", 0.04)])  # element-wise steps write over nothing
def test_what_xla_stores_is_counted(cli, name, within):
    path = next(p for p in CAPTURES if p.name == f"{name}.jaxscope")
    (off,) = [off for target, off, _ in offsets(cli, path) if target == "tpu:v5p"]
    assert abs(off) <= within


@pytest.mark.skipif(not os.environ.get("JAXSCOPE_FULL"), reason="all of the corpus: --full")
def test_the_distribution_that_is_told_is_that_of_the_corpus(cli):
    found = {t: [] for t in TARGETS}
    said = {}
    for path in CAPTURES:
        for target, off, report in offsets(cli, path):
            found[target].append(off)
            said[target] = report["notes"][-1]
    found["sharded"] = []
    for path in SHARDED:
        for _, off, report in offsets(cli, path):
            found["sharded"].append(off)
            said["sharded"] = next(n for n in report["notes"] if n.startswith("estimates of one device"))
    for target, off in found.items():
        within = [sum(abs(o) <= x for o in off) for x in (0.10, 0.25)]
        assert re.search(rf"of {len(off)} (train )?steps measured( \(.*\))?, {within[0]} were within 10 % of XLA's peak, {within[1]} within 25 %", said[target])
        low, high = (float(n) / 100 for n in re.search(r"from ([+-]\d+) % to ([+-]\d+) %", said[target]).groups())
        assert abs(min(off) - low) <= 0.005 and abs(max(off) - high) <= 0.005


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
    assert done.returncode == 2 and f"expected a target that estimates were measured for (tpu:v5p, tpu:v5e), found '{name}'" in done.stderr
