"""Losses over shard_map (shard_map_programs.py) against JAX on eight forced host devices: texts of grad, jvp and vmap, residual lists under policies, gradients that
virtual devices compute."""
import json
import os
import re
import subprocess

import numpy as np
import pytest
from seed import seed_of_sample

from conftest import cut as cut_paths, made_by
from nested_programs import renamed
from renaming import without_meshes
from test_behaviours import cut

JAXSCOPE = os.environ.get("JAXSCOPE", "jaxscope")
COUNT = int(os.environ.get("JAXSCOPE_COUNT", 200 if os.environ.get("JAXSCOPE_FULL") else 8))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_by("shard_map_programs.py", tmp_path_factory.mktemp("shard_map"), seed_of_sample(), COUNT, timeout=1800)


def ask(*args):
    return subprocess.run([JAXSCOPE, *map(str, args)], capture_output=True, text=True, timeout=120)


def programs(folder):
    found = sorted(p for p in folder.glob("*.jaxscope") if p.stem != "resharded" and not p.stem.startswith("refused"))
    assert len(found) == 35 + COUNT
    return [(p, json.loads(p.with_suffix(".json").read_text())) for p in found]


def test_texts_are_jaxs(folder):
    wrong = []
    for p, jax in programs(folder):
        for step, theirs in jax["texts"].items():
            done = ask("transform", p, "--apply", step, "--print", "--json")
            ours = re.sub(r"np\.int64\((-?\d+)\)", r"\1", cut(json.loads(done.stdout)["text"]).rstrip()) if done.returncode == 0 else done.stderr
            if renamed(without_meshes(ours)) != renamed(without_meshes(theirs)):
                wrong.append(f"{p.stem} {step}: {ours if done.returncode else 'differs'}")
    assert not wrong, "\n".join(wrong)


def test_residuals_are_jaxs(folder):
    wrong = []
    for p, jax in programs(folder):
        for policy, theirs in jax["residuals"].items():
            done = ask("residuals", p, "--wrt", "all", "--region", "program", "--json", *(["--policy", policy] if policy else []))
            ours = [[r["aval"], cut(cut_paths(r["source"]))] for r in json.loads(done.stdout)["residuals"]] if done.returncode == 0 else done.stderr
            if ours != theirs:
                wrong.append(f"{p.stem} {policy}:\n  {ours}\n  {theirs}")
    assert not wrong, "\n".join(wrong)


def test_gradients_on_devices_are_jaxs(folder, tmp_path):
    wrong = []
    for p, _ in programs(folder):
        if p.stem.startswith("one_in_another"):  # which JAX can't run
            continue
        out = tmp_path / (p.stem + ".npz")
        done = ask("run", p, "--apply", "value_and_grad:0,1", "--json", "--outputs", out)
        if done.returncode != 0:
            wrong.append(f"{p.stem}: {done.stderr.strip()}")
            continue
        memory = json.loads(done.stdout)["memory"]
        theirs = np.load(p.with_suffix(".jax.npz"))
        ours = [v for _, v in sorted(np.load(out).items())]
        # Some gradients are what is left of sums that cancel: nothing to compare below 1e-5.
        far = [n for a, n in zip(ours, ("value", "dw", "da"), strict=True) if not (np.abs(a - theirs[n]) <= 1e-5 + 1e-3 * np.abs(theirs[n]).max()).all()]
        if far or memory["devices"] != 8:
            wrong.append(f"{p.stem}: {far} differ, {memory['devices']} devices")
    assert not wrong, "\n".join(wrong)


def test_what_is_exchanged_over_some_axes_stays_cut_along_others(folder):
    sharding = json.loads(ask("plan", folder / "exchanged_in_some-checked.jaxscope", "--json").stdout)["sharding"]
    assert {("all_gather", ("rows",)), ("reduce_scatter", ("rows",)), ("all_to_all", ("rows",))} <= {(c["kind"], tuple(c["axes"])) for c in sharding["collectives"]}
    assert sharding["findings"] == [], sharding["findings"]


def reshards(text):
    return re.findall(r"(\w+\[[^\]]+\])(?:\{V:[^}]*\})? = reshard", text)


def test_reshard_is_transposed_and_mapped(folder, tmp_path):
    p = folder / "resharded.jaxscope"
    texts = json.loads(p.with_suffix(".json").read_text())["texts"]
    for step, theirs in texts.items():
        done = ask("transform", p, "--apply", step, "--print", "--json")
        assert done.returncode == 0, done.stderr
        assert reshards(json.loads(done.stdout)["text"]) == reshards(theirs) and reshards(theirs), step
    assert ask("run", p, "--apply", "value_and_grad:0,1", "--outputs", tmp_path / "r.npz").returncode == 0
    theirs = np.load(p.with_suffix(".jax.npz"))
    for (_, ours), name in zip(sorted(np.load(tmp_path / "r.npz").items()), ("value", "dw", "da"), strict=True):
        np.testing.assert_allclose(ours, theirs[name], rtol=1e-4, atol=1e-5)


def test_what_jax_refuses_is_refused(folder):
    def both(name):
        done = ask("run", folder / f"refused-{name}.jaxscope", "--apply", "grad:0")
        assert done.returncode != 0
        return done.stderr, (folder / f"refused-{name}.txt").read_text()
    ours, theirs = both("turned")
    wanted = re.search(r"Expected cotangent type ([a-z0-9]+)(\S+)", theirs)
    assert wanted and f"Expected cotangent type f32{wanted[2].rstrip(',:')}" in ours, (ours, theirs)
    ours, theirs = both("largest")
    assert "'pmax' not implemented" in theirs and "JAX gives maxima and minima over devices no derivative" in ours, (ours, theirs)


@pytest.mark.parametrize("command", ["split", "plan", "policies", "report"])
def test_the_other_commands_take_them(folder, tmp_path, command):
    name = folder / "remat_around-checked.jaxscope"
    args = {"split": ("inspect", name), "plan": ("plan", name, "--apply", "grad:0,1"), "policies": ("policies", name), "report": ("report", name, "-d", tmp_path)}[command]
    done = ask(*args)
    assert done.returncode == 0, done.stderr
