#!/usr/bin/env python3
"""Data-parallel and tensor-parallel steps of a perceptron and of a transformer block on four devices: the peak of each device beside what no plan can go
below and beside XLA's, what each sends beside what it must and beside XLA's HLO; then how the time of cutting a program grows with its equations.
sharding.py JAXSCOPE [JAXSCOPE_BENCH]"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "differential"), str(ROOT / "app" / "capture")]
import sharded_figures  # noqa: E402

KIB = 1024
MODELS = {"perceptron": "perceptron", "block": "transformer block"}
LAYOUTS = {"data4": "4-way data parallel", "data2model2": "2x2: data and tensor parallel", "model4": "4-way tensor parallel"}


def reduced(size, devices):
    """What a device sends of an all-reduce, at least: a ring sends each of its parts twice."""
    return 2 * size * (devices - 1) // devices


def least_sent(model, layout):
    """What a step must send, by hand: the sums of activations over `model`, the gradients of each device's parameters over `data`, and the loss."""
    data, parts = {"data4": (4, 1), "data2model2": (2, 2), "model4": (1, 4)}[layout]
    if model == "perceptron":  # y = tanh(x w1) w2: the sum of the second product; its input takes no gradient
        parameters, activations, sums = 2 * 256 * 1024, 512 * 256, 1
    else:  # the sums behind `o` and `down`, and of the gradient in front of `up`; in front of q, k, v there is the data
        parameters, activations, sums = 12 * 256 * 256, 8 * 128 * 256, 3
    return sums * reduced(4 * activations // data, parts) + reduced(4 * parameters // parts, data) + reduced(4, data)


def asked(jaxscope, path, *more):
    done = subprocess.run([jaxscope, "plan", str(path), "--json", *more], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def row(jaxscope, folder, model, layout):
    path = folder / f"{model}-{layout}.jaxscope"
    rows = {r["layout"]: r for r in asked(jaxscope, path, "--layout", "")["layouts"]}
    ours, xla = rows["as captured"], rows["as captured, by XLA"]
    bound = asked(jaxscope, path, "--device-memory", str(ours["planned_peak"]))["device"]["lower_bound"]
    least = least_sent(model, layout)
    return {"model": MODELS[model], "layout": LAYOUTS[layout], "peak": ours["planned_peak"], "bound": bound, "xla_peak": xla["planned_peak"], "sent": ours["sent_bytes"],
            "least": least, "xla_sent": xla["sent_bytes"]}


def table(rows):
    lines = ["| model | layout | peak | at least | XLA's peak | sent | at least | by XLA's HLO |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        figures = (f"{r[k] / KIB:,.0f}" for k in ("peak", "bound", "xla_peak", "sent", "least", "xla_sent"))
        lines.append(f"| {r['model']} | {r['layout']} | " + " | ".join(figures) + " |")
    return "\n".join(lines)


def growth(bench):
    """Microseconds for an equation, by the number of equations."""
    done = subprocess.run([bench, "--benchmark_filter=BM_Partition", "--benchmark_format=json"], capture_output=True, text=True, check=True)
    return {int(re.search(r"/(\d+)", b["name"]).group(1)): b["per_eqn"] * 1e6 for b in json.loads(done.stdout)["benchmarks"]}


def main(jaxscope, bench=None):
    with tempfile.TemporaryDirectory() as made:
        sharded_figures.moves(made, {})
        print("Sizes in KiB of one device; what is sent, in one step.\n")
        print(table([row(jaxscope, pathlib.Path(made), m, lay) for m in MODELS for lay in LAYOUTS]))
    if bench:
        print("\nCutting a program, microseconds for an equation:", ", ".join(f"{t:.2f} of {n:,}" for n, t in growth(bench).items()))


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    main(*sys.argv[1:])
