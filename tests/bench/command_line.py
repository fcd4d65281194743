"""How long the command line takes and what it takes of memory; run it on a machine that does nothing else.

    python tests/bench/command_line.py            # JAXSCOPE=build/release/jaxscope

The goals are those of the project: they are printed beside what was measured, and nothing fails.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope"))
CAPTURES = ROOT / "samples" / "captures"


def run(*words, cwd=None):
    """Seconds, and the most that was resident, in bytes."""
    begin = time.perf_counter()
    pid = os.posix_spawn(BINARY, [BINARY, *words], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, use = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{words} ended with {status}")
    return time.perf_counter() - begin, use.ru_maxrss * 1024


def several(times, *words):
    found = [run(*words) for _ in range(times)]
    return statistics.median(t for t, _ in found), max(m for _, m in found)


def row(what, found, goal):
    print(f"{what:<66}{found:>14}   goal {goal}")


def main():
    nothing, _ = several(20, "--version")
    row("jaxscope --version", f"{nothing * 1e3:.1f} ms", "")
    seconds, _ = several(20, "inspect", "sample:transformer_lm")
    row("inspect sample:transformer_lm", f"{seconds * 1e3:.1f} ms", "50 ms")
    with tempfile.TemporaryDirectory() as folder:
        names = sorted(p for p in CAPTURES.glob("*.jaxscope"))
        files = []
        for i in range(100):
            files.append(f"{folder}/{i}.jaxscope")
            shutil.copy(names[i % len(names)], files[-1])
        seconds, _ = run("check", *files, "--max-peak", "1T")
        row(f"check of 100 captures ({len(names)} different ones)", f"{seconds:.2f} s", "10 s")
        plain = f"{folder}/plain.jaxscope"
        subprocess.run([BINARY, "transform", "sample:llama_7b_unrolled", "-o", plain, "--uncompressed"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        chain = f"{folder}/chain.jaxscope"
        Path(chain).write_text(chained(50_000))
        for what, file in (("a step", plain), ("a chain", chain)):
            size = os.path.getsize(file)
            for command in ("inspect", "residuals", "plan"):
                _, base = several(3, command, "sample:residuals")  # the code itself (two thirds are pages of LLVM), and a few equations
                seconds, most = several(3, command, file)
                row(f"{command} of {what}, {size / 2**20:.1f} MiB: beyond a small one's {base / 2**20:.0f} MiB", f"{(most - base) / size:.1f} times it", "4")
                row(f"{command} of {what}, {size / 2**20:.1f} MiB", f"{seconds * 1e3:.0f} ms", "")
        text = blocks(24)
        (Path(folder) / "blocks.py").write_text(text)
        capture = f"{folder}/blocks.jaxscope"
        python = str(ROOT / ".venv" / "bin" / "python") if (ROOT / ".venv").exists() else sys.executable
        subprocess.run([BINARY, "capture", f"{folder}/blocks.py:program", "--python", python, "-o", capture], check=True, stdout=subprocess.DEVNULL)
        peak = json.loads(subprocess.run([BINARY, "plan", capture, "--json"], check=True, capture_output=True, text=True).stdout)["memory"]["planned_peak"]
        seconds, _ = run("plan", capture, "--budget", str(peak * 6 // 10))
        row("plan --budget of 24 blocks", f"{seconds:.2f} s", "10 s")


def chained(links):
    """A capture without Python: four equations a link, some 23 bytes each, differentiated as a whole."""
    equations = []
    x = 1
    for k in range(links):
        at = 2 + 4 * k
        equations += [[0, [x, 0], [0], 0, 0], [1, [at], [0], 1, 0], [3, [at + 1, x], [0], 3, 0], [4, [at + 2, at], [0], 3, 0]]
        x = at + 3
    product = {"dimension_numbers": [[[1], [0]], [[], []]], "out_sharding": None, "precision": None, "preferred_element_type": {"dtype": "float32"}}
    return json.dumps({
        "format": "jaxscope.capture", "version": 2, "producer": {"jax": "0.10.2"}, "name": "chain", "strings": ["dot_general", "tanh", "reduce_sum", "add", "mul"],
        "avals": [["float32", [64, 64]], ["float32", []]], "name_stacks": [""], "sources": [[None, 0, ""]],
        "params": [product, {"accuracy": None}, {"axes": [0, 1], "out_sharding": None}, {}],
        "jaxprs": [{"constvars": [], "invars": [0, 0], "eqns": [*equations, [2, [x], [1], 2, 0]], "outvars": [x + 1]}],
        "program": {"jaxpr": 0, "in_paths": ["w", "x"], "donated": [False, False], "differentiate": [0]}}, separators=(",", ":"))


def blocks(count):
    return f"""import jax, jax.numpy as jnp
def block(p, x):
    h = x @ p["q"]
    s = jax.nn.softmax(h @ h.swapaxes(-1, -2) / 8)
    x = x + (s @ h) @ p["o"]
    return x + jax.nn.gelu(x @ p["up"]) @ p["down"]
def loss(params, x):
    for p in params:
        x = jax.checkpoint(block)(p, x)
    return (x ** 2).mean()
def program():
    s = lambda *d: jax.ShapeDtypeStruct(d, jnp.float32)
    params = [dict(q=s(256, 256), o=s(256, 256), up=s(256, 1024), down=s(1024, 256)) for _ in range({count})]
    return dict(fn=jax.value_and_grad(loss), args=(params, s(8, 128, 256)))
"""


if __name__ == "__main__":
    main()
