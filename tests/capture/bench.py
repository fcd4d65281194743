"""How long capturing takes against JAX's own tracing:

    python tests/capture/bench.py [--rounds N] [--limit X] [FILE.py | FOLDER]...

Without names: tests/programs, and the folder that JAXSCOPE_PROGRAMS names. One process a program. In it a tracing (jax.make_jaxpr)
and a capture take turns, each with no jaxpr left in JAX's caches from before (their keys change; what XLA compiled for
values made while tracing stays, for both). A capture counts in full: tracing, marked tracing, rules, writing the file.
Figures are medians of processor time, so that other processes on the machine disturb little. Exit code 1 where a ratio is above the limit.
"""
import argparse
import gc
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "app" / "capture"))


def load(path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("jaxscope_program", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return dict(module.program())


def both(path, folder):
    """(trace, capture): functions that do the one and the other from the beginning; `capture` returns the number of equations."""
    mapping = load(path)
    import jax
    from jaxscope import api, compat, program
    p = program.make_program(mapping.pop("fn"), mapping.pop("args"), mapping.pop("kwargs", None), **mapping)
    flat = program.flatten(p)

    def trace():
        with compat.fresh_traces():
            jax.make_jaxpr(lambda *a, **k: flat.traced(*a, **k), static_argnums=flat.static_argnums)(*flat.traced_args, **flat.traced_kwargs)

    def capture():
        with compat.fresh_traces():
            captured = api.capture_program(p, values="none")
            captured.save(os.path.join(folder, "a.jaxscope"))
            return captured.equations
    return trace, capture


def seconds(f):
    gc.collect()
    start = time.process_time()
    f()
    return time.process_time() - start


def measure(path, rounds):
    with tempfile.TemporaryDirectory() as folder:
        trace, capture = both(path, folder)
        trace()
        equations = capture()
        pairs = [(seconds(trace), seconds(capture)) for _ in range(rounds)]
    tracing, capturing = (statistics.median(column) for column in zip(*pairs))
    return {"equations": equations, "tracing": tracing, "capturing": capturing, "ratio": capturing / tracing}


def files(names):
    if not names:
        names = [str(ROOT / "tests" / "programs"), *filter(None, [os.environ.get("JAXSCOPE_PROGRAMS")])]
    for name in names:
        yield from sorted(Path(name).glob("*.py")) if os.path.isdir(name) else [Path(name)]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--limit", type=float, default=5.0)
    ap.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    opt = ap.parse_args()
    if opt.one:
        print(json.dumps(measure(opt.names[0], opt.rounds)))
        return 0
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")  # programs make their weights first
    worst = 0.0
    for path in dict.fromkeys(files(opt.names)):
        # A process of its own: programs set flags, and a module stays imported.
        done = subprocess.run([sys.executable, __file__, "--one", f"--rounds={opt.rounds}", str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{path.stem:32} not measured: {(done.stderr.strip().splitlines() or ['?'])[-1][:120]}")
            continue
        r = json.loads(done.stdout.splitlines()[-1])
        worst = max(worst, r["ratio"])
        print(f"{path.stem:32} {r['equations']:6} equations   traced in {r['tracing']:.3f} s   captured in {r['capturing']:.3f} s   {r['ratio']:.2f}x", flush=True)
    print(f"worst: {worst:.2f}x, limit {opt.limit:g}x")
    return int(worst > opt.limit)


if __name__ == "__main__":
    sys.exit(main())
