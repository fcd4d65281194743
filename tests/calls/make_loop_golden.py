"""Writes golden/loops.json: what JAX makes of small programs with scan, while, cond and custom_linear_solve.

    python tests/calls/make_loop_golden.py        (with JAX 0.10.2)
"""
import json
import pathlib
import re

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.ad_checkpoint import saved_residuals
from jax._src.interpreters import partial_eval as pe

P = jax.checkpoint_policies
c4, x34, w44, key = jnp.ones(4), jnp.ones((3, 4)), jnp.ones((4, 4)), jnp.float32(1)


def rnn(w, c, xs):
    return lax.scan(lambda c, x: (jnp.tanh(w @ c + x), c.sum()), c, xs)


def rnn_loss(w, c, xs):
    c, ys = rnn(w, c, xs)
    return c.sum() + ys.sum()


def reverse_unroll(w, c, xs):
    return lax.scan(lambda c, x: (jnp.sin(w @ c) * x, None), c, xs, reverse=True, unroll=2)[0].sum()


def invariant(w, c, xs):
    return lax.scan(lambda c, x: (c * jnp.sin(w) + x, None), c, xs)[0].sum()


def two_sines(c, xs):
    return lax.scan(lambda c, x: (jnp.sin(jnp.sin(c)) + x, None), c, xs)[0].sum()


def remat_body(w, c, xs):
    return lax.scan(jax.checkpoint(lambda c, x: (jnp.sin(jnp.sin(w @ c)) + x, None), prevent_cse=False), c, xs)[0].sum()


def late_carry(c, d, xs):  # the second carry gets its tangent from the first one in the first step
    return lax.scan(lambda s, x: ((s[0] * x, s[1] + jnp.sin(s[0])), s[1] * 2), (c, d), xs)[0][1].sum()


def nested(c, xs):
    inner = lambda c, x: lax.scan(lambda u, _: (jnp.sin(u) * x, None), c, None, length=2)[0]
    return lax.scan(lambda c, x: (inner(c, x), None), c, xs)[0].sum()


def branches(i, x):
    return lax.switch(i, [lambda x: jnp.sin(x) * x, lambda x: x[:1].sum() * x, lambda x: x], x).sum()


def cond_two(p, x):
    return lax.cond(p > 0, lambda x: jnp.sin(jnp.sin(x)), jnp.cos, x).sum()


def cond_in_scan(c, xs):
    return lax.scan(lambda c, x: (lax.cond(x[0] > 0, jnp.sin, lambda v: v * x, c), None), c, xs)[0].sum()


def fori_static(x):
    return lax.fori_loop(0, 5, lambda i, v: jnp.sin(v) * i, x).sum()


def dynamic(n, x):
    return lax.fori_loop(0, n, lambda i, v: v * x, x).sum()


def while_two(n, x, y):  # y's carry is known when only x is differentiated
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2 * s[2], jnp.sin(s[2])), (0, x, y))[1].sum()


def solve(a, b):  # four different functions: equal ones are one object in a jaxpr's text; the solution itself doesn't matter here
    return lax.custom_linear_solve(lambda v: a @ v, b, lambda _, r: (r @ a) * 2, lambda _, r: (a @ r) * 3).sum()


def reduction(x):
    return lax.reduce(x, jnp.float32(1), lambda u, v: u * v + u + v, (0,)).sum()


def selfish(c, d, e, xs):  # c feeds itself alone, d feeds e
    return lax.scan(lambda s, x: ((s[0] * 2, s[1] + x, s[2] * s[1]), s[1]), (c, d, e), xs)


i0, n5 = jnp.int32(0), jnp.int32(5)
GRADS = [
    (rnn_loss, (w44, c4, x34), (0,)), (rnn_loss, (w44, c4, x34), (1, 2)), (reverse_unroll, (w44, c4, x34), (0, 1)),
    (invariant, (c4, c4, x34), (0,)), (two_sines, (c4, x34), (0,)), (remat_body, (w44, c4, x34), (0, 1)), (late_carry, (c4, c4, x34), (0,)),
    (nested, (c4, x34), (0, 1)), (branches, (i0, c4), (1,)), (cond_two, (key, c4), (1,)), (cond_in_scan, (c4, x34), (0, 1)),
    (fori_static, (c4,), (0,)), (solve, (w44, c4), (0, 1)), (reduction, (x34,), (0,)),
]
POLICIES = [
    (rnn_loss, (w44, c4, x34), "dots_saveable"), (rnn_loss, (w44, c4, x34), "nothing_saveable"), (rnn_loss, (w44, c4, x34), "everything_saveable"),
    (invariant, (c4, c4, x34), "everything_saveable"), (two_sines, (c4, x34), "nothing_saveable"), (cond_two, (key, c4), "nothing_saveable"),
    (cond_two, (key, c4), "everything_saveable"), (remat_body, (w44, c4, x34), "dots_saveable"), (fori_static, (c4,), "nothing_saveable"),
    (branches, (i0, c4), "everything_saveable"),
]
VMAPS = [
    (rnn, (w44, jnp.ones((2, 4)), x34), (None, 0, None)), (rnn, (w44, c4, jnp.ones((3, 4, 2))), (None, None, 2)),
    (branches, (i0, jnp.ones((2, 4))), (None, 0)), (branches, (jnp.zeros(2, jnp.int32), c4), (0, None)),
    (dynamic, (n5, jnp.ones((2, 4))), (None, 0)), (dynamic, (jnp.full(2, 5, jnp.int32), c4), (0, None)),
    (while_two, (n5, jnp.ones((4, 2)), c4), (None, 1, None)),
    (solve, (w44, jnp.ones((2, 4))), (None, 0)),
    (reduction, (jnp.ones((3, 2, 4)),), (1,)),
]


def rows(f, args):
    # Places are the file's own lines, which a jaxpr's text doesn't carry.
    return [[a.str_short(short_dtypes=True), s.split(" from ")[0] if not s.startswith("from") else s.split()[2]]
            for a, s in saved_residuals(f, *args) if s != "from a literal"]


def text(f, *args):
    """Without what isn't part of a program: NumPy's integers among Python's, addresses of policies."""
    t = re.sub(r"np\.int64\((-?\d+)\)", r"\1", str(jax.make_jaxpr(f)(*args)))
    t = t.replace("policy=DotsSaveable(only_if_no_batch_dims=False)", "policy=dots_saveable")
    return re.sub(r"policy=<function (\w+) at 0x\w+>", r"policy=\1", t)


def main():
    cases = []
    for f, args, wrt in GRADS:
        cases.append(dict(kind="grad", name=f.__name__, jaxpr=text(f, *args), wrt=list(wrt), expect=text(jax.grad(f, wrt), *args)))
        cases.append(dict(kind="residuals", name=f.__name__, jaxpr=text(f, *args), policy="", expect=rows(f, args)))
    for f, args, policy in POLICIES:
        g = jax.checkpoint(f, policy=getattr(P, policy))
        wrt = tuple(i for i, a in enumerate(args) if jnp.issubdtype(a.dtype, jnp.inexact))
        cases.append(dict(kind="residuals", name=f.__name__, jaxpr=text(f, *args), policy=policy, expect=rows(g, args)))
        if f is invariant:  # the same program, but two loop-invariant residuals of the remat's inner split come in the other order
            continue
        cases.append(dict(kind="checkpoint_grad", name=f.__name__, jaxpr=text(f, *args), policy=policy, wrt=list(wrt),
                          expect=text(jax.grad(g, wrt), *args)))
    for f, args, axes in VMAPS:
        plain = [a if d is None else jnp.take(a, 0, axis=d) for a, d in zip(args, axes)]
        size = next(a.shape[d] for a, d in zip(args, axes) if d is not None)
        cases.append(dict(kind="vmap", name=f.__name__, jaxpr=text(f, *plain), size=size, axes=[-1 if d is None else d for d in axes],
                          expect=text(jax.vmap(f, axes), *args)))
    for f, args, dx in [(dynamic, (n5, c4), (1,)), (while_two, (n5, c4, c4), (1,)), (late_carry, (c4, c4, x34), (0,)), (branches, (i0, c4), (1,))]:
        def forward(*a, f=f, dx=dx):
            primals, tangents = a[:-len(dx)], a[-len(dx):]
            g = lambda *v: f(*[v[dx.index(i)] if i in dx else p for i, p in enumerate(primals)])
            return jax.jvp(g, [primals[i] for i in dx], list(tangents))
        cases.append(dict(kind="jvp", name=f.__name__, jaxpr=text(f, *args), wrt=list(dx), expect=text(forward, *args, *[args[i] for i in dx])))
    j = jax.make_jaxpr(selfish)(c4, c4, c4, x34)
    for used in ([0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]):
        small, ins = pe.dce_jaxpr(j.jaxpr, [bool(u) for u in used])
        cases.append(dict(kind="dce", name="selfish", jaxpr=str(j), used=used, used_inputs=[int(i) for i in ins], expect=str(small)))
    out = pathlib.Path(__file__).parent / "golden" / "loops.json"
    out.write_text(json.dumps(cases, indent=1) + "\n")


main()
