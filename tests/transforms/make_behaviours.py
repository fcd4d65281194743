"""Writes behaviours/*.jaxscope and behaviours/expected.json: captures of behaviour_programs.py and what real JAX makes of them.

Run with JAX 0.10.2 and app/capture on the path: python tests/transforms/make_behaviours.py
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.normpath(os.path.join(HERE, "..", "..", "app", "capture"))]
import jax
from jax._src import ad_checkpoint, core

import behaviour_programs
import jaxscope


def census(jaxpr):
    count = {}

    def go(j):
        for e in j.eqns:
            count[e.primitive.name] = count.get(e.primitive.name, 0) + 1
            for s in core.jaxprs_in_params(e.params):
                go(s)
    go(jaxpr)
    return dict(sorted(count.items()))


def clean(text):
    return re.sub(r"\S*behaviour_programs\.py", "behaviour_programs.py", text)


def expected(c):
    fn, args, wrt = c["fn"], c["args"], c["options"].get("wrt")
    chosen = tuple(range(len(args))) if wrt is None else tuple(wrt)

    def of_wrt(*xs):
        full = list(args)
        for i, x in zip(chosen, xs):
            full[i] = x
        return fn(*full)
    out = {"id": c["id"], "wrt": list(chosen), "all": wrt is None}
    for check in c["checks"]:
        if check == "residuals":
            f, a = (fn, args) if wrt is None else (of_wrt, [args[i] for i in chosen])
            out[check] = [[v.str_short(short_dtypes=True), clean(s)] for v, s in ad_checkpoint.saved_residuals(f, *a) if s != "from a literal"]
        elif check == "grad":
            out[check] = census(jax.make_jaxpr(jax.value_and_grad(fn, chosen))(*args).jaxpr)
        elif check == "pullback":
            y, pull = jax.vjp(fn, *args)
            out[check] = census(jax.make_jaxpr(pull)(y).jaxpr)
        elif check == "linear":
            _, lin = jax.linearize(fn, *args)
            out[check] = census(jax.make_jaxpr(lin)(*args).jaxpr)
        elif check == "refused":
            try:
                jax.make_jaxpr(jax.grad(fn))(*args)
            except Exception as e:
                out[check] = str(e)
    return out


def main():
    folder = os.path.join(HERE, "behaviours")
    rows = []
    for c in behaviour_programs.CASES:
        jaxscope.capture(c["fn"], name=c["id"], source=False, root=HERE, values="none")(*c["args"]).save(os.path.join(folder, c["id"] + ".jaxscope"))
        rows.append(expected(c))
    with open(os.path.join(folder, "expected.json"), "w") as f:
        f.write("[" + ",\n ".join(json.dumps(r) for r in rows) + "]\n")


main()
