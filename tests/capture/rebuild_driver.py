"""PROGRAM.py OUT.jaxscope: captures a program, loads the capture as a JAX function, and says whether it gives what the program gives."""
import importlib.util
import json
import os
import sys

# Vectorised arithmetic may differ in its last bits between two compilations; what is compared is the program.
import jax
import jaxscope
import numpy as np

path, out = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
spec = importlib.util.spec_from_file_location("program_of_test", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
given = module.program()
fn, args, kwargs = given["fn"], given["args"], given.get("kwargs", {})
options = {k: v for k, v in given.items() if k not in ("fn", "args", "kwargs", "jit", "name", "donate", "differentiate", "has_aux", "wrt", "policies")}


def numbers(leaf):
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def captured():
    keep = {k: given[k] for k in ("donate_argnums", "donate_argnames", "static_argnums", "static_argnames", "jit", "donate") if k in given}
    return jaxscope.capture(fn, values="all", source=False, **keep)(*args, **kwargs)


captured().save(out, compress=False)
try:
    rebuilt = jaxscope.load(out)
except jaxscope.CaptureError as e:
    print(json.dumps({"refused": str(e)}))
    sys.exit()
leaves = jax.tree_util.tree_leaves((args, kwargs))
if any(isinstance(x, jax.ShapeDtypeStruct) for x in leaves):  # a program of shapes alone, too large to run here
    avals = [[(x.shape, x.dtype) for x in jax.tree_util.tree_leaves(jax.eval_shape(f, *a, **k))] for f, a, k in ((rebuilt, leaves, {}), (fn, args, kwargs))]
    print(json.dumps({"same": avals[0] == avals[1], "worst": 0.0, "results": len(avals[0]), "notes": rebuilt.notes, "equations": len(rebuilt.jaxpr.eqns)}))
    sys.exit()
document = json.load(open(out))
leaves = [None if v is None else rebuilt._tables.array(v) for v in document["program"]["values"]]
copies = jax.tree_util.tree_map(lambda x: jax.numpy.array(x, copy=True) if isinstance(x, jax.Array) and not jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x, (args, kwargs))
kinds = jax.Array if document["program"].get("jit") == "eqx" else (jax.Array, np.ndarray, np.generic, float, int)  # Equinox's other leaves are static
wanted = [numbers(x) for x in jax.tree_util.tree_leaves(fn(*copies[0], **copies[1])) if isinstance(x, kinds)]
got = [numbers(x) for x in rebuilt(*leaves)]
worst = 0.0
same = len(got) == len(wanted)
for g, w in zip(got, wanted):
    if g.shape != w.shape or g.dtype != w.dtype:
        same = False
        continue
    if g.dtype.kind in "biu":
        same = same and bool((g == w).all())
        continue
    g, w = (np.asarray(a, np.complex128 if a.dtype.kind == "c" else np.float64) for a in (g, w))
    same = same and bool((np.isfinite(g) == np.isfinite(w)).all())
    ok = np.isfinite(g) & np.isfinite(w)
    if ok.any():
        worst = max(worst, float((np.abs(g - w)[ok] / (1 + np.abs(w)[ok])).max()))
print(json.dumps({"same": same, "worst": worst, "results": len(got), "notes": rebuilt.notes, "equations": len(rebuilt.jaxpr.eqns)}))
