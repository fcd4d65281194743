"""jaxscope beside JAX, in turn, on one program: how long the residual table takes, and execution time and memory of the step.

  PYTHONPATH=app/capture python tests/bench/compare_with_jax.py [FILE.py ...] [--jaxscope build/release/jaxscope] [--rounds 5]
  PYTHONPATH=app/capture python tests/bench/compare_with_jax.py --programs shared|untuned|further|later|fresh|wild|shifts|operators|functions|loops [--only NAME,...] [--seconds 0.5] [--threads N]

The second form runs the twenty programs of programs.py, the thirty of programs_untuned.py, the thirteen of programs_further.py, the ten of
programs_later.py, the thirty of programs_fresh*.py, the 47 of programs_wild*.py, the twelve of programs_shifts.py, the single operators of programs_operators.py (over 600, by type), the functions of programs_functions.py by name, or the loops of little work of
programs_loops*.py on their real values, compares the results too, and prints execution, compilation, the first run and temporaries. Prints ratios
(jaxscope / JAX, lower is better): machines are noisy, single times mean little.
"""
import argparse
import contextlib
import importlib
import importlib.util
import io
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import jax
from jax.ad_checkpoint import print_saved_residuals

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {"shared": "programs", "untuned": "programs_untuned", "further": "programs_further", "later": "programs_later",
          "fresh": "programs_fresh programs_fresh_models programs_fresh_layers", "operators": "programs_operators",
          "loops": "programs_loops programs_loops_more", "wild": "programs_wild programs_wild_science", "shifts": "programs_shifts",
          "functions": "programs_functions"}


def load(path: pathlib.Path) -> dict:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.program()


def timed(f) -> float:
    begin = time.perf_counter()
    f()
    return time.perf_counter() - begin


def residual_table(jaxscope: str, capture: str, program: dict, rounds: int) -> tuple[float, float]:
    """Whole process of jaxscope against one call of print_saved_residuals in a warm interpreter, caches cleared."""
    region = (program.get("regions") or [dict(fn=program["fn"], args=program["args"])])[0]

    def in_jax():
        jax.clear_caches()
        with contextlib.redirect_stdout(io.StringIO()):
            print_saved_residuals(region["fn"], *region["args"])

    def ours():
        subprocess.run([jaxscope, "residuals", capture, "--json", "--wrt", "all"], check=True, capture_output=True)

    a, b = [], []
    for _ in range(rounds):
        a.append(timed(ours))
        b.append(timed(in_jax))
    return statistics.median(a), statistics.median(b)


def step(jaxscope: str, capture: str, program: dict, rounds: int):
    """Execution of the step: jaxscope's median of its runs against JAX's, alternating rounds."""
    donate = program.get("donate_argnums") or None
    compiled = jax.jit(program["fn"], donate_argnums=donate).lower(*program["args"]).compile()
    memory = compiled.memory_analysis()
    copies = lambda: jax.tree.map(lambda x: x.copy() if isinstance(x, jax.Array) else x, program["args"])
    ours, theirs, report = [], [], {}
    for _ in range(rounds):
        out = subprocess.run([jaxscope, "run", capture, "--json", "--repeat", "5"], check=True, capture_output=True, text=True).stdout
        report = json.loads(out)
        ours.append(report["time"]["run_median"])
        for _ in range(5):
            args = jax.block_until_ready(copies())
            theirs.append(timed(lambda: jax.block_until_ready(compiled(*args))))
    return statistics.median(ours), statistics.median(theirs), report["memory"], memory


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("files", nargs="*", default=[str(ROOT / "samples/python/transformer_lm.py")])
    ap.add_argument("--jaxscope", default=str(ROOT / "build/release/jaxscope"))
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--programs", choices=list(TABLES))
    ap.add_argument("--only", help="names, separated by commas")
    ap.add_argument("--seconds", type=float, default=0.5, help="of each round, for each of the two")
    ap.add_argument("--threads", type=int, default=0)
    opt = ap.parse_args()
    if opt.programs:
        import program_table

        found = {n: f for module in TABLES[opt.programs].split() for n, f in importlib.import_module(module).PROGRAMS.items()}
        chosen = {n: f for n, f in found.items() if not opt.only or n in opt.only.split(",")}
        program_table.table(chosen, opt.jaxscope, opt.rounds, opt.seconds, opt.threads)
        return
    for file in opt.files:
        path = pathlib.Path(file)
        program = load(path)
        with tempfile.TemporaryDirectory() as folder:
            capture = f"{folder}/{path.stem}.jaxscope"
            subprocess.run([opt.jaxscope, "capture", f"{path}:program", "-o", capture, "--values", "none", "--python", sys.executable], check=True)
            a, b = residual_table(opt.jaxscope, capture, program, opt.rounds)
            print(f"{path.stem}: residual table {a * 1e3:.1f} ms against print_saved_residuals {b * 1e3:.1f} ms: {a / b:.3f}")
            a, b, memory, xla = step(opt.jaxscope, capture, program, opt.rounds)
            mib = 1 / (1 << 20)
            print(f"{path.stem}: step {a * 1e3:.1f} ms against XLA {b * 1e3:.1f} ms: {a / b:.3f}")
            print(f"{path.stem}: temporaries {memory['temporaries'] * mib:.1f} MiB against XLA {xla.temp_size_in_bytes * mib:.1f} MiB, "
                  f"peak planned {memory['planned_peak'] * mib:.1f} MiB, measured {memory['measured_peak'] * mib:.1f} MiB")


if __name__ == "__main__":
    main()
