"""Arrays with zeros of both signs, NaN and infinities among few other numbers, and programs of them held to JAX."""
import jax
import jax.numpy as jnp
import numpy as np

import jaxscope


def numbers(r, dtype, shape):
    if dtype == jnp.bool_:
        return jnp.asarray(r.rand(*shape) < 0.5)
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.asarray(r.randint(0, 9, shape).astype(dtype))
    x = (r.randint(-6, 7, shape) / 2).astype(np.float32)
    special = r.rand(*shape)
    for k, v in enumerate((0.0, -0.0, np.inf, -np.inf, np.nan)):
        x[(special > k * 0.03) & (special < (k + 1) * 0.03)] = v
    x = jnp.asarray(x).astype(dtype)
    return x + 1j * jnp.asarray((r.randint(-6, 7, shape) / 2).astype(np.float32)) if dtype == jnp.complex64 else x


def same_numbers(got, want, signs):
    """Equal but for the last digit of what is rounded; `signs`: those of zeros, too (which of two is the least is nobody's promise)."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "V":
        got = got.view(want.dtype)
    if want.dtype.kind in "biu":
        return np.array_equal(got, want)
    digits = 2e-2 if want.dtype == jnp.bfloat16 else 2e-3 if want.dtype == np.float16 else 2e-6
    if want.dtype.kind != "c":
        got, want = got.astype(np.float32), want.astype(np.float32)
        if signs and not np.array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0])):
            return False
    with np.errstate(invalid="ignore"):
        return np.allclose(got, want, rtol=digits, atol=0, equal_nan=True)


def expect_jax(cli, folder, f, args, *, signs, check, what):
    """All that f returns, as JAX computes it compiled or operation by operation; `check`: with every index checked, too."""
    jaxscope.capture(f, values="all")(*args).save(folder / "p.jaxscope")
    cli.json("run", str(folder / "p.jaxscope"), "--outputs", str(folder / "out.npz"), *(["--debug"] if check else []))
    with np.load(folder / "out.npz") as ours:
        # XLA makes x of (x + y) - y, which operation by operation is NaN where y is infinite.
        for i, (want, each) in enumerate(zip(jax.tree.leaves(jax.jit(f)(*args)), jax.tree.leaves(f(*args)))):
            assert same_numbers(ours[f"out{i}"], want, signs) or same_numbers(ours[f"out{i}"], each, signs), f"{what}, result {i}"
