"""Products of float64, complex, integers, float16 and of layouts that the matrix library refuses; Cholesky decompositions and triangular
solves of several blocks: JAX's, element by element, on one thread and on three."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from seed import seed_of_sample

import jaxscope
from conftest import largest_error
from test_kernels import same

R = np.random.RandomState(12)


def real(*shape, dtype=np.float64):
    return jnp.asarray(R.randn(*shape).astype(dtype))


def complex_(*shape, dtype=np.complex128):
    return jnp.asarray((R.randn(*shape) + 1j * R.randn(*shape)).astype(dtype))


@pytest.mark.parametrize("threads", [1, 3])
def test_products_that_are_packed(cli, tmp_path, threads):
    """Sizes on both sides of a tile's and a block's edge, every layout of the operands, sums over two dimensions."""
    with jax.enable_x64(True):
        wide = [(real(m, k), real(k, n)) for m, n, k in ((1, 200, 300), (130, 1, 70), (123, 77, 259), (121, 513, 40), (9, 17, 5), (64, 64, 64))]
        both = [(complex_(*a.shape, dtype=d), complex_(*b.shape, dtype=d)) for a, b in wide[2:4] for d in (np.complex64, np.complex128)]
        whole = [tuple(jnp.asarray(R.randint(-2**31, 2**31, x.shape), dtype=jnp.int32) for x in p) for p in wide[1:4]]
        tall, cube = real(7, 40, 30), real(7, 30, 50)

        def f(wide, both, whole, tall, cube):
            out = [a @ b for a, b in wide + both + whole] + [lax.dot_general(a, b.T, (((1,), (1,)), ((), ()))) for a, b in wide + both]
            out += [(b.T @ a.T).T for a, b in wide] + [jnp.einsum("bmk,bkn->bmn", tall, cube), jnp.einsum("bmk,bkn->mn", tall, cube)]
            return out + [jnp.einsum("bmk,bkn->nbm", tall, cube), jnp.einsum("bmk,kbn->mn", tall, jnp.swapaxes(cube, 0, 1))]
        same(cli, tmp_path, f, (wide, both, whole, tall, cube), threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_products_of_float16_and_bytes(cli, tmp_path, threads):
    half = lambda *s: jnp.asarray(R.randn(*s)).astype(jnp.float16)
    a, b = half(70, 90), half(90, 110)
    tiny = (half(40, 40) * jnp.float16(3e-6)).astype(jnp.float16)  # not normal in float16
    x, y = (jnp.asarray(R.randint(-100, 100, s), dtype=jnp.int16) for s in ((50, 60), (60, 70)))

    def f(a, b, tiny, x, y):
        eye = jnp.eye(40, dtype=jnp.float16)
        return a @ b, lax.dot(a, b, preferred_element_type=jnp.float32), tiny @ eye, x @ y, lax.dot(x, y, preferred_element_type=jnp.int32)
    same(cli, tmp_path, f, (a, b, tiny, x, y), threads)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_solves_of_several_blocks(cli, tmp_path, dtype):
    """Both sides, both triangles, transposed and conjugated, few and many right sides, one matrix and several."""
    with jax.enable_x64(True):
        made = (lambda *s: complex_(*s, dtype=dtype)) if np.issubdtype(dtype, np.complexfloating) else (lambda *s: real(*s, dtype=dtype))
        n = 150
        a = made(n, n) * 0.02 + 2 * jnp.eye(n, dtype=dtype)
        batch = made(3, 40, 40) * 0.05 + jnp.eye(40, dtype=dtype)
        left, right, few = made(n, 70), made(70, n), made(3, 40, 30)

        def f(a, batch, left, right, few):
            out = []
            for lower in (False, True):
                for t, c in ((False, False), (True, False), (True, True), (False, True)):
                    how = dict(lower=lower, transpose_a=t, conjugate_a=c)
                    out += [lax.linalg.triangular_solve(a, left, left_side=True, **how), lax.linalg.triangular_solve(a, right, **how),
                            lax.linalg.triangular_solve(batch, few, left_side=True, unit_diagonal=True, **how)]
            spd = lambda m: m @ jnp.conj(jnp.swapaxes(m, -1, -2)) + 0.5 * jnp.eye(m.shape[-1], dtype=dtype)
            bad = spd(a).at[100, 100].set(-1)
            return out + [jnp.linalg.cholesky(spd(a)), jnp.linalg.cholesky(spd(batch)), jnp.linalg.cholesky(bad), jnp.linalg.cholesky(spd(batch)[:, :20, :20])]
        same(cli, tmp_path, f, (a, batch, left, right, few), 1 + seed_of_sample() % 3)


def test_a_large_decomposition_gives_the_matrix_back(cli, tmp_path):
    with jax.enable_x64(True):
        a = real(333, 333)
        spd = a @ a.T + jnp.eye(333)
        same(cli, tmp_path, lambda s: (jnp.linalg.cholesky(s), jnp.linalg.cholesky(s) @ jnp.linalg.cholesky(s).T), (spd,), 2, [np.linalg.cholesky(spd), spd])
        assert largest_error(np.linalg.cholesky(spd) @ np.linalg.cholesky(spd).T, np.asarray(spd)) < 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_small_decompositions_are_nearer_to_the_truth_than_jax(cli, tmp_path, dtype):
    """Errors of a float32 decomposition, which its gradient multiplies, against the same in float64: over twelve matrices at most half of JAX's, a tenth mostly."""
    made = (lambda *s: complex_(*s, dtype=dtype)) if np.issubdtype(dtype, np.complexfloating) else (lambda *s: real(*s, dtype=dtype))
    g = np.asarray(made(12, 40, 40))
    spd = (g @ g.conj().swapaxes(-1, -2)).astype(dtype)
    exact = np.linalg.cholesky(spd.astype(np.complex128))
    path, out = str(tmp_path / "a.jaxscope"), str(tmp_path / "out.npz")
    jaxscope.capture(jax.lax.linalg.cholesky, values="all")(spd).save(path)
    cli.json("run", path, "--outputs", out)
    far = lambda x: np.sqrt((np.abs(np.tril(x) - exact) ** 2).mean())
    with np.load(out) as ours:
        assert far(ours["out0"]) < 0.5 * far(np.asarray(jax.lax.linalg.cholesky(spd)))
