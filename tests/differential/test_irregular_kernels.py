"""Scatters of every kind and type, products with a side of a few numbers or none summed over, sums over gathered rows: JAX's, element by
element, on one thread and on several, within their buffers."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxscope
from test_kernels import array, same

R = np.random.RandomState(23)
INTEGERS = jnp.int8, jnp.uint16, jnp.int32, jnp.uint32
FLOATS = jnp.float32, jnp.bfloat16, jnp.float16


@pytest.fixture(params=[1, 3])
def threads(request):
    return request.param


def halves(dtype, *shape):
    """Sums of a few of these are exact in every type."""
    return jnp.asarray(R.randint(-8, 9, shape)).astype(dtype)


@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_scatters(cli, tmp_path, threads, mode):
    """Rows, parts of rows and single elements; places that repeat and that lie outside; one operand of each type."""
    n = 3000
    at, far = (jnp.asarray(R.randint(low, high, n).astype(t)) for low, high, t in ((-70, 130, np.int32), (0, 100, np.uint32)))
    narrow = jnp.asarray(R.randint(0, 40, 500).astype(np.int16))
    kinds = "add", "min", "max", "set", "mul"

    def f(tables, rows, columns, single):
        out = []
        for k, (t, r, c, s) in enumerate(zip(tables, rows, columns, single)):
            kind = kinds[k % 5]
            if kind in ("add", "min", "max"):
                out += [getattr(t.at[at], kind)(r, mode=mode), getattr(t.at[narrow, 3:9], kind)(c, mode=mode), getattr(t.at[far, at], kind)(s, mode=mode)]
            else:  # once each: which of several is the last one is nobody's promise
                once = jnp.arange(90)[::-1] + 20
                out += [getattr(t.at[once], kind)(r[:90], mode=mode), getattr(t.at[once, 5], kind)(s[:90], mode=mode)]
        return out
    types = [*INTEGERS, *FLOATS] * 5
    args = [[halves(t, *s) for t in types] for s in ((100, 33), (n, 33), (500, 6), (n,))]
    same(cli, tmp_path, f, args, threads)


def test_scatters_of_complex_numbers_and_batches(cli, tmp_path, threads):
    at = jnp.asarray(R.randint(0, 50, (6, 400)).astype(np.int32))

    def f(z, v, x, u):
        batched = jax.vmap(lambda x, i, u: x.at[i].add(u))(x, at, u)
        return z.at[at[0]].add(v), z.at[jnp.arange(40)].set(v[:40]), batched, jax.vmap(lambda x, i, u: x.at[i].max(u[:, 0]))(x[..., 0], at, u)
    same(cli, tmp_path, f, (array(jnp.complex64, 50, 3), array(jnp.complex64, 400, 3), halves(jnp.float32, 6, 50, 16), halves(jnp.float32, 6, 400, 16)), threads)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.int32, jnp.bfloat16], ids=lambda d: d.__name__)
def test_many_gathers_of_one_table(cli, tmp_path, threads, dtype):
    """What is scattered into zeros and added up is added up in one array (where the type is exact enough), also beside a dense gradient, and
    where a sum is read twice."""
    table = array(dtype, 700, 12)
    rows = [(jnp.asarray(R.randint(-800, 800, 50 * k).astype(np.int32)), array(dtype, 50 * k, 12)) for k in range(1, 9)]

    def f(table, rows):
        def gathered(t):
            return [t[i] for i, _ in rows] + [t * 2]
        total, = jax.linear_transpose(gathered, table)([u for _, u in rows] + [table])
        twice = jnp.zeros_like(table).at[rows[0][0]].add(rows[0][1]) + table
        return total, twice * twice, jnp.zeros_like(table).at[rows[1][0]].add(rows[1][1]) + jnp.zeros_like(table).at[rows[2][0]].add(rows[2][1])
    same(cli, tmp_path, f, (table, rows), threads)
    plan = cli.json("plan", str(tmp_path / "a.jaxscope"), "--threads", str(threads))["memory"]
    assert (plan["temporaries"] <= 2 * table.nbytes) == (dtype != jnp.bfloat16), plan["temporaries"]


SCATTERED = jnp.float32, jnp.bfloat16, jnp.float16, jnp.complex64, jnp.int8, jnp.uint8, jnp.int16, jnp.uint32, jnp.int32


@pytest.mark.parametrize("dtype", SCATTERED, ids=lambda d: d.__name__)
def test_scatters_of_every_type(cli, tmp_path, threads, dtype):
    """Single elements by one index and by two, short and long rows; batches that come first, that don't, and of batches."""
    whole = jnp.issubdtype(dtype, jnp.integer)

    def numbers(*shape):
        x = R.randint(-9 if not jnp.issubdtype(dtype, jnp.unsignedinteger) else 0, 10, shape)
        x = x if whole else x / 4
        return jnp.asarray(x + 1j * np.flip(x) if dtype == jnp.complex64 else x).astype(dtype)
    many = 9000
    to, other = (jnp.asarray(R.randint(-20, 90, many).astype(t)) for t in (np.int32, np.int32))
    flat, square, long = numbers(70), numbers(70, 80), numbers(70, 100)
    u, rows, wide = numbers(many), numbers(many, 7), numbers(many // 6, 100)
    batch, at, v = numbers(5, 6, 40), jnp.asarray(R.randint(-3, 45, (5, 6, 400)).astype(np.int32)), numbers(5, 6, 400)
    kinds = ("add", "multiply", "set") if dtype == jnp.complex64 else ("add", "multiply", "min", "max", "set")

    def f(flat, square, long, u, rows, wide, batch, v):
        out = []
        for kind in kinds:
            put = lambda a, i, u, mode="drop": getattr(a.at[i], kind)(u, mode=mode)  # noqa: E731
            # Which of several values is kept isn't said where they are set: one index each.
            some = slice(None) if kind != "set" else slice(0, 1)
            few = slice(None) if kind != "multiply" or whole else slice(0, 40)
            i, j = to[some][few], other[some][few]
            n = i.shape[0]
            out += [put(flat, i, u[:n]), put(flat, i, u[:n], "clip"), put(square, (i, j), u[:n]), put(square, (i, j), u[:n], "clip")]
            out += [put(square[:, :w], i, rows[:n, :w]) for w in (2, 3, 4, 7)] + [put(long, i[:many // 6], wide[:min(n, many // 6)])]
            ordered = jnp.sort(at, -1) if kind != "set" else jnp.broadcast_to(jnp.arange(400), at.shape)
            few = 400 if kind != "multiply" or whole else 9
            both = jax.vmap(jax.vmap(put))
            out.append(both(batch, ordered[..., :few], v[..., :few]))
            out.append(jax.vmap(put, in_axes=(1, 1, 1), out_axes=1)(batch[0].T, ordered[0].T[:few], v[0].T[:few]))
        return out
    same(cli, tmp_path, f, (flat, square, long, u, rows, wide, batch, v), threads)


@pytest.mark.parametrize("dtype", [jnp.float64, jnp.complex64, jnp.complex128, jnp.int32, jnp.int64])
def test_slender_products(cli, tmp_path, threads, dtype):
    """Either side short, the summed dimension short or long, along memory and across it."""
    cases = ["ab,b->a", "ab,a->b", "ab,bc->ac", "ba,bc->ac", "ab,cb->ca", "xay,ac->xcy", "xby,cb->cxy"]
    sizes = [dict(a=1000, b=2, c=2, x=1, y=700), dict(a=3, b=900, c=2, x=5, y=40), dict(a=4, b=33, c=1, x=64, y=7), dict(a=129, b=77, c=3, x=2, y=2)]
    with jax.enable_x64(True):
        pairs = [(e, *[jnp.asarray(R.randint(-9, 9, [s[d] for d in side]) / 4 if not jnp.issubdtype(dtype, jnp.integer) else R.randint(-9, 9, [s[d] for d in side]))
                       .astype(dtype) for side in e.split("->")[0].split(",")]) for e in cases for s in sizes]

        def f(args):
            return [jnp.einsum(e, x, y) for (e, *_), (x, y) in zip(pairs, args)]
        same(cli, tmp_path, f, ([(x, y) for _, x, y in pairs],), threads)


def test_products_that_add_nothing_up(cli, tmp_path):
    x, y, k = array(jnp.float32, 7, 5), array(jnp.float32, 7, 6), jnp.asarray(R.randint(-100, 100, (7, 4)).astype(np.int8))

    def f(x, y, k):
        wide = lax.dot_general(k, k, (((), ()), ((0,), (0,))), preferred_element_type=jnp.int32)
        half = lax.dot_general(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16), (((), ()), ((0,), (0,))), preferred_element_type=jnp.float32)
        return jnp.einsum("ab,ac->abc", x, y).sum(0), jnp.outer(x, y), wide, half, jnp.einsum("ab,ca->cba", x, y.T), jnp.einsum("ia,ib->ab", x[:1], y[:1]) * 2
    same(cli, tmp_path, f, (x, y, k), 2)


def test_products_whose_results_are_turned(cli, tmp_path, threads):
    """Where the transposition would leave many small products, it stays one by itself."""
    a, u, w = array(jnp.float32, 90, 70), array(jnp.float32, 70, 16, 16), array(jnp.float32, 8, 70, 12)
    same(cli, tmp_path, lambda a, u, w: (jnp.einsum("uv,vij->uji", a, u), jnp.einsum("vij,uv->jiu", u, a), jnp.einsum("uv,bvc->cub", a, w)), (a, u, w), threads)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.complex64, jnp.int32, jnp.bfloat16], ids=lambda d: d.__name__)
def test_products_that_are_added_to_others(cli, tmp_path, threads, dtype):
    """Onto carries and onto each other, in the memory of these, however operands and result lie; not onto what somebody else still reads."""
    a, b, v, xs, ys = (halves(dtype, *s) for s in ((64, 40), (40, 64), (40,), (9, 24, 70), (9, 24, 50)))

    def f(a, b, v, xs, ys):
        def step(c, xy):
            m, n, p, q = c
            x, y = xy
            return (m + x.T @ y, (x.T @ y).T + n, p + x[0] @ (x.T @ y), q + q @ (y.T @ y) * 0), m[0]
        zeros = tuple(jnp.zeros(s, dtype) for s in ((70, 50), (50, 70), (50,), (2, 50)))
        two = a @ b
        return jax.lax.scan(step, zeros, (xs, ys)), two + b.T @ a.T, a @ v + b.T @ v, two * 2, (a @ b[:, ::-1] + b.T @ a.T[:, ::-1]) - a @ b
    same(cli, tmp_path, f, (a, b, v, xs, ys), threads)
    if dtype == jnp.float32:
        jaxscope.capture(lambda a, b, v: (a @ b) + a[:, ::-1] @ b[::-1] @ jnp.ones((64, 64)), values="all")(a, b, v).save(str(tmp_path / "two.jaxscope"))
        steps = cli.json("run", str(tmp_path / "two.jaxscope"), "--profile")["profile"]["kernels"]
        assert not [k for k in steps if k["what"] in ("add", "add_any")]


def test_sums_over_gathered_rows(cli, tmp_path, threads):
    """All of it and by column; rows that divide into no even parts; what all rows share; a value that is stored, too."""
    table, bias = array(jnp.float32, 500, 24), array(jnp.float32, 24)
    at = [jnp.asarray(R.randint(-600, 600, n).astype(np.int32)) for n in (4096, 4099, 6000)]

    def f(table, bias, at):
        out = []
        for i in at:
            v = table.at[i].get(mode="fill", fill_value=0.5) * 2 + bias
            out += [(v ** 2).mean(), v.max(), v * 3, (table[i % 500] - bias).min(), (v.reshape(-1, 12)).sum()]
        return out
    same(cli, tmp_path, f, (table, bias, at), threads)


def test_gradients_with_biases_and_norms(cli, tmp_path, threads):
    """What is cheap moves into the kernels that sum up for a bias: values stay JAX's."""
    numbers = np.random.RandomState(3)  # its own: among other numbers some gradients cancel down to the last digits that are compared
    with jax.enable_x64(True):
        p = [(jnp.asarray(numbers.randn(48, 48) / 7), jnp.asarray(numbers.randn(48))) for _ in range(4)]

        def loss(p, x):
            for w, b in p:
                h = jnp.tanh(x @ w + b)
                x = (h - h.mean(0)) * lax.rsqrt(h.var(0) + 1e-3) + jnp.exp(-h)
            return (x ** 2).mean()
        same(cli, tmp_path, jax.value_and_grad(loss, argnums=(0, 1)), (p, jnp.asarray(numbers.randn(640, 48))), threads)


@pytest.mark.parametrize("partitionable", [True, False])
def test_random_bits(cli, tmp_path, threads, partitionable):
    """Of every width, of as many as fill blocks and of a few more, of one key and of many."""
    with jax.threefry_partitionable(partitionable), jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(5), 37)

        def f(keys):
            one = [jax.random.bits(keys[0], (n,), d) for n in (1, 4, 5, 64, 65, 5003) for d in (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64)]
            many = [jax.vmap(lambda k, n=n: jax.random.bits(k, (n,), jnp.uint32))(keys) for n in (1, 3, 100)]
            return one, many, jax.random.normal(keys[1], (300, 70), jnp.float32)
        same(cli, tmp_path, f, (keys,), threads)


def test_rows_read_at_other_rows(cli, tmp_path):
    """What is cheap to make of a row's sum is made again at the index that is asked for: not of the sum of the row at hand."""
    def f(x, y):
        spread = jnp.clip(x.sum(1, keepdims=True), -64, 64) + jnp.zeros_like(y)
        return lax.pad(spread, jnp.float32(-1), ((1, -96, 1), (1, -640, 1))) + x, spread[::-1] * y, jnp.roll(spread, 1, 0) - x
    same(cli, tmp_path, f, (halves(jnp.float32, 96, 640), halves(jnp.float32, 96, 640)), 2)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.int8, jnp.complex64, jnp.bool_])
def test_parts_beside_each_other(cli, tmp_path, threads, dtype):
    """Rows joined, padded and turned along their columns, which a loop visits part by part: parts of one column and of none, more parts
    than it is split into, padding that cuts off or lies between, places on both sides of a part's end, sums over several parts."""
    x, y, one, none = (halves(jnp.float32, 70, n).astype(dtype) for n in (64, 33, 1, 0))
    empty = jnp.zeros((), dtype)

    def f(x, y, one, none):
        joined = [jnp.concatenate(parts, 1) for parts in ((x, y), (one, x, none, one), (y, one, y), (one,) * 40, (x, y, one, x, y, one, y))]
        padded = [lax.pad(x, empty, ((0, 0, 0), at)) for at in ((1, 0, 0), (0, 1, 0), (40, 7, 0), (-3, 5, 0), (5, -63, 0), (-20, -20, 0), (2, 3, 1))]
        turned = [jnp.roll(x, by, 1) for by in (1, -1, 31, 63)]
        shifted = jnp.concatenate([x[:, 1:], one], 1) ^ x if dtype in (jnp.int8, jnp.bool_) else jnp.concatenate([x[:, 1:], one], 1) - x
        sums = [a.sum(1) for a in joined + padded if dtype != jnp.bool_] + [jnp.any(a, 1) for a in joined]
        return joined, padded, turned, shifted, sums
    same(cli, tmp_path, f, (x, y, one, none), threads)
