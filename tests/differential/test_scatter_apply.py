"""x.at[i].apply(f): a scatter with a function of the user's own. Run, mapped, refused and printed as JAX does."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxscope
from test_behaviours import made_by_jax
from test_reduce import ran, same

X = jnp.asarray(np.random.RandomState(0).randn(5, 4), jnp.float32)
OFTEN = jnp.array([1, 1, 4, -1, 1, 7])  # repeated, counted from the end, outside


def halved(v):
    return v * jnp.asarray(0.5, v.dtype) + jnp.asarray(1, v.dtype)


def windows(x, starts, unique):
    """Windows of 2 by 3 that overlap, begin outside, or are said to be apart."""
    dims = lax.ScatterDimensionNumbers(update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1))
    return lax.scatter_apply(x, starts, jnp.cos, dims, update_shape=(*starts.shape[:1], 2, 3), unique_indices=unique)


CASES = {
    "repeated": (lambda x, i: x.at[i].apply(halved), (X, OFTEN)),
    "once": (lambda x, i: x.at[i, 2].apply(jnp.sin), (X, jnp.int32(3))),
    "slice": (lambda x, i: x.at[1:4, ::2].apply(jax.nn.gelu) + i, (X, jnp.int32(3))),
    "modes": (lambda x, i: [x.at[i].apply(jnp.exp, mode=m) for m in ("clip", "drop")], (X, OFTEN)),
    "in a jit, branching": (lambda x, i: x.at[i, i].apply(jax.jit(lambda v: jnp.where(v > 0, jax.nn.relu(v), v * v))), (X, OFTEN)),
    "one number": (lambda x, i: x.at[()].apply(jnp.cos) + i, (jnp.float32(0.3), jnp.int32(1))),
    "nothing": (lambda x, i: x.at[i[:0]].apply(jnp.cos), (X, OFTEN)),
    "booleans": (lambda x, i: (x > 0).at[i].apply(jnp.logical_not), (X, OFTEN)),
    "windows": (lambda x, i: windows(x, i, False), (X, jnp.array([[0, 0], [1, 1], [1, 0], [4, 2], [-1, 0], [1, 1]]))),
    "windows apart": (lambda x, i: windows(x, i, True), (X, jnp.array([[0, 1], [3, 0]]))),
} | {str(np.dtype(d)): (lambda x, i: x.at[i].apply(halved), ((X * 20).astype(d), OFTEN)) for d in (jnp.bfloat16, jnp.complex64, jnp.int8, jnp.uint32)}


@pytest.mark.parametrize("case", CASES)
def test_runs_and_maps(cli, tmp_path, case):
    fn, args = CASES[case]
    same(ran(cli, tmp_path, fn, args), fn(*args))
    stacked = [jnp.stack([a, a[::-1] if a.ndim else a, a]) for a in args]
    same(ran(cli, tmp_path, fn, args, "vmap@3", inputs=stacked), jax.vmap(fn)(*stacked))
    text = cli.json("transform", str(tmp_path / "a.jaxscope"), "--apply", "vmap@3", "--print")["text"]
    assert text.strip() == made_by_jax(jax.vmap(fn), *stacked).strip()


def test_other_outputs_differentiate(cli, tmp_path):
    """JAX has no derivative of it; what stands beside it, and what stops its gradient, has one."""
    fn = lambda x: (jnp.sin(x) * lax.stop_gradient(x).at[OFTEN].apply(jnp.cos)).sum()
    same(ran(cli, tmp_path, fn, (X,), "grad"), jax.grad(fn)(X))


def test_what_jax_refuses(cli, tmp_path):
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(lambda x: x.at[OFTEN].apply(jnp.sin).sum())(X).save(path)
    with pytest.raises(NotImplementedError):
        jax.grad(lambda x: x.at[OFTEN].apply(jnp.sin).sum())(X)
    code, message = cli.fails("transform", path, "--apply", "grad", "--print")
    assert code != 0 and "scatter_apply, which JAX doesn't differentiate either" in message and "test_scatter_apply.py" in message
    for wrong, expected in [(lambda v: v.astype(int), "a function from f32[] to the same type"),
                            (lambda v: (jax.debug.print("{}", v), v)[1], "Cannot lower effectful `scatter`.")]:
        jaxscope.capture(lambda x: x.at[OFTEN].apply(wrong))(X).save(path)
        with pytest.raises((ValueError, NotImplementedError)):
            jax.jit(lambda x: x.at[OFTEN].apply(wrong))(X)
        code, message = cli.fails("run", path)
        assert code != 0 and expected in message
