"""A table of programs: jaxscope beside XLA in turn, best of all rounds, with what the first call and the temporaries cost."""
import contextlib
import json
import math
import pathlib
import statistics
import subprocess
import tempfile
import time

import jax
import numpy as np

import jaxscope

MIB = 1 / (1 << 20)


def timed(f) -> float:
    begin = time.perf_counter()
    f()
    return time.perf_counter() - begin


def largest_difference(ours, theirs) -> float:
    """Of an element, or of the typical one where that is smaller."""
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.dtype.kind == "V":
        a = a.view(b.dtype)
    if b.dtype == jax.dtypes.bfloat16:
        a, b = a.astype(np.float32), b.astype(np.float32)
    if not np.issubdtype(b.dtype, np.inexact):
        return float(np.mean(a != b)) if b.size else 0.0
    typical = np.sqrt(np.mean(np.abs(b[np.isfinite(b)]) ** 2)) if np.isfinite(b).any() else 1
    with np.errstate(all="ignore"):
        error = np.where(a == b, 0, np.abs(a - b) / np.maximum(np.abs(b), max(typical, 1e-30)))
    return float(np.max(np.where(np.isnan(a) & np.isnan(b), 0, np.nan_to_num(error, nan=np.inf)))) if b.size else 0.0


class Row:
    """One program: compiled by both, then run in turn."""

    def __init__(self, name: str, build, binary: str, folder: str, threads: int):
        self.name, self.binary, self.threads = name, binary, threads
        self.ours, self.theirs, self.compiles, self.note, self.report = [], [], [], "", {}
        self.fn, self.args, self.donated = build()
        self.capture, self.outputs = f"{folder}/{name}.jaxscope", f"{folder}/{name}.results.npz"
        jaxscope.capture(self.fn, values="all", donate_argnums=self.donated)(*self.args).save(self.capture, compress=False)
        self.compile()

    def compile(self):
        begin = time.perf_counter()
        self.compiled = jax.jit(self.fn, donate_argnums=self.donated).lower(*self.args).compile()
        self.xla_compile = time.perf_counter() - begin
        self.memory = self.compiled.memory_analysis()

    def call(self):
        args = jax.block_until_ready(jax.tree.map(lambda x: x.copy() if isinstance(x, jax.Array) else x, self.args)) if self.donated else self.args
        self.theirs.append(timed(lambda: jax.block_until_ready(self.compiled(*args))))

    def run(self, seconds: float, check: bool):
        calls = max(3, min(200, int(seconds / min(self.theirs))))
        command = [self.binary, "--no-code-cache", "run", self.capture, "--json", "--repeat", str(calls), "--threads", str(self.threads)]
        command += ["--outputs", self.outputs] if check else []
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            self.note = "refused: " + done.stderr.strip().splitlines()[0][:90]
            return
        self.report = json.loads(done.stdout)
        self.ours.append(self.report["time"]["run_min"])
        self.compiles.append(self.report["time"]["compile"])

    def round(self, seconds: float, check: bool):
        for _ in range(2 if check else 1):
            self.call()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.call()
        self.run(seconds, check)
        if check and self.ours:
            self.compare()

    def compare(self):
        theirs = jax.tree.leaves(jax.jit(self.fn)(*self.args))
        with np.load(self.outputs) as ours:
            worst = max((largest_difference(ours[f"out{i}"], t) for i, t in enumerate(theirs)), default=0.0)
        self.note = f"values differ by {worst:.1e}" if worst > 2e-3 else self.note
        pathlib.Path(self.outputs).unlink()

    def ratio(self) -> float:
        return min(self.ours) / min(self.theirs) if self.ours else math.nan

    def line(self) -> str:
        if not self.ours:
            return f"{self.name:26s} {min(self.theirs) * 1e3:9.2f} {'':9s}         {self.note}"
        t, m = self.report["time"], self.report["memory"]
        return (f"{self.name:26s} {min(self.theirs) * 1e3:9.2f} {min(self.ours) * 1e3:9.2f} {self.ratio():7.2f} "
                f"{statistics.median(self.compiles) / self.xla_compile:8.2f} {t['first_run'] / min(self.theirs):8.2f} "
                f"{self.memory.temp_size_in_bytes * MIB:8.1f} {m['temporaries'] * MIB:8.1f}  {self.note}")


HEADER = (f"{'program':26s} {'XLA ms':>9s} {'ours ms':>9s} {'ratio':>7s} {'compile':>8s} {'first':>8s} {'XLA MiB':>8s} {'ours MiB':>8s}\n"
          f"{'':26s} {'':>9s} {'':>9s} {'':>7s} {'ratio':>8s} {'/ XLA':>8s} {'temp':>8s} {'temp':>8s}")


def wide_types():
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64()


def table(programs: dict, binary: str, rounds: int, seconds: float, threads: int = 0) -> list[Row]:
    print(HEADER)
    rows = []
    for name, build in programs.items():
        with tempfile.TemporaryDirectory() as folder, wide_types() if getattr(build, "x64", False) else contextlib.nullcontext():
            try:
                row = Row(name, build, binary, folder, threads)
                for r in range(rounds):
                    row.round(seconds, check=r == 0)
            except jaxscope.CaptureError as e:
                print(f"{name:26s} not captured: {str(e).splitlines()[0][:120]}", flush=True)
                continue
        print(row.line(), flush=True)
        row.compiled = row.fn = row.args = None
        rows.append(row)
    known = [r.ratio() for r in rows if r.ours]
    if known:
        mean = math.exp(sum(map(math.log, known)) / len(known))
        print(f"{len(known)} of {len(programs)} run; geometric mean {mean:.3f}, {sum(x < 1 for x in known)} faster, worst {max(known):.2f}")
    return rows
