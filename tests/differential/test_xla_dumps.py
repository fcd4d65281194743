"""`jaxscope xla` of what XLA writes while JAX compiles: its figures are those of memory_analysis, its aliases JAX's, its lines the program's."""
import glob
import importlib.util
import json
import os
import subprocess
import sys

import pytest

from conftest import PROGRAMS, ROOT

PROGRAM = """
import jax, jax.numpy as jnp

def block(x, w):
    return x + jnp.tanh(x @ w)

def loss(ws, x):
    y = jax.lax.scan(lambda c, w: (jax.checkpoint(block)(c, w), None), x, ws)[0]
    return jnp.mean(jax.checkpoint(block)(y, ws[0]) ** 2)

def train_step(ws, unused, x):
    value, grads = jax.value_and_grad(loss)(ws, x)
    return ws - 0.1 * grads, value

def program():
    f32 = jnp.float32
    return {"fn": train_step, "donate_argnums": (0, 1), "differentiate": None, "args": (
        jax.ShapeDtypeStruct((4, 64, 64), f32), jax.ShapeDtypeStruct((7,), f32), jax.ShapeDtypeStruct((128, 64), f32))}
"""
DRIVER = """
import importlib.util, json, sys, warnings
import jax
from jax import export
sys.path.insert(0, sys.argv[2])
spec = importlib.util.spec_from_file_location("program_of_test", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
given = module.program()
warnings.simplefilter("ignore")
low = jax.jit(given["fn"], donate_argnums=given.get("donate_argnums", ())).lower(*given["args"], **given.get("kwargs", {}))
out = sys.argv[3]
open(out + "/stable.mlir", "w").write(low.as_text(debug_info=True))
compiled = low.compile()
open(out + "/hlo.txt", "w").write(compiled.as_text())
if len(sys.argv) > 4:
    open(out + "/exported.bin", "wb").write(export.export(jax.jit(given["fn"]))(*given["args"]).serialize())
m = compiled.memory_analysis()
print(json.dumps({"arguments": m.argument_size_in_bytes, "outputs": m.output_size_in_bytes, "aliased": m.alias_size_in_bytes, "temporaries": m.temp_size_in_bytes}))
"""


def compiled(path, folder, *more):
    """What JAX says of the memory of the program's compilation, whose texts are written into `folder`."""
    (folder / "driver.py").write_text(DRIVER)
    env = dict(os.environ, JAX_PLATFORMS="cpu", XLA_FLAGS=f"--xla_dump_to={folder / 'dump'} --xla_dump_hlo_as_text")
    done = subprocess.run([sys.executable, str(folder / "driver.py"), str(path), str(path.parent), str(folder), *more], env=env, capture_output=True, text=True, timeout=300)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def capture(path, folder):
    env = dict(os.environ, JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT / "app" / "capture"))
    subprocess.run([sys.executable, "-m", "jaxscope", f"{path}:program", "-o", str(folder / "a.jaxscope"), "--values", "none"], env=env, check=True, capture_output=True, timeout=300)
    return str(folder / "a.jaxscope")


def of_step(folder):
    """The largest module is the step; others make its arguments."""
    return max(glob.glob(str(folder / "dump" / "module_*.cpu_after_optimizations.txt")), key=os.path.getsize).split("/")[-1].split(".cpu_")[0]


@pytest.mark.parametrize("name", ["step_scan_accumulate", "remat_dots", "step_lm_adam_names"])
def test_figures_are_those_of_memory_analysis(cli, name, tmp_path):
    path = PROGRAMS / f"{name}.py"
    jax_says = compiled(path, tmp_path)
    dump = cli.json("xla", str(tmp_path / "dump"), "--module", of_step(tmp_path), "--capture", capture(path, tmp_path))["dump"]
    memory = dump["memory"]
    assert {k: memory[k] for k in ("arguments", "aliased")} == {k: jax_says[k] for k in ("arguments", "aliased")}
    # The tuple of pointers is an output to XLA and none to JAX; memory of one thread alone isn't among its temporaries.
    assert 0 <= memory["outputs"] - jax_says["outputs"] <= 16 * 1000 and abs(memory["temporaries"] - jax_says["temporaries"]) <= max(4096, jax_says["temporaries"] // 100)
    assert memory["peak"] <= memory["total"] and sum(b["bytes"] for b in dump["buffers"] if b["at_peak"]) + 1000 >= memory["peak"] - 4096 * dump["buffers_left_out"]
    assert dump["joinable"] > 20 and dump["joined"] >= 0.8 * dump["joinable"]
    assert all(not line["file"].startswith("/") for line in dump["lines"] if line["file"].endswith(f"{name}.py"))


def test_lines_donations_and_recomputation(cli, tmp_path):
    path = tmp_path / "stepping.py"
    path.write_text(PROGRAM)
    compiled(path, tmp_path, "export")
    file = capture(path, tmp_path)
    source = PROGRAM.split("\n")
    dump = cli.json("xla", str(tmp_path / "dump"), "--module", of_step(tmp_path), "--capture", file)["dump"]
    by_name = {b["op_name"]: b for b in dump["buffers"] if b["op_name"]}
    product = next(b for n, b in by_name.items() if n.endswith("/dot_general"))
    assert product["file"] == "stepping.py" and "x @ w" in source[product["line"] - 1] and product["equation"]
    assert [(a["input_path"], a["output_path"]) for a in dump["aliases"]] == [("ws", "[0]")] and dump["unused_donations"] == []
    asked = {(r["primitive"], r["line"]): r for r in dump["recomputed"]}
    (row,) = asked.values()
    assert row["primitive"] == "dot_general" and row["asked"] == 2 and row["kept"] <= 2
    for text in ("stable.mlir", "exported.bin"):
        stable = cli.json("xla", str(tmp_path / text), "--capture", file, "--python", sys.executable)["dump"]
        count = {o["opcode"]: o["count"] for o in stable["operations"]}
        assert count["dot_general"] >= 6 and count["while"] == 2 and stable["joined"] > 50
        products = [b for b in stable["buffers"] if b["op_name"].endswith("dot_general")]
        assert products and all(b["file"] == "stepping.py" and b["line"] > 3 for b in products)


def test_an_unused_donation_is_named(cli, tmp_path):
    path = tmp_path / "lost.py"
    path.write_text('import jax, jax.numpy as jnp\ndef f(x, y):\n    return x.sum() + y, x[:2]\n'
                    'def program():\n    return {"fn": f, "args": (jnp.ones((64, 8)), jnp.ones((64, 8))), "donate_argnums": (0, 1)}\n')
    compiled(path, tmp_path)
    dump = cli.json("xla", str(tmp_path / "hlo.txt"), "--capture", capture(path, tmp_path))["dump"]
    assert [a["input_path"] for a in dump["aliases"]] == ["x"] or [a["input_path"] for a in dump["aliases"]] == ["y"]
    assert len(dump["unused_donations"]) == 1


BLOCKS = """
import jax, jax.numpy as jnp

def block(x, w):
    return x + jnp.tanh(x @ w)

def loss(ws, x):
    for w in ws:
        x = CHECKPOINT(block)(x, w)
    return jnp.mean(x ** 2)

def program():
    return {"fn": jax.value_and_grad(loss), "args": ([jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 4, jax.ShapeDtypeStruct((128, 64), jnp.float32))}
"""


def test_kept_recomputation_is_what_xla_computes_more_than_without_checkpoints(cli, tmp_path):
    rows = {}
    for name, checkpoint in (("with", "jax.checkpoint"), ("without", "(lambda f: f)")):
        folder = tmp_path / name
        folder.mkdir()
        path = folder / "blocks.py"
        path.write_text(BLOCKS.replace("CHECKPOINT", checkpoint))
        compiled(path, folder)
        hlo = (folder / "hlo.txt").read_text()
        products = sum(" dot(" in line or "__onednn$matmul" in line for line in hlo.splitlines())
        rows[name] = products, cli.json("xla", str(folder / "hlo.txt"), "--capture", capture(path, folder))["dump"]["recomputed"]
    (row,) = rows["with"][1]
    assert row["asked"] == 4 and row["kept"] == rows["with"][0] - rows["without"][0] and rows["without"][1] == []
