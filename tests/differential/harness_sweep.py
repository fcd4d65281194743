"""JAX's own primitive harnesses as programs with values: what JAX makes of them, and what the value driver makes of their captures.

Each is run, differentiated (a weighted sum of its results, by every input of inexact type) and mapped over two examples: the harness's
arguments, and the same with their elements in reverse order. JAX's answers are kept in the folder, so a second sweep needs no JAX.
"""
import json
import pathlib
import pickle
import subprocess

import jax
import jax.numpy as jnp
import numpy as np

from conftest import largest_error
from jaxscope import api

KINDS = ("run", "grad", "vmap")
UP_TO_PHASE = ("eig", "svd")
# Where JAX 0.10.2 fails by itself, whatever the program: a parameter that mul's transposition doesn't take, zeros that reshape doesn't.
JAX_FAILS = ("_mul_transpose_right() missing", "Error interpreting argument to reshape")
# Results that XLA leaves open: the order of equal elements where a sort isn't stable, or between candidates of narrow types.
OPEN = ("sort_multiple_arrays_num_arrays_3_shape_int32_100_axis_0_isstable_False", "sort_multiple_arrays_num_arrays_2_shape_int32_100_axis_0_isstable_False_num_keys_1",
        "approx_top_k_large_True_max_True_op_bfloat16",
        "approx_top_k_large_True_max_True_op_float16", "approx_top_k_large_True_max_False_op_bfloat16", "approx_top_k_large_True_max_False_op_float16")


def inexact(x) -> bool:
    return jax.dtypes.issubdtype(x.dtype, np.inexact)


def loss_of(fn, outs, up_to_phase=False):
    """A sum of results with fixed weights; None where no result is inexact. Eigenvectors and singular vectors are determined up to their
    phases: of them, the sum of squared magnitudes."""
    rng = np.random.RandomState(1)
    weights = [np.asarray(rng.uniform(0.5, 1.5, o.shape)) if inexact(o) else None for o in outs]
    if all(w is None for w in weights):
        return None

    def loss(*args):
        total = 0.0
        for out, w in zip(jax.tree.leaves(fn(*args)), weights, strict=True):
            if w is not None:
                part = jnp.real(out * jnp.conj(out) if up_to_phase and out.ndim > 1 else out).astype(np.float64 if out.dtype in (np.float64, np.complex128) else np.float32)
                total = total + jnp.sum(part * w.astype(part.dtype))
        return total
    return loss


def twice(x):
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(x)
        flipped = np.asarray(data).reshape(-1, data.shape[-1])[::-1].reshape(data.shape)
        return jax.random.wrap_key_data(np.stack([data, flipped]), impl=jax.random.key_impl(x))
    x = np.asarray(x)
    return np.stack([x, np.flip(x)])


def as_numpy(x):
    return np.asarray(jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x)


def prepare(h, stem: pathlib.Path) -> dict:
    """Captures the harness and what JAX computes: per kind a list of arrays, or the message with which JAX refuses."""
    raw = h.dyn_args_maker(np.random.RandomState(0))
    fn = lambda *a: h.dyn_fun(*a)
    leaves, tree = jax.tree.flatten(tuple(raw))
    leaves = [x if isinstance(x, jax.Array) else np.asarray(x) for x in leaves]
    flat = lambda *xs: jax.tree.leaves(fn(*jax.tree.unflatten(tree, xs)))
    outs = jax.eval_shape(flat, *leaves)
    api.capture(flat, values="all")(*leaves).save(f"{stem}.run.jaxscope")
    # Converted as JAX converts arguments: Python's and NumPy's numbers to its default types.
    args = [jnp.asarray(x) if not isinstance(x, jax.Array) else x for x in leaves]
    loss = loss_of(flat, outs, h.fullname.startswith(UP_TO_PHASE))
    chosen = [i for i, x in enumerate(args) if inexact(x)]
    asked = {"run": lambda: jax.jit(flat)(*args), "vmap": (lambda: jax.jit(jax.vmap(flat))(*map(twice, args))) if args else None}
    if loss is not None and chosen:
        api.capture(loss, values="all")(*leaves).save(f"{stem}.grad.jaxscope")
        asked["grad"] = lambda: jax.tree.leaves(jax.jit(jax.value_and_grad(loss, chosen))(*args))
    expected = {}
    for kind, ask in asked.items():
        if ask is None:
            continue
        try:
            expected[kind] = [as_numpy(x) for x in ask()]
        except Exception as e:
            expected[kind] = f"{type(e).__name__}: {e}"[:500]
            if any(text in expected[kind] for text in JAX_FAILS):
                del expected[kind]
    if h.fullname.startswith(OPEN):
        return {}
    expected["narrow"] = any(str(x.dtype) in NARROW for x in [*args, *outs])
    return expected


def prepared(number: int, case, folder: pathlib.Path) -> tuple[str, dict]:
    """Name and JAX's answers. They are kept in the folder: a second sweep over it asks JAX nothing. What JAX doesn't trace has none."""
    kept = folder / f"{number}.pickle"
    if not kept.exists():
        try:
            answer = prepare(case, folder / str(number))
        except Exception as e:
            answer = {"untraced": f"{type(e).__name__}: {e}"[:500]}
        kept.write_bytes(pickle.dumps((case.fullname, answer)))
    return pickle.loads(kept.read_bytes())


class Case:
    """A program of our own, as a harness."""

    def __init__(self, name, function, args):
        self.fullname, self.dyn_fun, self.args = name, function, args

    def dyn_args_maker(self, _):
        return self.args


TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-4, "complex64": 2e-4, "float16": 2 ** -8, "bfloat16": 2 ** -6}
NARROW = ("float16", "bfloat16", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def compare(theirs, ours, name: str, narrow: bool) -> str | None:
    """What differs, if anything does. `narrow`: the program computes in types of at most 16 bits."""
    if isinstance(theirs, str):  # JAX refuses
        return None if isinstance(ours, str) and not ours.startswith("ended") else f"JAX refuses ({theirs[:100]}), jaxscope doesn't"
    if isinstance(ours, str):
        return ours
    if len(ours) != len(theirs):
        return f"{len(theirs)} results, found {len(ours)}"
    for k, (a, b) in enumerate(zip(ours, theirs)):
        if b.dtype == jax.dtypes.float0:
            continue
        if a.dtype.kind == "V" or (a.dtype != b.dtype and a.dtype.itemsize == b.dtype.itemsize):
            a = a.view(b.dtype)  # NumPy's files have no names for ml_dtypes' types
        kind = str(b.dtype)
        error = largest_error(a, b)
        if error > 1e-2 and name.startswith(UP_TO_PHASE) and a.ndim > 1:
            error = largest_error(np.abs(a), np.abs(b))
        if not error <= max(TOLERANCE.get(kind, 2 ** -3 if kind in NARROW else 0), TOLERANCE["bfloat16"] if narrow and inexact(b) else 0):
            return f"result {k}, {kind}{list(b.shape)}: error {error:.3g}"
    return None


class Driver:
    """value_driver, started again where a program ended it."""

    def __init__(self, binary: pathlib.Path, folder: pathlib.Path):
        self.binary, self.folder, self.process = binary, folder, None

    def ask(self, file: str, kind: str):
        if self.process is None:
            self.process = subprocess.Popen([self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        out = self.folder / "out.npz"
        self.process.stdin.write(json.dumps({"file": file, "do": kind, "out": str(out)}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            code, self.process = self.process.wait(), None
            return f"ended with {code}"
        answer = json.loads(line)
        if "error" in answer:
            return answer["error"]
        with np.load(out) as a:
            return [a[f"out{i}"] for i in range(len(a.files))]

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
