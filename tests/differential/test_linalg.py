"""Decompositions and triangular solves through LAPACK equal JAX's, by values where those are unique, else by reconstruction."""
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.lax import lax as internal

import jaxscope
from conftest import largest_error

R = np.random.RandomState(0)
REAL = R.randn(3, 5, 5).astype(np.float32)
COMPLEX = (REAL + 1j * R.randn(3, 5, 5)).astype(np.complex64)
TALL = R.randn(6, 4).astype(np.float32)
SHAPES = {"square": REAL, "tall": TALL, "wide": TALL.T.copy(), "complex": COMPLEX, "none": np.zeros((0, 0), np.float32)}


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def ours(cli, tmp_path, f, *args) -> list[np.ndarray]:
    file, out = str(tmp_path / "p.jaxscope"), str(tmp_path / "out.npz")
    jaxscope.capture(f, values="all")(*args).save(file)
    cli.json("run", file, "--outputs", out)
    with np.load(out) as z:
        return [z[f"out{i}"] for i in range(len(z.files))]


def close(got, want, tolerance=5e-6):
    assert largest_error(got, want) <= tolerance


def positive(x):
    return (x @ adjoint(x) + 5 * np.eye(x.shape[-1])).astype(x.dtype)


@pytest.mark.parametrize("f,args", [
    (jnp.linalg.cholesky, [positive(REAL)]), (jnp.linalg.cholesky, [positive(COMPLEX)]),
    (jnp.linalg.cholesky, [-positive(REAL)]),  # not positive definite: NaN
    (lax.linalg.lu, [REAL]), (lax.linalg.lu, [TALL]), (lax.linalg.lu, [TALL.T.copy()]), (lax.linalg.lu, [COMPLEX]),
    (lax.linalg.lu, [np.zeros((3, 3), np.float32)]),  # singular
    (jnp.linalg.solve, [REAL, R.randn(3, 5, 2).astype(np.float32)]), (jnp.linalg.det, [REAL]), (jnp.linalg.inv, [COMPLEX]),
], ids=lambda v: getattr(v, "__name__", "x"))
def test_values(cli, tmp_path, f, args):
    want = f(*args)
    for got, expected in zip(ours(cli, tmp_path, f, *args), jax.tree.leaves(want), strict=True):
        close(got, expected)


def test_triangular_solve(cli, tmp_path):
    def all_ways(a, c):
        out = []
        for left, lower, transpose, conjugate in itertools.product([True, False], repeat=4):
            for x in (a, c):
                b = x[..., :2] if left else jnp.swapaxes(x[..., :2], -1, -2)
                out.append(lax.linalg.triangular_solve(x + 4 * jnp.eye(5, dtype=x.dtype), b, left_side=left, lower=lower,
                                                       transpose_a=transpose, conjugate_a=conjugate, unit_diagonal=not transpose))
        return out
    for got, expected in zip(ours(cli, tmp_path, all_ways, REAL, COMPLEX), all_ways(REAL, COMPLEX), strict=True):
        close(got, expected, 2e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_triangular_solve_of_sixteen_bits(cli, tmp_path, dtype):
    def f(a, b):
        return lax.linalg.triangular_solve(a + 4 * jnp.eye(5, dtype=a.dtype), b, left_side=True, lower=True).astype(np.float32)
    args = [jnp.asarray(x, dtype) for x in (REAL, REAL[..., :2])]
    for got, expected in zip(ours(cli, tmp_path, f, *args), [f(*args)], strict=True):
        close(got, expected, 0.05 if dtype == "bfloat16" else 0.005)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [True, False])
def test_qr(cli, tmp_path, shape, full):
    m = SHAPES[shape]
    f = lambda x: lax.linalg.qr(x, full_matrices=full)
    q, r = ours(cli, tmp_path, f, m)
    assert [q.shape, r.shape] == [x.shape for x in f(m)]
    close(q @ r, m)
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))
    assert np.array_equal(r, np.triu(r))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [True, False])
def test_svd(cli, tmp_path, shape, full):
    m = SHAPES[shape]
    f = lambda x: lax.linalg.svd(x, full_matrices=full)
    u, s, vh = ours(cli, tmp_path, f, m)
    want = f(m)
    assert [u.shape, s.shape, vh.shape] == [x.shape for x in want]
    close(s, want[1])
    k = s.shape[-1]
    close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], m)
    close(ours(cli, tmp_path, lambda x: lax.linalg.svd(x, compute_uv=False), m)[0], want[1])


@pytest.mark.parametrize("m", [positive(REAL), (COMPLEX + adjoint(COMPLEX)).astype(np.complex64)], ids=["real", "complex"])
@pytest.mark.parametrize("lower", [True, False])
def test_eigh(cli, tmp_path, m, lower):
    f = lambda x: lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
    v, w = ours(cli, tmp_path, f, m)
    close(w, f(m)[1])
    close(v * w[..., None, :] @ adjoint(v), m)


def test_total_order(cli, tmp_path):
    x = np.array([0., -0., np.nan, -np.nan, 1, np.inf, -np.inf], np.float32).view(np.int32)  # as integers: a NaN's sign is kept
    f = lambda bits: [p.bind(a, b) for p in (internal.lt_to_p, internal.le_to_p, internal.eq_to_p)
                      for x in [lax.bitcast_convert_type(bits, jnp.float32)]
                      for a, b in ((x, x[::-1]), (x, x), (x, jnp.roll(x, 1)))]
    for got, expected in zip(ours(cli, tmp_path, f, x), f(x), strict=True):
        assert np.array_equal(got, expected)


def test_refusals_name_the_line(cli, tmp_path):
    file = str(tmp_path / "p.jaxscope")
    jaxscope.capture(lambda x: lax.linalg.eigh(x, subset_by_index=(0, 2)), values="none")(jax.ShapeDtypeStruct((5, 5), jnp.float32)).save(file)
    code, message = cli.fails("run", file)
    assert code == 3 and "subset_by_index" in message and "test_linalg.py" in message


def test_pivoted_qr_and_hessenberg_forms(cli, tmp_path):
    """Both have one answer: LAPACK's choice of columns, and its signs."""
    square, wide = [positive(REAL) + REAL, COMPLEX, REAL[0] * np.nan], [TALL, TALL.T.copy(), COMPLEX, np.zeros((0, 3), np.float32)]

    def f(square, wide):
        composite = lax.composite(lambda x: jnp.sin(x) * 2, "test.twice_sin", version=3)(wide[0], )
        return ([lax.linalg.hessenberg(x) for x in square[:2]], jax.scipy.linalg.hessenberg(square[2]), composite,
                [lax.linalg.qr(x, pivoting=True, full_matrices=full) for x in wide for full in (False, True)])
    got, want = ours(cli, tmp_path, f, square, wide), jax.tree.leaves(f(square, wide))
    assert len(got) == len(want)
    for a, b in zip(got, want):
        close(a, np.asarray(b), 2e-5)


def gradient_is_jaxs(cli, tmp_path, f, x):
    file, out = str(tmp_path / "p.jaxscope"), str(tmp_path / "out.npz")
    with jax.enable_x64(True):
        x = jnp.asarray(np.asarray(x).astype(np.complex128 if np.iscomplexobj(x) else np.float64))
        jaxscope.capture(f, values="all")(x).save(file)
        value, grad = jax.jit(jax.value_and_grad(f))(x)
    cli.json("run", file, "--apply", "value_and_grad:0", "--outputs", out)
    with np.load(out) as z:
        close(z["out0"], value, 1e-9)
        close(z["out1"], grad, 1e-9)


def weighed(results):
    """A real number of arrays; the sign of an eigenvector, which libraries choose differently, doesn't matter to it."""
    return sum(jnp.real((x * x * jnp.linspace(0.3, 1.7, x.size).reshape(x.shape) * (1 + 0.4j * (k + 1))).sum()) for k, x in enumerate(results))


@pytest.mark.parametrize("shape,full", [("tall", True), ("complex tall", True), ("tall", False), ("wide", False)])
def test_gradient_of_qr(cli, tmp_path, shape, full):
    m = COMPLEX[..., :3] if shape == "complex tall" else SHAPES[shape]
    gradient_is_jaxs(cli, tmp_path, lambda x: weighed(lax.linalg.qr(x, full_matrices=full)), m)


@pytest.mark.parametrize("m,left,right", [(REAL, False, True), (REAL[0], False, False), (COMPLEX[0], True, True)], ids=["right", "none", "both"])
def test_gradient_of_eigenvectors(cli, tmp_path, m, left, right):
    gradient_is_jaxs(cli, tmp_path, lambda x: weighed(lax.linalg.eig(x, compute_left_eigenvectors=left, compute_right_eigenvectors=right,
                                                                     enable_eigvec_derivs=True)), m)


@pytest.mark.parametrize("left,transpose", itertools.product((True, False), repeat=2))
@pytest.mark.parametrize("name", ["tall", "wide", "complex"])
def test_products_with_the_orthogonal_matrix(cli, tmp_path, name, left, transpose):
    h, taus = jnp.linalg.qr(jnp.asarray(SHAPES[name] if name != "complex" else COMPLEX[0]), mode="raw")
    other = jnp.asarray(R.randn(*((h.shape[1], 2) if left else (2, h.shape[1]))).astype(h.dtype))

    def product(h, taus, other):
        return lax.linalg.ormqr(h.mT, taus, other, left=left, transpose=transpose)
    close(ours(cli, tmp_path, product, h, taus, other)[0], product(h, taus, other), 1e-5)
