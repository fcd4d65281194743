"""Small programs whose custom rules are nasty in one way each: name -> (function, arguments, what is differentiated)."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X, Y = jnp.arange(1.0, 5.0), jnp.linspace(0.5, 2.0, 4)
M = jnp.arange(12.0).reshape(3, 4) / 7
A, B = jnp.eye(3) * 2 + 0.1, jnp.arange(3.0) + 1
TABLE = np.arange(4.0, dtype=np.float32)
Zero = jax.custom_derivatives.SymbolicZero
PROGRAMS = {}


def program(*args, wrt=(0,)):
    def add(f):
        PROGRAMS[f.__name__] = f, args, wrt
        return f
    return add


# ---- symbolic zeros: another rule for each pattern ---------------------------------------------------------------------------------
@jax.custom_jvp
def zero_jvp(x, y):
    return x * y


def _zero_jvp_rule(p, t):
    (x, y), (dx, dy) = p, t
    parts = [part for part, d in ((lambda: dx * y * 2.0, dx), (lambda: dy * x * 3.0, dy)) if type(d) is not Zero]
    return x * y, sum((part() for part in parts[1:]), parts[0]())


zero_jvp.defjvp(_zero_jvp_rule, symbolic_zeros=True)


@jax.custom_vjp
def zero_vjp(x, y):
    return jnp.sin(x) * y, x + y


def _zero_fwd(x, y):
    px, py, x, y = x.perturbed, y.perturbed, x.value, y.value
    return (jnp.sin(x) * y, x + y), (jnp.cos(x) if px else None, y if px else None, jnp.sin(x) if py else None)


def _zero_bwd(res, g):
    c, y, s = res
    of = lambda ct, f: jnp.zeros(4) if type(ct) is Zero else f(ct)
    return (None if c is None else of(g[0], lambda ct: ct * c * y) + of(g[1], lambda ct: ct),
            None if s is None else of(g[0], lambda ct: ct * s) + of(g[1], lambda ct: ct))


zero_vjp.defvjp(_zero_fwd, _zero_bwd, symbolic_zeros=True)


@program(X, Y)
def symbolic_first(x, y):
    return jnp.sum(zero_jvp(jnp.sin(x), jnp.cos(y)))


@program(X, Y, wrt=(1,))
def symbolic_second(x, y):
    return jnp.sum(zero_jvp(jnp.sin(x), jnp.cos(y)))


@program(X, Y, wrt=(0, 1))
def symbolic_both(x, y):
    return jnp.sum(zero_jvp(jnp.sin(x), jnp.cos(y)))


@program(X, Y)
def symbolic_in_scan(x, y):
    return jnp.sum(lax.scan(lambda c, a: (zero_jvp(c, a), None), x, jnp.stack([y, y]))[0])


@program(X, Y)
def symbolic_in_remat(x, y):
    return jnp.sum(jax.checkpoint(lambda a: zero_jvp(jnp.sin(a), y))(x))


@program(X, Y)
def symbolic_in_jit(x, y):
    return jnp.sum(jax.jit(lambda a, b: zero_jvp(jnp.sin(a), b))(x, y))


@program(M, Y)
def symbolic_in_vmap(x, y):
    return jnp.sum(jax.vmap(zero_jvp, (0, None))(x, y))


@program(X, Y)
def symbolic_first_output(x, y):
    return jnp.sum(zero_vjp(x, y)[0])


@program(X, Y, wrt=(1,))
def symbolic_second_output(x, y):
    return jnp.sum(zero_vjp(x, y)[1])


@program(X, Y, wrt=(0, 1))
def symbolic_outputs(x, y):
    a, b = zero_vjp(x, y)
    return jnp.sum(a * b)


@program(X, Y, wrt=(0, 1))
def symbolic_chained(x, y):
    a, b = zero_vjp(x, y)
    return jnp.sum(zero_vjp(b, a)[1])


# ---- closures, static arguments, integers ------------------------------------------------------------------------------------------
@partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def with_static(f, x, n, y):
    return f(x) ** n * y


with_static.defvjp(lambda f, x, n, y: (with_static(f, x, n, y), (x, y)), lambda f, n, r, g: (g * n * f(r[0]) * r[1], g * r[0]))


@program(X, Y, wrt=(0, 1))
def static_functions(x, y):
    return jnp.sum(with_static(jnp.sin, x, 3, y) + with_static(jnp.cos, x, 2, y) + with_static(lambda z: z * 2, x, 2, y))


@program(X, Y)
def static_closure(x, y):
    return jnp.sum(with_static(lambda z: z * y, x, 3, y))


class Hashable:
    def __init__(self, k):
        self.k = k

    def __hash__(self):
        return hash(self.k)

    def __eq__(self, other):
        return self.k == other.k


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def with_hashable(x, h):
    return x * h.k


with_hashable.defjvp(lambda h, p, t: (with_hashable(p[0], h), t[0] * h.k * 10))


@program(X)
def static_hashables(x):
    return jnp.sum(with_hashable(x, Hashable(3)) + with_hashable(x, Hashable(3)) + with_hashable(x, Hashable(5)))


@program(X, Y)
def vjp_closes_over(x, y):
    @jax.custom_vjp
    def f(a):
        return a * y
    f.defvjp(lambda a: (f(a), y), lambda r, g: (g * r,))
    return jnp.sum(f(x))


@program(X, Y)
def jvp_closes_over(x, y):
    @jax.custom_jvp
    def f(a):
        return a * y
    f.defjvp(lambda p, t: (f(*p), t[0] * y))
    return jnp.sum(f(x))


@program(X, Y)
def jvp_closes_over_in_scan(x, y):
    @jax.custom_jvp
    def f(a):
        return a * y
    f.defjvp(lambda p, t: (f(*p), t[0] * y))
    return jnp.sum(lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0])


@program(X, jnp.arange(4))
def integer_argument(x, n):
    @jax.custom_vjp
    def f(x, n):
        return x * n
    f.defvjp(lambda x, n: (x * n, (n,)), lambda r, g: (g * r[0], None))
    return jnp.sum(f(x, n))


@program(X)
def integer_result(x):
    @jax.custom_jvp
    def f(x):
        return x * 2, (x > 1).astype(jnp.int32)
    f.defjvp(lambda p, t: (f(*p), (t[0] * 2, np.zeros(4, jax.dtypes.float0))))
    a, b = f(x)
    return jnp.sum(a * b)


@program(X, Y, wrt=(1,))
def no_tangent(x, y):
    f = jax.custom_jvp(lambda x, y: x * y + jnp.sin(y))
    f.defjvps(lambda dx, o, x, y: dx * y, None)
    return jnp.sum(f(x, y))


# ---- rules that use rules ----------------------------------------------------------------------------------------------------------
@jax.custom_jvp
def own_jvp(x):
    return jnp.sin(x)


own_jvp.defjvp(lambda p, t: (own_jvp(p[0]), own_jvp(p[0] + 1) * t[0]))


@jax.custom_vjp
def own_vjp(x):
    return jnp.cos(x)


own_vjp.defvjp(lambda x: (own_vjp(x), x), lambda x, g: (-g * own_jvp(x) * own_vjp(x),))


@program(X)
def recursive(x):
    return jnp.sum(own_jvp(own_jvp(x)))


@program(X)
def second_order(x):
    return jnp.sum(jax.grad(lambda y: jnp.sum(own_jvp(y) * own_vjp(y)))(x))


@program(X)
def hessian(x):
    return jnp.sum(jax.hessian(lambda y: jnp.sum(own_jvp(y) * y))(x))


@program(X)
def jit_inside_the_rule(x):
    @jax.custom_jvp
    def f(x):
        return jax.jit(jnp.sin)(x)
    f.defjvp(lambda p, t: jax.jit(lambda p, t: (f(p), jnp.cos(p) * t))(p[0], t[0]))
    return jnp.sum(f(x))


# ---- under other transformations ---------------------------------------------------------------------------------------------------
@jax.custom_vjp
def two(x, y):
    return x * y, jnp.sin(x)


two.defvjp(lambda x, y: ((x * y, jnp.sin(x)), (x, y)), lambda r, g: (g[0] * r[1] + g[1] * jnp.cos(r[0]), g[0] * r[0]))


def _step(c, a):
    p, q = two(c, a)
    return p + q, q


@program(X, Y)
def zero_cotangent(x, y):
    return jnp.sum(two(x, y)[1])


@program(M, Y, wrt=(0, 1))
def in_vmap(x, y):
    return jnp.sum(jax.vmap(two, (0, None))(x, y)[0])


@program(M, Y, wrt=(0, 1))
def in_scan(x, y):
    return jnp.sum(lax.scan(_step, y, x)[0])


@program(M, Y, wrt=(0, 1))
def in_rematted_scan(x, y):
    return jnp.sum(lax.scan(jax.checkpoint(_step), y, x)[0])


@program(X, Y, wrt=(0, 1))
def in_cond(x, y):
    return jnp.sum(lax.cond(x[0] > 0, lambda: two(x, y)[0], lambda: own_jvp(x) * y))


@program({"a": X, "b": [Y]})
def trees(p):
    @jax.custom_vjp
    def f(q):
        return {"o": q["a"] * q["b"][0]}
    f.defvjp(lambda q: (f(q), q), lambda q, g: ({"a": g["o"] * q["b"][0], "b": [g["o"] * q["a"]]},))
    return jnp.sum(f(p)["o"])


# Constants that only the function reads, which a rule stands for.
@jax.custom_jvp
def _with_table(x):
    return x * jnp.asarray(TABLE)


_with_table.defjvp(lambda p, t: (p[0] * 2, t[0] * 2))


@jax.custom_vjp
def _with_tables(x):
    return x * jnp.asarray(TABLE)


_with_tables.defvjp(lambda x: (x * jnp.asarray(TABLE), None), lambda _, g: (g * jnp.asarray(TABLE),))


@program(X)
def constants_of_the_function(x):
    return jnp.sum(_with_table(x))


@program(X)
def constants_of_function_and_rule(x):
    return jnp.sum(_with_tables(x) + _with_table(x))


@program(X)
def constants_in_scan(x):
    return jnp.sum(lax.scan(lambda c, _: (_with_table(c), None), x, None, length=2)[0])


# ---- JAX's own rules ---------------------------------------------------------------------------------------------------------------
@program(X, Y, wrt=(0, 1))
def custom_gradient(x, y):
    f = jax.custom_gradient(lambda x, y: (x * jnp.sin(y), lambda g: (g * jnp.sin(y), g * x * jnp.cos(y))))
    return jnp.sum(f(x, y))


@program(X, Y)
def linear_call(x, y):
    return jnp.sum(jax.custom_derivatives.linear_call(lambda r, x: x * r, lambda r, ct: ct * r * 2, y, jnp.sin(x)))


@program(X)
def numbers_as_arguments(x):
    @jax.custom_vjp
    def f(x, y=2.0):
        return x * y
    f.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1], jnp.sum(g * r[0])))
    return jnp.sum(f(x, y=3.0) + f(x))


@program(A, B, wrt=(0, 1))
def symmetric_solve(a, b):
    return jnp.sum(lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, b: jnp.linalg.solve(a, b), symmetric=True))


@program(A, B, wrt=(0, 1))
def transposed_solve(a, b):
    return jnp.sum(lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, b: jnp.linalg.solve(a, b), lambda vm, b: jnp.linalg.solve(a.T, b)))


@program(jnp.float32(2.0))
def root(t):
    newton = lambda f, x0: lax.fori_loop(0, 5, lambda i, x: x - f(x) / (2 * x), x0)
    return lax.custom_root(lambda x: x ** 2 - t, 1.0, newton, lambda g, y: y / g(1.0))
