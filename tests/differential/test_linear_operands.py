"""Transposition with several linear operands at once: gradients are real JAX's, in values, whichever arguments and results take part."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from linear_cases import CASES

import jaxscope
from test_values import close

ALL = [(name, i) for name, cases in CASES.items() for i in range(len(cases))]


def weighted(fn, results):
    """The sum of the chosen results, weighted so that no two elements have one gradient."""
    def loss(*args):
        total = np.float32(0)
        for k, out in enumerate(jax.tree.leaves(fn(*args))):
            if results is None or k == results:
                weights = np.cos(np.arange(1, out.size + 1, dtype=np.float32) * (k + 1)).reshape(out.shape)
                total = total + jnp.sum(jnp.real(out * weights * (1 - 2j if jnp.iscomplexobj(out) else 1)).astype(jnp.float32))
        return total
    return loss


def combinations(fn, args, alone):
    """All results by all arguments, by each argument alone; each result by all arguments."""
    every, results = tuple(range(len(args))), len(jax.tree.leaves(jax.eval_shape(fn, *args)))
    return [(None, every), *((None, (k,)) for k in every if alone and len(args) > 1), *((r, every) for r in range(results) if 1 < results < 4)]


@pytest.mark.parametrize("name, i", ALL, ids=[f"{n}-{i}" for n, i in ALL])
def test_gradients(cli, tmp_path, name, i):
    fn, args, alone = CASES[name][i]
    parts = combinations(fn, args, alone)
    wanted = jax.jit(lambda *args: [jax.grad(weighted(fn, result), argnums=wrt)(*args) for result, wrt in parts])(*args)
    for (result, wrt), want in zip(parts, wanted):
        path, out = str(tmp_path / "a.jaxscope"), str(tmp_path / "out.npz")
        jaxscope.capture(weighted(fn, result), values="all")(*args).save(path)
        cli.json("run", path, "--apply", "grad:" + ",".join(map(str, wrt)), "--outputs", out)
        with np.load(out) as ours:
            assert len(ours.files) == len(want)
            for k, w in enumerate(want):
                close(ours[f"out{k}"], w, str(w.dtype), low=name == "convert_element_type")


def test_psum_of_several_operands(cli, tmp_path):
    """JAX made such equations until 0.6; 0.10.2 binds one for each operand."""
    args = [np.arange(1, 5, dtype=np.float32), np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), np.float32([2, 3, 5, 7])]
    program = tmp_path / "psum.jaxpr"
    program.write_text("""{ lambda ; a:f32[4] b:f32[4,3] c:f32[4]. let
    d:f32[] e:f32[3] f:f32[] = psum[axes=(0,) axis_index_groups=None] a b c
    g:f32[3] = mul d e
    h:f32[] = reduce_sum[axes=(0,)] g
  in (h,) }""")
    np.savez(tmp_path / "in.npz", **{f"arg{i}": a for i, a in enumerate(args)})
    loss = lambda a, b, c: (a.sum() * b.sum(0)).sum()
    for wrt in ((0, 1, 2), (0,), (1,)):
        out = str(tmp_path / "out.npz")
        cli.json("run", str(program), "--apply", "grad:" + ",".join(map(str, wrt)), "--inputs", str(tmp_path / "in.npz"), "--outputs", out)
        with np.load(out) as ours:
            for k, w in enumerate(jax.grad(loss, argnums=wrt)(*args)):
                close(ours[f"out{k}"], w, str(w.dtype))
