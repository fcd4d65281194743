"""The peaks that `plan --target` estimates beside those of XLA's own TPU compilers: the tables in docs/foresight.md.

  python tests/bench/foresight/compare.py [--captures DIR] [--targets v5p,v5e] [--only NAME,...] [--compile] [--target-python EXE] [--jaxscope BIN] [--write]

DIR (that of the repository, if not given) holds a capture a program with XLA's word for each target in it, and in its folder `sharded` those of programs over several devices, so nothing
but jaxscope is needed. With --compile those of the corpus (programs.py, sharded.py) that are missing are made, one at a time: seconds each, as XLA's compiler is ended once it has assigned its buffers; Ctrl-C keeps what is there. --write puts the tables into
docs/foresight.md. Peaks of less than 100 MiB are left out.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
from typing import Any, Callable

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = ROOT / "docs" / "foresight.md"
MIB = 1 << 20
SMALLEST = 100 * MIB
POLICIES = {"plain", "nothing", "dots", "names"}


def make(name: str, path: pathlib.Path, args: argparse.Namespace, file: str, targets: list[str]) -> str | None:
    """None, or why there is no capture."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "app" / "capture"), "JAX_PLATFORMS": "cpu"}
    words = [sys.executable, "-m", "jaxscope", f"{HERE / file}:{name}", "-o", str(path), "--values", "none", "--no-source", "--compile", "--memory-only",
             *(f"--target=tpu:{t}" for t in targets)]
    done = subprocess.run([*words, *(["--target-python", args.target_python] if args.target_python else [])], env=env, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def ask(args: argparse.Namespace, *words: str) -> dict[str, Any]:
    done = subprocess.run([args.jaxscope, *words, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return dict(json.loads(done.stdout))


def compared(path: pathlib.Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a target."""
    name = path.name.removesuffix(".jaxscope")
    host = None
    rows = []
    for facts in ask(args, "inspect", str(path))["program"]["compiled"]:
        target = facts["target"].split(":")[1] if ":" in facts["target"] else ""
        if target not in args.targets or facts["out_of_memory"] is not None or facts["peak"] < SMALLEST:
            continue
        if host is None:
            host = ask(args, "plan", str(path))["memory"]["planned_peak"]
        planned = ask(args, "plan", str(path), "--target", f"tpu:{target}")["memory"]["planned_peak"]
        program, policy = name.rsplit("_", 1) if name.rsplit("_", 1)[-1] in POLICIES else (name, "-")
        rows.append({"target": target, "program": program, "policy": policy, "xla": facts["peak"], "planned": planned, "host": host, "seconds": facts["compile_seconds"],
                     "whole": not (facts["options"] or "").endswith("buffer assignment"), "off": planned / facts["peak"] - 1, "host_off": host / facts["peak"] - 1})
    return rows


def distribution(rows: list[dict[str, Any]], key: str = "off") -> str:
    off = sorted(abs(r[key]) for r in rows)
    within = lambda x: f"{sum(o <= x for o in off)} of {len(off)}"
    return (f"within 10 %: {within(0.10)}; within 25 %: {within(0.25)}; median {statistics.median(off):.1%}; "
            f"from {min(r[key] for r in rows):+.0%} to {max(r[key] for r in rows):+.0%}")


def orders(rows: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """Pairs of policies of one program whose peaks differ by more than 10 %: how many are in the right order, and those that aren't."""
    right, wrong = 0, []
    for k, a in enumerate(rows):
        for b in rows[:k]:
            if a["program"] == b["program"] and max(a["xla"], b["xla"]) > 1.1 * min(a["xla"], b["xla"]):
                if (a["xla"] < b["xla"]) == (a["planned"] < b["planned"]):
                    right += 1
                else:
                    wrong.append(f"{a['program']} {b['policy']}/{a['policy']}")
    return right, wrong


def table(target: str, rows: list[dict[str, Any]], held_out: Any) -> list[str]:
    lines = [f"### {target}", "", "| program | policy | XLA's peak (MiB) | estimated (MiB) | off | CPU plan | XLA took | held out |", "|---|---|--:|--:|--:|--:|--:|---|"]
    for r in rows:
        lines.append(f"| {r['program']} | {r['policy']} | {r['xla'] / MIB:,.1f} | {r['planned'] / MIB:,.1f} | {r['off']:+.1%} | {r['host_off']:+.0%} | "
                     f"{r['seconds']:.0f} s{' (with code)' if r['whole'] else ''} | {'yes' if held_out(r['program']) else ''} |")
    kept = [r for r in rows if held_out(r["program"])]
    seen = [r for r in rows if not held_out(r["program"])]
    right, wrong = orders(rows)
    lines += ["", f"- Estimates for {target}: {distribution(rows)}."]
    lines += [f"- Those held out: {distribution(kept)}. The others: {distribution(seen)}."] if kept and seen else []
    lines += [f"- Policies that differ by more than 10 % are in the right order in {right} of {right + len(wrong)} pairs" + (f"; not: {', '.join(wrong)}." if wrong else "."),
              f"- The CPU's plan: {distribution(rows, 'host_off')}.", ""]
    return lines


def sharded_table(rows: list[dict[str, Any]]) -> list[str]:
    """A row a layout, one device's figures over as many devices as a column says."""
    sizes = sorted({int(r["program"].rsplit("_", 1)[1]) for r in rows})
    found = {r["program"]: r for r in rows}
    layouts = sorted({r["program"].rsplit("_", 1)[0] for r in rows})
    lines = ["### v5p, one device of several", "", "| layout | " + " | ".join(f"{n} devices: XLA, estimated (MiB)" for n in sizes) + " |", "|---|" + "--:|" * len(sizes)]
    for layout in layouts:
        cells = [f"{r['xla'] / MIB:,.1f}, {r['planned'] / MIB:,.1f} ({r['off']:+.1%})" if (r := found.get(f"{layout}_{n}")) else "-" for n in sizes]
        lines.append(f"| {layout} | {' | '.join(cells)} |")
    return [*lines, "", f"- Estimates of sharded programs: {distribution(rows)}.", ""]


def make_missing(names: list[str], folder: pathlib.Path, args: argparse.Namespace, file: str, targets: Callable[[str], list[str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.jaxscope"
        if not path.exists() and (problem := make(name, path, args, file, targets(name))):
            print(f"{name}: {problem}", file=sys.stderr)


def compared_all(folder: pathlib.Path, names: set[str], args: argparse.Namespace) -> list[dict[str, Any]]:
    paths = [path for path in sorted(folder.glob("*.jaxscope")) if not names or path.name.removesuffix(".jaxscope") in names]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return [r for of in pool.map(lambda path: compared(path, args), paths) for r in of]


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--captures", type=pathlib.Path, default=HERE / "captures")
    ap.add_argument("--targets", type=lambda s: s.split(","), default=["v5p", "v5e"])
    ap.add_argument("--only", default="")
    ap.add_argument("--compile", action="store_true")
    ap.add_argument("--write", action="store_true")
    ap.add_argument("--target-python", default=os.environ.get("JAXSCOPE_TPU_PYTHON"))
    ap.add_argument("--jaxscope", default=os.environ.get("JAXSCOPE", str(ROOT / "build" / "release" / "jaxscope")))
    args = ap.parse_args()
    names = set(args.only.split(",")) if args.only else set()
    if args.compile:
        sys.path.insert(0, str(HERE))
        import programs
        import sharded
        asked = names or {*programs.CORPUS, *sharded.PROGRAMS}
        make_missing(sorted(asked - set(sharded.PROGRAMS)), args.captures, args, "programs.py", lambda name: args.targets)
        make_missing(sorted(asked & set(sharded.PROGRAMS)), args.captures / "sharded", args, "sharded.py", lambda name: [f"v5p:{sharded.TOPOLOGIES[int(name.rsplit('_', 1)[1])]}"])
    rows = compared_all(args.captures, names, args)
    spread = compared_all(args.captures / "sharded", names, args)
    if not rows and not spread:
        print("nothing to compare: --compile makes the captures", file=sys.stderr)
        return 1
    from held_out import held_out
    lines = [line for t in args.targets if (of := [r for r in rows if r["target"] == t]) for line in table(t, of, held_out)]
    lines += sharded_table(spread) if spread else []
    if args.write:
        head, _, rest = DOCUMENT.read_text().partition("<!-- tables -->\n")
        DOCUMENT.write_text(head + "<!-- tables -->\n" + "\n".join(lines) + "<!-- end -->\n" + rest.partition("<!-- end -->\n")[2])
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
