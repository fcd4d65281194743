"""Complex functions of the JIT equal JAX's, on both axes, on branch cuts and where a naive formula overflows."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxscope

NAMES = "exp exp2 log log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt logistic sign abs".split()


def test_functions(cli, tmp_path):
    r = np.random.RandomState(0)
    z = (r.randn(40) * 1.5 + 1j * r.randn(40)).astype(np.complex64)
    z[:8] = [50, -60 + 1j, 0.5, -2, 3, 2j, -0.3j, 1 + 1j]

    def f(z):
        return {name: getattr(lax, name)(z) for name in NAMES} | {"pow": jnp.power(z, 2.5), "div": z / (z + 2)}
    file, out = str(tmp_path / "p.jaxscope"), str(tmp_path / "out.npz")
    jaxscope.capture(f, values="all")(z).save(file)
    cli.json("run", file, "--outputs", out)
    with np.load(out) as ours:
        for i, (name, want) in enumerate(sorted(jax.jit(f)(z).items())):
            close = np.isclose(ours[f"out{i}"], want, rtol=3e-5, atol=1e-6, equal_nan=True)
            assert close.all(), (name, z[~close], ours[f"out{i}"][~close], np.asarray(want)[~close])


def test_float0_reads_back(cli, tmp_path):
    """The tangent of an integer that a transformation prints can be read again."""
    file = str(tmp_path / "p.jaxscope")
    jaxscope.capture(lambda x, n: (x * 2.0, n + 1), values="all")(np.float32(1), np.int32(2)).save(file)
    text = cli.json("transform", file, "--apply", "jvp", "--print")["text"]
    assert "float0[]" in text
    (tmp_path / "p.jaxpr").write_text(text)
    assert cli.json("print", str(tmp_path / "p.jaxpr"))["text"] == text
