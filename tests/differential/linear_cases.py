"""A program for each primitive with a transpose rule, linear in all of its arguments at once; tests/calls compares the names with the
rules that there are. `case(NAME, FUNCTION, ARGUMENTS...)`: the gradients by all arguments together, by each alone, and of each result
alone are compared with JAX's. Products are linear in each factor alone: both of their rules are used."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.lax.eval_jaxpr import eval_jaxpr_p
from jax.custom_derivatives import linear_call

CASES = {}
R = np.random.RandomState(0)


def case(name, fn, *args, alone=True):
    """`alone=False`: JAX itself fails where one of the arguments is a constant (it meets a symbolic zero that it doesn't expect)."""
    CASES.setdefault(name, []).append((fn, args, alone))


def real(*shape):
    return R.randn(*shape).astype(np.float32)


def cplx(*shape):
    return (R.randn(*shape) + 1j * R.randn(*shape)).astype(np.complex64)


V, W, M, N, K = real(4), real(4), real(3, 4), real(3, 4), real(2, 4)
CV = cplx(4)
EYE = (np.eye(4) * 3 + R.randn(4, 4) / 5).astype(np.float32)
LOWER = np.tril(EYE)

# ---- element by element
case("add", lambda x, y: x + y, M, N)
case("sub", lambda x, y: x - y, M, N)
case("mul", lambda x, y: x * y, M, N)
case("div", lambda x: x / EYE[:3], M)
case("neg", lambda x: -x, M)
case("add_any", lambda x: (jnp.sin(x) * x, jnp.cos(x)), M)  # cotangents meet in it
case("complex", lax.complex, V, W)
case("real", jnp.real, CV)
case("imag", jnp.imag, CV)
case("conj", lambda x: lax.conj(x), CV)
case("conj", lambda x: lax.conj_p.bind(x, input_dtype=np.dtype(np.float32)), V)
case("select_n", lambda x, y: jnp.where(M > 0, x, y), M, N)
case("select_n", lambda x, y, z: lax.select_n(np.array([0, 1, 2, 1], np.int32), x, y, z), V, W, K[0])
case("select_n", lambda x, y: lax.select_n(True, x, y), V, W)
case("copy", lambda x: lax.copy_p.bind(x), V)
case("convert_element_type", lambda x: x.astype(jnp.float16), V)
case("reduce_precision", lambda x: lax.reduce_precision(x, 8, 10), V)
case("optimization_barrier", lambda x, y, z: lax.optimization_barrier((x, y, z)), V, M, CV)

# ---- shapes
case("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), M)
case("reshape", lambda x: x.reshape(2, 6), M)
case("squeeze", lambda x: lax.squeeze(x[None], (0,)), M)
case("transpose", lambda x: x.T, M)
case("rev", lambda x: lax.rev(x, (1,)), M)
case("tile", lambda x: jnp.tile(x, (2, 3)), M)
case("pad", lambda x, p: lax.pad(x, p, ((1, -1, 2), (0, 2, 0))), M, np.float32(0.5), alone=False)
case("concatenate", lambda x, y, z: lax.concatenate([x, y, z], 0), M, N, K)
case("split", lambda x: lax.split(x, (1, 3), 1), M)
case("stack", lambda x, y: jnp.stack([x, y], 1), V, W)
case("unstack", lambda x: jnp.unstack(x, axis=1), M)
case("slice", lambda x: x[1:, ::2], M)
case("dynamic_slice", lambda x: lax.dynamic_slice(x, (1, 2), (2, 2)), M)
case("dynamic_update_slice", lambda x, y: lax.dynamic_update_slice(x, y, (1, 0)), M, K)
case("gather", lambda x: x[np.array([2, 0, 2])], M)
for _name, _method in (("scatter", "set"), ("scatter-add", "add"), ("scatter-sub", "subtract"), ("scatter-mul", "multiply")):
    case(_name, lambda x, y, m=_method: getattr(x.at[np.array([2, 0])], m)(y, unique_indices=True), M, K)
case("scatter-add", lambda x, y: x.at[np.array([2, 0, 2, 7])].add(y), M, EYE)
case("sharding_constraint", lambda x: lax.with_sharding_constraint(x, jax.sharding.SingleDeviceSharding(jax.devices()[0])), V)
case("device_put", lambda x, y: jax.device_put((x, y)), V, M)

# ---- reductions
case("reduce_sum", lambda x: x.sum(0), M)
case("cumsum", lambda x: jnp.cumsum(x, 1), M)
case("cumsum", lambda x: lax.cumsum(x, 0, reverse=True), M)
case("reduce_window_sum", lambda x: lax.reduce_window(x, np.float32(0), lax.add, (2, 2), (1, 2), ((1, 0), (0, 1))), M)
case("select_and_gather_add", lambda x: lax.reduce_window(x, -np.float32(np.inf), lax.max, (2, 2), (1, 1), "VALID"), M)
case("select_and_scatter_add", lambda ct: jax.vjp(lambda x: lax.reduce_window(x, -np.float32(np.inf), lax.max, (2, 2), (1, 1), "VALID"), M)[1](ct)[0],
     real(2, 3))
case("psum", lambda x: jax.vmap(lambda y: lax.psum(y, "i"), axis_name="i")(x), M)

case("fft", lambda x, y: (jnp.fft.fft(x).real, jnp.fft.rfft(y).imag), V, M)

# ---- products and solves
case("tridiagonal_solve", lambda y: lax.linalg.tridiagonal_solve(V / 9, 1 + V * V, W / 9, y), EYE)
case("dot_general", lambda x, y: x @ y.T, M, K)
case("ragged_dot_general", lambda x, y: lax.ragged_dot(x, y, np.array([1, 2], np.int32)), M, real(2, 4, 5))
case("conv_general_dilated", lambda x, y: lax.conv_general_dilated(x, y, (1, 2), "SAME"), real(1, 2, 4, 5), real(3, 2, 2, 3))
case("triangular_solve", lambda y: lax.linalg.triangular_solve(LOWER, y, left_side=True, lower=True), EYE)
case("custom_linear_solve", lambda y: lax.custom_linear_solve(lambda v: EYE @ v, y, lambda mv, b: jnp.linalg.inv(EYE) @ b,
                                                              transpose_solve=lambda mv, b: jnp.linalg.inv(EYE).T @ b), V)


def solve_pairs(x, y):
    inverse = np.linalg.inv(EYE)
    return lax.custom_linear_solve(lambda v: (EYE @ v[0], 2 * v[1]), (x, y), lambda _, b: (inverse @ b[0], b[1] / 2),
                                   transpose_solve=lambda _, b: (inverse.T @ b[0], b[1] / 2))


case("custom_linear_solve", solve_pairs, V, M, alone=False)


@jax.custom_vjp
def product(x, y):
    return x * y, x + y


product.defvjp(lambda x, y: (product(x, y), (x, y)), lambda r, g: (g[0] * r[1] + g[1], g[0] * r[0] + g[1]))

# ---- calls: linear in several operands, some results of one of them, some of all
two = lambda x, y: (2 * x, 3 * x - y.sum(0))
case("jit", jax.jit(two), V, M)
case("closed_call", lambda x, y: eval_jaxpr_p.bind(x, y, jaxpr=jax.make_jaxpr(two)(x, y)), V, M)
case("remat2", jax.checkpoint(two), V, M)
case("remat2", jax.checkpoint(lambda x, y: (jnp.sin(x), jnp.sin(x) * y)), V, M)
case("cond", lambda x, y: lax.cond(V[0] < 9, two, lambda x, y: (x, x), x, y), V, M)
case("cond", lambda x, y: lax.switch(np.int32(2), [two, lambda x, y: (x, x), lambda x, y: (y[0], y[1] - x)], x, y), V, M)
case("scan", lambda x, y, z: lax.scan(lambda c, e: ((c[0] + e[0] - z, c[1] * 2 + c[0]), (c[1], e[1])), (x, y), (M, N * 2)), V, W, K[1])
case("scan", lambda x, y: lax.scan(lambda c, e: (c + e[0] @ x.T, (c, e[1] * 2)), np.zeros(2, np.float32), (y, M)), K, N)
case("linear_call", lambda x, y: linear_call(lambda r, v: (v[0] * r, v[1].sum(0)), lambda r, c: (c[0] * r, jnp.broadcast_to(c[1], (3, 4))), W, (x, y)),
     V, M, alone=False)
case("custom_lin", product, V, W)
case("debug_print", lambda x, y: (jax.debug.print("{} {}", x, y), two(x, y))[1], V, M)
case("debug_callback", lambda x, y: (jax.debug.callback(lambda *_: None, x, y), two(x, y))[1], V, M)
