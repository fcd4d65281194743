"""Steps of `transform` on captures, with what a pasted text doesn't hold: custom rules under vmap."""
import re

import jax
import jax.numpy as jnp
import numpy as np

import jaxscope

R = np.random.RandomState(0)


@jax.custom_jvp
def scaled(x, s):
    return jnp.sin(x) * s


@scaled.defjvp
def _(primals, tangents):
    (x, s), (dx, ds) = primals, tangents
    return scaled(x, s), 3.0 * dx * jnp.cos(x) + 5.0 * ds * scaled(x, s)  # not the derivative: the body's would give something else


@jax.custom_vjp
def product(x, y):
    return x * y


product.defvjp(lambda x, y: (product(x, y), (x, y)), lambda r, g: (g * r[1], jnp.sum(g * r[0])))


def text_of(f, *args) -> str:
    """As JAX prints it, but for NumPy's integers, which batching rules leave in axes."""
    return re.sub(r"np\.int64\((\d+)\)", r"\1", str(jax.make_jaxpr(f)(*args)))


def captured(tmp_path, f, *args) -> str:
    file = str(tmp_path / "p.jaxscope")
    jaxscope.capture(f, values="all")(*args).save(file)
    return file


def test_vmap_keeps_custom_rules(cli, tmp_path):
    """The batched call has a batched rule, which may call the function again; JAX prints the same."""
    def f(x, s):
        return scaled(jax.nn.relu(x), s) + jax.nn.silu(x)

    def g(x, y):
        return jnp.sum(product(x, y))
    x, s, dx, ds = (R.randn(*shape).astype(np.float32) for shape in ((2, 3), (2,), (2, 3), (2,)))
    file = captured(tmp_path, f, x[0], s[0])
    for axes, step in ((0, "vmap@2"), ((0, None), "vmap:0,none@2")):
        p, t = ((x, s), (dx, ds)) if axes == 0 else ((x, s[0]), (dx, ds[0]))
        batched = jax.vmap(f, in_axes=axes)
        assert cli.json("transform", file, "--apply", step, "--print")["text"] == text_of(batched, *p)
        np.savez(tmp_path / "in.npz", **{f"arg{i}": a for i, a in enumerate((*p, *t))})
        cli.json("run", file, "--apply", step, "--apply", "jvp", "--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz"))
        with np.load(tmp_path / "out.npz") as z:
            for i, want in enumerate(jax.jvp(batched, p, t)):
                np.testing.assert_allclose(z[f"out{i}"], want, rtol=1e-5, atol=1e-6)
    file = captured(tmp_path, g, x[0], s[0])
    assert cli.json("transform", file, "--apply", "vmap@2", "--print")["text"] == text_of(jax.vmap(g), x, s)


def test_vmap_prints_each_example(cli, tmp_path):
    def f(x):
        def body(carry, t):
            jax.debug.print("carry {}", carry, ordered=True)
            return carry + t, None
        jax.debug.print("x {}", x.sum())
        return jax.lax.scan(body, x, x)[0]
    x = R.randn(2, 3).astype(np.float32)
    file = captured(tmp_path, f, x[0])
    assert cli.json("transform", file, "--apply", "vmap@2", "--print")["text"] == text_of(jax.vmap(f), x)
