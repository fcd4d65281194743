"""The peaks that `plan --target` estimates beside those of XLA's own TPU compiler: the table in docs/foresight.md.

  python tests/bench/foresight/compare.py [--captures DIR] [--target v5p] [--only NAME,...] [--compile] [--target-python EXE] [--jaxscope BIN]

DIR (those of the repository, if not given) holds a capture a program with XLA's word in it. With --compile those that are missing are made, one at a time (20 s to minutes each; Ctrl-C keeps
what is there); without it what is there is compared.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20


def make(name: str, path: pathlib.Path, args: argparse.Namespace) -> str | None:
    """None, or why there is no capture."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "app" / "capture"), "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, "-m", "jaxscope", f"{HERE / 'programs.py'}:{name}", "-o", str(path), "--values", "none", "--compile", f"--target=tpu:{args.target}"]
    done = subprocess.run([*words, *(["--target-python", args.target_python] if args.target_python else [])], env=env, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def ask(args: argparse.Namespace, *words: str) -> dict[str, Any]:
    done = subprocess.run([args.jaxscope, *words, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return dict(json.loads(done.stdout))


def compared(name: str, path: pathlib.Path, args: argparse.Namespace) -> dict[str, Any] | None:
    facts = next((c for c in ask(args, "inspect", str(path))["program"]["compiled"] if c["target"].startswith(f"tpu:{args.target}:")), None)
    if facts is None or facts["out_of_memory"] is not None:
        return None
    planned = ask(args, "plan", str(path), "--target", f"tpu:{args.target}")["memory"]["planned_peak"]
    host = ask(args, "plan", str(path))["memory"]["planned_peak"]
    program, policy = name.rsplit("_", 1)
    return {"program": program, "policy": policy, "xla": facts["peak"], "planned": planned, "host": host, "seconds": facts["compile_seconds"],
            "off": planned / facts["peak"] - 1, "host_off": host / facts["peak"] - 1}


def distribution(rows: list[dict[str, Any]], key: str) -> str:
    off = sorted(abs(r[key]) for r in rows)
    within = lambda x: f"{sum(o <= x for o in off)} of {len(off)}"
    return (f"within 10 %: {within(0.10)}; within 25 %: {within(0.25)}; median {statistics.median(off):.1%}; "
            f"from {min(r[key] for r in rows):+.0%} to {max(r[key] for r in rows):+.0%}")


def orders(rows: list[dict[str, Any]]) -> str:
    """Pairs of policies of one program whose peaks differ by more than 10 %: is the order right?"""
    right = wrong = 0
    for k, a in enumerate(rows):
        for b in rows[:k]:
            if a["program"] == b["program"] and max(a["xla"], b["xla"]) > 1.1 * min(a["xla"], b["xla"]):
                if (a["xla"] < b["xla"]) == (a["planned"] < b["planned"]):
                    right += 1
                else:
                    wrong += 1
    return f"policies that differ by more than 10 % are in the right order in {right} of {right + wrong} pairs"


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--captures", type=pathlib.Path, default=HERE / "captures")
    ap.add_argument("--target", default="v5p")
    ap.add_argument("--only", default="")
    ap.add_argument("--compile", action="store_true")
    ap.add_argument("--target-python", default=os.environ.get("JAXSCOPE_TPU_PYTHON"))
    ap.add_argument("--jaxscope", default=os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope")))
    args = ap.parse_args()
    sys.path.insert(0, str(HERE))
    import programs
    rows = []
    there = [p.name.split(".")[0] for p in args.captures.glob(f"*.{args.target}.jaxscope")]
    for name in args.only.split(",") if args.only else sorted({*there, *(programs.PROGRAMS if args.compile else [])}):
        path = args.captures / f"{name}.{args.target}.jaxscope"
        if not path.exists() and args.compile and (problem := make(name, path, args)):
            print(f"{name}: {problem}", file=sys.stderr)
        if path.exists() and (row := compared(name, path, args)):
            rows.append(row)
    if not rows:
        print("nothing to compare: --compile makes the captures", file=sys.stderr)
        return 1
    print("| program | policy | XLA's peak (MiB) | estimated (MiB) | off | CPU plan | XLA compiled in |\n|---|---|--:|--:|--:|--:|--:|")
    for r in rows:
        print(f"| {r['program']} | {r['policy']} | {r['xla'] / MIB:,.1f} | {r['planned'] / MIB:,.1f} | {r['off']:+.1%} | {r['host_off']:+.0%} | {r['seconds']:.0f} s |")
    print(f"\nEstimates: {distribution(rows, 'off')}; {orders(rows)}.\nThe CPU's plan: {distribution(rows, 'host_off')}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
