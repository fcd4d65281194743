"""lax.reduce and lax.reduce_window with functions and initial values of the user's own: values, forward and reverse mode and vmap are JAX's."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxscope
from test_values import close

R = np.random.RandomState(0)
MONOIDS = {"add": lax.add, "mul": lax.mul, "max": lax.max, "min": lax.min}
BITS = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor}


def array(dtype, *shape):
    if dtype == jnp.bool_:
        return jnp.asarray(R.rand(*shape) > 0.5)
    x = R.randn(*shape) + (1j * R.randn(*shape) if dtype == jnp.complex64 else 0)
    return jnp.asarray(x * (1 if jnp.issubdtype(dtype, jnp.inexact) else 50)).astype(dtype)


def fading(a, b):
    """Neither associative nor commutative: the order of the elements shows."""
    return a * jnp.asarray(0.5, a.dtype) + b


def ran(cli, tmp_path, fn, args, *steps, inputs=None):
    path, out = str(tmp_path / "a.jaxscope"), str(tmp_path / "out.npz")
    jaxscope.capture(fn, values="all")(*args).save(path)
    more = [word for step in steps for word in ("--apply", step)]
    if inputs is not None:
        np.savez(tmp_path / "in.npz", **{f"arg{i}": a for i, a in enumerate(inputs)})
        more += ["--inputs", str(tmp_path / "in.npz")]
    cli.json("run", path, *more, "--outputs", out)
    with np.load(out) as z:
        return [z[f"out{i}"] for i in range(len(z.files))]


def same(ours, theirs):
    theirs = jax.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        close(a, b, str(b.dtype))


def reductions(x):
    """Every function with initial values that are none of its identity, over few and over many elements, over some and all dimensions."""
    dtype, out = x.dtype, []
    init = np.array(1 if dtype == jnp.bool_ else 3, dtype)
    functions = BITS if dtype == jnp.bool_ else MONOIDS if jnp.issubdtype(dtype, jnp.inexact) else MONOIDS | BITS
    if dtype == jnp.complex64:
        functions = {k: functions[k] for k in ("add", "mul")}
    for f in functions.values():
        out += [lax.reduce(x[:3, :5], init, f, dims) for dims in ((), (0,), (1,), (1, 0))]
        out += [lax.reduce(x, init, f, (1,)), lax.reduce(x[:, :1], init, f, (1,)), lax.reduce(x[:0], init, f, (0,))]
        out += [lax.reduce_window(x[:4, :6], init, f, (2, 3), (1, 2), ((1, 0), (2, 1)), base_dilation=(1, 2), window_dilation=(2, 1))]
    if "add" in functions:
        out += [lax.reduce(x, init, fading, (0, 1)), lax.reduce(x, init, fading, (1,)), lax.reduce_window(x, init, fading, (3, 4), (2, 3), "SAME")]
        out += lax.reduce((x, x[::-1]), (init, init), lambda a, b: (a[0] + b[1], a[1] * b[0]), (0,))
    if "max" in functions:
        out += lax.reduce((x, x, x[::-1]), (init, init, init), lambda a, b: (lax.max(a[0], b[0]), lax.min(a[1], b[1]), a[2] + b[2]), (1,))
        out += lax.reduce_window((x, x), (init, init), lambda a, b: (lax.max(a[0], b[0]), lax.min(a[1], b[1])), (2, 5), (2, 5), "SAME")
    return out


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "int8", "bool"])
def test_values(cli, tmp_path, dtype):
    x = array(jnp.dtype(dtype), 4, 70)
    same(ran(cli, tmp_path, reductions, (x,)), jax.jit(reductions)(x))


def test_initial_values_that_the_program_computes(cli, tmp_path):
    fn = lambda x, i: [lax.reduce(x, i * 2, f, (0,)) for f in MONOIDS.values()] + [lax.reduce_window(x, i, lax.add, (2, 2), (1, 1), "VALID")]
    args = array(jnp.float32, 5, 6), np.float32(1.5)
    same(ran(cli, tmp_path, fn, args), jax.jit(fn)(*args))


def smooth(x):
    out = [lax.reduce(x, np.float32(3), f, dims) for f in (*MONOIDS.values(), fading) for dims in ((0,), (1,), (0, 1))]
    return out + list(lax.reduce((x, jnp.sin(x)), (np.float32(3), np.float32(0.5)), lambda a, b: (a[0] * b[1], a[1] + b[0]), (1,)))


def windows(x):
    return [lax.reduce_window(x, np.float32(0.5), f, (2, 3), (1, 2), ((1, 0), (2, 1))) for f in (*MONOIDS.values(), fading)]


def test_forward_mode(cli, tmp_path):
    x, t = array(jnp.float32, 3, 7), array(jnp.float32, 3, 7)
    fn = lambda x: (smooth(x), windows(x))
    same(ran(cli, tmp_path, fn, (x,), "jvp", inputs=(x, t)), jax.jit(lambda x, t: jax.jvp(fn, (x,), (t,)))(x, t))


def test_gradient(cli, tmp_path):
    loss = lambda x: sum(jnp.sum(o * np.cos(np.arange(o.size, dtype=np.float32)).reshape(o.shape)) for o in smooth(x))
    x = array(jnp.float32, 3, 7)
    same(ran(cli, tmp_path, loss, (x,), "grad:0"), jax.jit(jax.grad(loss))(x))


def test_vmap(cli, tmp_path):
    x = array(jnp.float32, 3, 2, 7)
    fn = lambda x: (smooth(x), windows(x))
    same(ran(cli, tmp_path, fn, (x[:, 0],), "vmap:1@2", inputs=(x,)), jax.jit(jax.vmap(fn, in_axes=1))(x))


@pytest.mark.parametrize("step, refused", [("grad:0", lambda f, x: jax.grad(f)(x, np.float32(1))), ("vmap:-,0@3", lambda f, x: jax.vmap(f, (None, 0))(x, np.ones(3, np.float32))),
                                           ("grad:1", lambda f, x: jax.grad(f, 1)(x, np.float32(1)))])
def test_what_jax_refuses(cli, tmp_path, step, refused):
    fn = lambda x, i: jnp.sum(lax.reduce_window(x, i, lax.mul, (2,), (1,), "VALID"))
    x = array(jnp.float32, 5)
    with pytest.raises((ValueError, TypeError, NotImplementedError)) as said:
        refused(fn, x)
    jaxscope.capture(fn)(x, np.float32(1)).save(str(tmp_path / "a.jaxscope"))
    code, message = cli.fails("transform", str(tmp_path / "a.jaxscope"), "--apply", step)
    assert code == 3 and str(said.value) in message, message
