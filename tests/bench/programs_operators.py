"""Single operators over the types that JAX has, each of about a quarter of a million numbers: what none of the programs asks for, but somebody's does.
Written as a sweep, not chosen: every name beside every type that takes it. Each builder returns (fn, args, donate_argnums)."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

N, LONG, MANY = 512, 200_000, 100_000
WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")


def numbers(seed, dtype, *shape):
    r = np.random.RandomState(seed)
    t = jnp.dtype(dtype)
    if t == jnp.bool_:
        return jnp.asarray(r.rand(*shape) < 0.5)
    if jnp.issubdtype(t, jnp.integer):
        return jnp.asarray(r.randint(0 if t.kind == "u" else -50, 50, shape)).astype(t)
    x = r.standard_normal(shape)
    return jnp.asarray(x + 1j * r.standard_normal(shape) if t.kind == "c" else x).astype(t)


def places(seed, most, *shape):
    return jnp.asarray(np.random.RandomState(seed).randint(0, most, shape).astype(np.int32))


def along(axis):
    """Of [N, N]: along one axis."""
    ordered = {
        "max": lambda x: jnp.max(x, axis), "argmax": lambda x: jnp.argmax(x, axis), "sort": lambda x: jnp.sort(x, axis), "median": lambda x: jnp.median(x, axis)}
    counted = {
        "sum": lambda x: jnp.sum(x, axis), "prod": lambda x: jnp.prod(x, axis), "cumsum": lambda x: jnp.cumsum(x, axis), "cumprod": lambda x: jnp.cumprod(x, axis)}
    moved = {
        "any": lambda x: jnp.any(x, axis), "flip": lambda x: jnp.flip(x, axis), "roll": lambda x: jnp.roll(x, 3, axis), "join": lambda x: jnp.concatenate([x, x[::-1]], axis)}
    return ordered, counted, moved


def operators(dtype):
    """Name: (fn, makers of its arguments)."""
    kind = jnp.dtype(dtype).kind if dtype != "bfloat16" else "f"
    square, line, rows = ((functools.partial(numbers, s, dtype, *shape)) for s, shape in ((3, (N, N)), (4, (LONG,)), (5, (4096, 64))))
    other, where = functools.partial(numbers, 6, dtype, N, N), functools.partial(places, 7, LONG, MANY)
    some = functools.partial(numbers, 8, dtype, MANY)
    out = {}
    for axis in (0, 1):
        ordered, counted, moved = along(axis)
        of_type = {**moved, **(ordered if kind != "c" and kind != "b" else {}), **(counted if kind != "b" else {})}
        out |= {f"{name}{axis}": (f, (square,)) for name, f in of_type.items()}
        out[f"take{axis}"] = (lambda x, i, axis=axis: jnp.take_along_axis(x, i, axis), (square, lambda: places(9, N, N, N)))
    out |= {
        "points": (lambda x, i, j: x[i, j], (square, lambda: places(1, N, LONG), lambda: places(2, N, LONG))),
        "rows": (lambda x, i: x[i], (rows, lambda: places(10, 4096, 4096))), "columns": (lambda x, i: x[:, i], (square, lambda: places(11, N, N))),
        "put": (lambda x, i, v: x.at[i].set(v), (line, where, some)), "T": (lambda x: x.T, (square,)), "pad": (lambda x: jnp.pad(x, 3), (square,)),
        "where": (lambda x, y: jnp.where(x == y, x, y), (square, other)), "to_f32": (lambda x: jnp.real(x).astype(jnp.float32), (square,))}
    if kind != "c":
        out["put_max"] = (lambda x, i, v: x.at[i].max(v), (line, where, some))
        out["select"] = (lambda x: jnp.select([x > 30, x > 10, x > 1], [x, x[::-1], x.T], 0), (square,))
    if kind == "b":
        return out
    out |= {
        "put_add": (lambda x, i, v: x.at[i].add(v), (line, where, some)), "dot": (jnp.dot, (line, line)), "product": (lambda x, y: x[:256, :256] @ y[:256, :256], (square, other)),
        "matvec": (lambda x, y: x @ y[0], (square, other)), "batch": (lambda x: x.reshape(-1, 32, 32) @ x.reshape(-1, 32, 32), (square,)), "power": (lambda x: x ** 3, (square,)),
        "divide": (lambda x, y: x // y if kind in "iu" else x / y, (square, other)), "halve": (lambda x: x // 2 if kind in "iu" else x / 2, (square,))}
    if kind != "c":
        out |= {
            "modulo": (lambda x, y: x % y, (square, other)), "search": (jnp.searchsorted, (lambda: jnp.sort(line()[:5000]), line)), "top_k": (lambda x: lax.top_k(x, 8), (square,)),
            "segment_max": (lambda x: jax.ops.segment_max(x, places(12, 100, LONG), 100), (line,))}
    if kind in "fc":
        names = "exp log sin tan tanh sqrt arcsin arctan sinh log1p expm1".split()
        out |= {name: (getattr(jnp, name), (square,)) for name in names}
    if kind == "f":
        special = "erf erfc erfinv gammaln digamma i0e i1e ndtri".split()
        out |= {name: (getattr(jax.scipy.special, name), (lambda: jax.nn.sigmoid(square()) * 0.98 + 0.01,)) for name in special if dtype in ("float32", "float64")}
        out |= {"softmax": (jax.nn.softmax, (square,)), "gelu": (jax.nn.gelu, (square,)), "normal": (lambda k: jax.random.normal(k, (LONG,), dtype), (lambda: jax.random.PRNGKey(0),)),
                "convolve": (lambda x, w: jnp.convolve(x, w, mode="same"), (line, lambda: numbers(13, dtype, 101)))}
    return out


def builder(dtype, name):
    def build():
        fn, makers = operators(dtype)[name]
        return fn, tuple(make() for make in makers), ()
    build.x64 = dtype in ("int64", "uint64", "float64", "complex128")
    return build


PROGRAMS = {f"{name}_{dtype}": builder(dtype, name) for dtype in ("bool", *WHOLE, *FLOATS, *COMPLEX) for name in operators(dtype)}
