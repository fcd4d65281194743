"""Running sums, positions of extremes, top_k by the thousand, numbers too small to be normal: JAX's, element by element; and outputs that
are made in place take no second copy."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxscope
from test_kernels import same

R = np.random.RandomState(11)
NARROW = jnp.float16, jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.uint32


def awkward(dtype, *shape):
    """Ties, both zeros, infinities and NaNs where the type has them."""
    x = R.randint(-40, 40, shape)
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.asarray((x * 50_000_000).astype(dtype))
    x = x / 8.0
    x[R.rand(*shape) < 0.002] = np.nan
    x[R.rand(*shape) < 0.002] = np.inf
    x[R.rand(*shape) < 0.05] = -0.0
    return jnp.asarray(x).astype(dtype)


@pytest.mark.parametrize("threads", [1, 3])
def test_positions_of_extremes(cli, tmp_path, threads):
    shapes = (7, 5, 1000), (3, 300, 70), (500, 129), (2, 63), (1, 64), (4, 1)
    args = [awkward(d, *s) for d in (jnp.float32, jnp.int32, jnp.bfloat16) for s in shapes]
    args += [awkward(d, *s) for d in NARROW for s in ((300, 70), (2, 5000))]

    def f(*args):
        return [g(x, axis) for x in args for axis in range(x.ndim) for g in (lambda x, a: lax.argmax(x, a, jnp.int32), lambda x, a: lax.argmin(x, a, jnp.int32))]
    same(cli, tmp_path, f, args, threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_running_sums_products_and_extremes(cli, tmp_path, threads):
    kinds = lax.cumsum, lax.cummax, lax.cummin, lax.cumprod
    real = [jnp.asarray(R.uniform(0.98, 1.02, s).astype(np.float32)) for s in ((3000,), (40, 200), (3, 70, 129))]
    whole = [awkward(d, 50, 130) for d in (jnp.int32, jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.uint32)]
    # Sums of 16 bits that are exact whatever they are added up in; of infinities only extremes: sums are NaN, but for their order.
    halves = [jnp.asarray(R.randint(-1, 2, (40, 90))).astype(d) for d in (jnp.bfloat16, jnp.float16)]
    rest = [awkward(d, 90, 70) for d in (jnp.float32, jnp.bfloat16, jnp.float16)]
    args = [*whole, *real, *halves, *rest]

    def f(*args):
        few = lambda i: kinds if i < len(args) - len(rest) else kinds[1:3]
        return [k(x, axis, reverse) for i, x in enumerate(args) for k in few(i) for axis in range(x.ndim) for reverse in (False, True)]
    same(cli, tmp_path, f, args, threads)


def test_many_of_a_long_line(cli, tmp_path):
    x = awkward(jnp.float32, 3, 20000)
    same(cli, tmp_path, lambda x: [lax.top_k(x, k) for k in (1, 700, 3000, 20000)], (x,), 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_too_small_to_be_normal_are_zero(cli, tmp_path, threads):
    """XLA's threads flush them, operands and results; ours too, whatever thread it is and however it is fused."""
    x = jnp.asarray(np.concatenate([10.0 ** R.uniform(-45, -30, 150000), [1.5e-38, 1e-40, -3e-39]]).astype(np.float32))

    def f(x, half, big):
        return x * half, x + x, (x == 0).astype(jnp.float32), jnp.exp(-x * big * 100 - 80), (x * half * big).sum(), jnp.cumsum(x[:64] * half)[-1:]
    same(cli, tmp_path, f, (x, jnp.float32(0.5), jnp.float32(1e30)), threads)


def test_numbers_too_small_to_be_normal_sort_as_zero(cli, tmp_path):
    """What is equal keeps its order: XLA flushes denormals before it compares, but those of float16, which it compares as float32."""
    small = {jnp.float32: [1e-40, -1e-40, 1e-45, -1e-45, 0, -0.0, 2e-38, 1e-39, -2e-38], jnp.float16: [1e-7, -1e-7, 6e-8, -6e-8, 0, -0.0, 7e-5, 3e-7]}
    small[jnp.bfloat16] = small[jnp.float32]
    args = [jnp.array(x, d) for d, x in small.items()]
    same(cli, tmp_path, lambda *args: [jnp.argsort(x, descending=d) for x in args for d in (False, True)], args, 1)


def test_what_an_output_is_made_of_stands_in_it(cli, tmp_path):
    """The gradient of a table is zeros, then sums of rows: in the output's own memory, as XLA has it."""
    def f(table, i, w):
        return jax.grad(lambda t: (jnp.tanh(t[i]) * w).sum())(table), jnp.cumsum(jnp.sort(table[:, 0]) * 2)
    args = jnp.asarray(R.randn(5000, 32).astype(np.float32)), jnp.asarray(R.randint(0, 5000, 1000)), jnp.asarray(R.randn(1000, 32).astype(np.float32))
    same(cli, tmp_path, f, args, 2)
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(f, values="all")(*args).save(path)
    memory = cli.json("plan", path)["memory"]
    xla = jax.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes
    assert memory["temporaries"] <= max(xla, 1000 * 32 * 4 * 1.25 + 5000 * 16)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_of_a_few_columns(cli, tmp_path, threads):
    """They have no loop of their own; those of several dimensions are walked dimension by dimension, from wherever a thread begins."""
    def f(pairs, small, batch):
        out = []
        for n in (1, 2, 3, 5, 8):
            a, b = pairs[:, None, :n], pairs[None, 7:108, :n]
            d = a - b
            out += [(d ** 2).sum(-1), jnp.maximum(a, b).prod(-1) + pairs[:, None, 0], jax.nn.softmax(d, -1), d / (1 + jnp.abs(d).max(-1, keepdims=True))]
        out += [jax.nn.softmax(x.astype(jnp.float32), -1) + x.argmax(-1)[..., None] for x in small] + [x.max(-1) for x in small]
        y = batch - batch.mean(-1, keepdims=True)
        return out + [y / jnp.sqrt((y ** 2).sum(-1, keepdims=True) + 1), (batch[:, :, None] * batch[:, None]).sum(-1), jnp.cumsum(batch, 2)[..., ::-1]]
    pairs = jnp.asarray(R.randn(331, 8).astype(np.float32))
    small = [awkward(t, 37, 70, 4) for t in (jnp.int32, jnp.float32)] + [jnp.asarray(R.randn(3000, 6)).astype(jnp.bfloat16)]
    small[1] = jnp.nan_to_num(small[1], posinf=3)
    same(cli, tmp_path, f, (pairs, small, jnp.asarray(R.randn(9, 50, 3).astype(np.float32))), threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_many_operands_joined(cli, tmp_path, threads):
    """Strips of many lengths, empty ones among them, along each dimension; one operand twice, and a gradient through all of it."""
    def pieces(dtype, axis):
        sizes = (5, 0, 1, 17, 64, 3, 40)
        return [jnp.asarray(R.randint(0, 100, [n if d == axis else k for d, k in enumerate((30, 40, 50))])).astype(dtype) for n in sizes]
    xs = [pieces(d, axis) for d in (jnp.float32, jnp.bfloat16, jnp.int8, jnp.complex64) for axis in range(3)]

    def f(xs):
        joined = [jnp.concatenate(x, i % 3) for i, x in enumerate(xs)]
        alike = [xs[0][3] + k for k in range(5)]
        twice = [jnp.concatenate([alike[0], alike[1], alike[0], alike[2]], axis) for axis in range(3)]
        slope = jax.grad(lambda x: (jnp.concatenate([x, x * 2, jnp.sin(x), x], 1) ** 2).sum())(alike[3])
        return joined, twice, [jnp.stack(alike, axis) for axis in range(4)], slope
    same(cli, tmp_path, f, (xs,), threads)


def test_loops_written_out(cli, tmp_path):
    """Short bodies that the program wants unrolled whole, or by half: forwards and backwards, carries that come back, stacked results, gradients."""
    xs, w = jnp.asarray(R.randn(7, 60).astype(np.float32)), jnp.asarray(R.randn(60).astype(np.float32))

    def f(xs, w):
        out = []
        for reverse in (False, True):
            step = lambda c, x: ((c[1], jnp.sin(c[0]) + w * x[0]), (c[0] * x[1], x[0]))  # noqa: E731
            out += [lax.scan(step, (w, w * 2), (xs, jnp.arange(7.)), length=7, reverse=reverse, unroll=u) for u in (7, 4)]
            loss = lambda v: (lax.scan(lambda c, x: (jnp.cos(c) * x, c), v, xs, reverse=reverse, unroll=16)[0] ** 2).sum()  # noqa: E731
            out.append(jax.value_and_grad(loss)(w))
        out.append(lax.scan(lambda c, _: (c * w, None), w, None, length=5, unroll=5))
        out.append(lax.scan(lambda c, x: (w, x), w, xs[:, :0], unroll=7))
        out.append(jax.vmap(lambda a, b: jnp.polyval(a, b), in_axes=(1, None))(xs, w))
        return out
    same(cli, tmp_path, f, (xs, w), 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_sorts_by_several_keys(cli, tmp_path, threads):
    """Ties go on to the next key; keys of all widths, lines of either side of the radix sort, along either axis."""
    kinds = (jnp.int32, jnp.float32), (jnp.bfloat16, jnp.uint8, jnp.float32), (jnp.float16, jnp.bool_), (jnp.uint16, jnp.int8, jnp.float32)
    args = [awkward(d, *s) for s in ((3000,), (40, 9), (2, 1100)) for ds in kinds for d in ds]

    def f(*args):
        results = []
        rest = list(args)
        for _ in range(3):
            for ds in kinds:
                keys, rest = rest[:len(ds)], rest[len(ds):]
                results += [lax.sort((*keys, lax.iota(jnp.int32, keys[0].size).reshape(keys[0].shape)), num_keys=len(keys), dimension=a) for a in range(keys[0].ndim)]
        return results
    same(cli, tmp_path, f, args, threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_sorts_of_numbers_near_and_far(cli, tmp_path, threads):
    """By how far keys are apart: all equal, few digits, all digits; lines of every length that another way begins at. Zeros keep their signs' order."""
    whole = "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"
    lines = []
    with jax.enable_x64(True):
        for dtype in whole + ("float16", "bfloat16", "float32", "float64"):
            for shape in ((1,), (2, 9), (11, 3), (3, 21), (41,), (51, 2), (81,), (300,), (5000,)):
                bits = jnp.asarray(R.randint(0, 256, (*shape, jnp.dtype(dtype).itemsize)).astype(np.uint8))
                far = lax.bitcast_convert_type(bits if bits.shape[-1] > 1 else bits[..., 0], dtype)
                near = awkward(dtype, *shape) if dtype not in whole else jnp.asarray(R.randint(100, 120, shape)).astype(dtype)
                lines += [far, near, jnp.full(shape, 7, dtype)]

        def f(*lines):
            ordered = [jnp.sort(x, a) for x in lines for a in range(x.ndim)] + [jnp.argsort(x, descending=d) for x in lines for d in (False, True)]
            return ordered + [jnp.signbit(x) & (x == x) for x in ordered if jnp.issubdtype(x.dtype, jnp.floating)]
        same(cli, tmp_path, f, lines, threads)


def test_a_sort_by_two_keys_needs_what_the_plan_says(cli, tmp_path):
    """It kept its keys as doubles behind the plan's back (25 MiB of these)."""
    x = jnp.asarray(R.randint(0, 50, 300_000))
    jaxscope.capture(lambda x, y: lax.sort((x, y), num_keys=2), values="all")(x, x[::-1]).save(str(tmp_path / "s.jaxscope"))
    memory = cli.json("run", str(tmp_path / "s.jaxscope"))["memory"]
    assert memory["measured_peak"] < memory["planned_peak"] + (8 << 20), memory
