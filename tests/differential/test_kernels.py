"""Convolutions in every direction and type, products of narrow types and top_k, on sizes that several threads share: element by element JAX's."""
import functools
import itertools
import os
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from seed import seed_of_sample

import jaxscope
from conftest import largest_error

R = np.random.RandomState(7)
DIMS = {1: ("NCH", "OIH", "NCH"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NCDHW", "OIDHW", "NCDHW")}
TOLERANCE = {"float32": 2e-4, "bfloat16": 2e-2, "float16": 4e-3, "float64": 1e-11, "complex64": 2e-4, "complex128": 1e-11}


def array(dtype, *shape):
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.asarray(R.randint(-100, 100, shape)).astype(dtype)
    x = R.randn(*shape) + (1j * R.randn(*shape) if dtype == jnp.complex64 else 0)
    return jnp.asarray(x).astype(dtype)


def same(cli, tmp_path, fn, args, threads, theirs=None):
    """All leaves that fn returns are JAX's, or `theirs`."""
    path, out = str(tmp_path / "a.jaxscope"), str(tmp_path / "out.npz")
    jaxscope.capture(fn, values="all")(*args).save(path)
    cli.json("run", path, "--threads", str(threads), "--outputs", out)
    theirs = jax.tree.leaves(jax.jit(fn)(*args)) if theirs is None else theirs
    with np.load(out) as ours:
        assert len(ours.files) == len(theirs)
        for i, want in enumerate(theirs):
            got = ours[f"out{i}"]
            want = np.asarray(want)
            if got.dtype.kind == "V":
                got = got.view(want.dtype)
            if want.dtype in (jnp.bfloat16, jnp.float16):
                got, want, kind = got.astype(np.float32), want.astype(np.float32), str(want.dtype)
            else:
                kind = str(want.dtype)
            if kind in TOLERANCE:
                assert largest_error(got, want) <= TOLERANCE[kind], (i, kind)
            else:
                np.testing.assert_array_equal(got, want, err_msg=str(i))


def conv_cases():
    """(dims, dtype, channels in, out, size, kernel, stride, padding, lhs dilation, rhs dilation, feature groups, batch groups)"""
    yield from ((2, jnp.float32, 16, 32, 24, 3, s, p, 1, d, 1, 1) for s, p, d in itertools.product((1, 2), ((1, 1), (0, 2), (-2, 1)), (1, 2)))
    yield (2, jnp.float32, 32, 32, 20, 3, 1, (1, 1), 1, 1, 32, 1)  # depthwise
    yield (2, jnp.float32, 32, 64, 20, 3, 2, (1, 0), 1, 1, 4, 1)
    yield (2, jnp.float32, 8, 16, 16, 3, 1, (1, 1), 1, 1, 1, 4)  # groups of the batch
    yield (2, jnp.float32, 16, 16, 12, 4, 1, (2, 2), 2, 1, 1, 1)  # transposed
    yield (2, jnp.float32, 16, 16, 12, 3, 1, (5, 3), 3, 2, 1, 1)
    yield (2, jnp.float32, 16, 16, 12, 3, 1, (-1, 3), 2, 1, 2, 1)
    yield (2, jnp.float32, 4, 6, 9, 2, 2, (3, 1), 3, 1, 1, 1)  # both at once
    yield (1, jnp.float32, 16, 24, 300, 5, 2, (4, 0), 1, 3, 1, 1)
    # causal and widely dilated: oneDNN has no gradient by the weights for padding as wide as that on one side
    yield (1, jnp.float32, 32, 48, 200, 2, 1, (32, 0), 1, 32, 1, 1)
    yield (1, jnp.float32, 16, 16, 150, 3, 1, (40, 3), 1, 20, 4, 1)
    yield (1, jnp.bfloat16, 32, 32, 120, 2, 1, (33, 0), 1, 33, 1, 1)
    yield (2, jnp.float32, 16, 16, 40, 2, 1, (0, 36), 1, 36, 1, 1)
    yield (3, jnp.float32, 4, 16, 10, 3, 1, (1, 1), 1, 1, 1, 1)
    yield from ((2, t, 16, 16, 14, 3, 2, (1, 1), 1, 1, 1, 1) for t in (jnp.bfloat16, jnp.float16, jnp.complex64))
    yield (2, jnp.int32, 8, 16, 14, 3, 1, (1, 1), 1, 1, 1, 1)


def conv(x, w, case, **more):
    dims, _, _, _, _, _, stride, pad, ld, rd, fg, bg = case
    return lax.conv_general_dilated(x, w, (stride,) * dims, (pad,) * dims, (ld,) * dims, (rd,) * dims, DIMS[dims], fg, bg, **more)


def conv_arrays(case):
    dims, dtype, ci, co, size, kernel, _, _, _, _, fg, bg = case
    n = 4
    spatial, taps = (size + 1,) + (size,) * (dims - 1), (kernel,) * dims
    last = DIMS[dims][0].endswith("C")
    x = array(dtype, n, *spatial, ci) if last else array(dtype, n, ci, *spatial)
    w = array(dtype, *taps, ci // fg, co) if last else array(dtype, co, ci // fg, *taps)
    return x, w


@pytest.mark.parametrize("threads", [1, 3])
def test_banks_of_long_filters(cli, tmp_path, threads):
    """One signal or two through a few dozen filters: padding of both signs and wider than the filter, dilation, groups, ends of tiles."""
    cases = [(2, 1, 12, 65, 1500, (32, 32), 1, 1), (1, 2, 9, 40, 2100, (-3, 50), 1, 1), (3, 2, 16, 33, 1300, (64, 64), 4, 2), (1, 1, 5, 70, 4170, (0, 0), 1, 1),
             (1, 2, 128, 35, 2048, (34, 0), 1, 1), (2, 1, 33, 129, 1200, (300, -20), 2, 1)]
    operands = [(array(jnp.float32, n, signals, points), array(jnp.float32, filters, signals // groups, taps)) for n, signals, filters, taps, points, _, _, groups in cases]

    def all_of_them(operands):
        out = []
        for (*_, pad, dilation, groups), (x, w) in zip(cases, operands, strict=True):
            f = lambda x, w, pad=pad, dilation=dilation, groups=groups: lax.conv_general_dilated(x, w, (1,), (pad,), rhs_dilation=(dilation,), feature_group_count=groups)
            y, back = jax.vjp(f, x, w)
            out.append((y, back(jnp.cos(y))))
        return out
    same(cli, tmp_path, all_of_them, (operands,), threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_convolutions_and_their_gradients(cli, tmp_path, threads):
    cases = list(conv_cases())
    operands = [conv_arrays(c) for c in cases]

    def all_of_them(operands):
        out = []
        for case, (x, w) in zip(cases, operands, strict=True):
            f = lambda x, w, case=case: conv(x, w, case)
            out.append(f(x, w))
            if case[1] in (jnp.float32, jnp.bfloat16):
                y, back = jax.vjp(f, x, w)
                out.append(back(jnp.cos(y)))
        return out
    same(cli, tmp_path, all_of_them, (operands,), threads)


@pytest.mark.parametrize("isa", ["", "AVX2"])
def test_convolutions_of_floats_that_the_library_widens(cli, tmp_path, monkeypatch, isa):
    """More images than are wide at a time: gradients by weights add up, and are what float32 says of the same numbers."""
    if isa:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", isa)
    cases = [(2, t, 32, c, 39, 3, stride, padding, 1, 1, groups, 1) for t in (jnp.float16, jnp.bfloat16)
             for c, stride, padding, groups in ((48, 1, (1, 1), 1), (32, 2, (0, 3), 1), (32, 1, (-1, 2), 4))]
    operands = [tuple(a if a.shape[0] == 3 else jnp.concatenate([a, a[::-1], a * 0.5, -a, a, a]) for a in conv_arrays(c)) for c in cases]

    def all_of_them(operands, as_type=lambda a: a):
        out = []
        for case, pair in zip(cases, operands, strict=True):
            x, w = map(as_type, pair)
            y, back = jax.vjp(lambda x, w, case=case: conv(x, w, case), x, w)
            out.append((y, *back(as_type(y.astype(pair[0].dtype) * 0.05))))
        return out
    wide = jax.jit(lambda o: all_of_them(o, lambda a: a.astype(jnp.float32)))(operands)
    wanted = [np.asarray(a.astype(c[1])) for c, leaves in zip(cases, wide, strict=True) for a in leaves]
    same(cli, tmp_path, all_of_them, (operands,), 3, wanted)


def by_sums(x, w, strides, padding, from_, of, dims, groups, batch_groups):
    """A convolution without XLA's kernels for it, which read what nobody wrote, or crash, where padding is negative."""
    n = len(strides)
    x, w = (a.transpose([spec.index(c) for c in first + "HWD"[:n]]) for a, spec, first in ((x, dims[0], "NC"), (w, dims[1], "OI")))
    x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0)] * 2 + [(*p, d - 1) for p, d in zip(padding, from_)])
    size = [(x.shape[2 + i] - (w.shape[2 + i] - 1) * of[i] - 1) // strides[i] + 1 for i in range(n)]
    if batch_groups > 1:
        x = x.reshape(batch_groups, -1, *x.shape[1:])
    else:
        x = jnp.moveaxis(x.reshape(x.shape[0], groups, -1, *x.shape[2:]), 1, 0)
    w = w.reshape(x.shape[0], -1, *w.shape[1:])
    total = 0
    for at in itertools.product(*(range(k) for k in w.shape[3:])):
        window = tuple(slice(a * d, a * d + (k - 1) * s + 1, s) for a, d, k, s in zip(at, of, size, strides))
        total += jnp.einsum("gnc...,goc->gno...", x[(..., *window)], w[(..., *at)])
    total = jnp.moveaxis(total, 0, 1).reshape(total.shape[1], -1, *size)
    return total.transpose([("NC" + "HWD"[:n]).index(c) for c in dims[2]])


def random_convolution(seed: int):
    """A convolution of any form with its arguments, in a shape that JAX takes; None where it has no result."""
    r = random.Random(seed)
    n, groups, batch_groups = r.choice((1, 2, 2, 2, 3)), r.choice((1, 1, 2, 4)), 1
    channels, features, batch = groups * r.randint(1, 5), groups * r.randint(1, 5), r.randint(1, 4)
    if groups == 1 and r.random() < 0.25:
        batch_groups, batch, features = 2, 2 * r.randint(1, 2), 2 * r.randint(1, 3)
    axes = "HWD"[:n]
    sides = dict(zip(axes, (r.randint(4, 12) for _ in axes))), dict(zip(axes, (r.randint(1, 4) for _ in axes)))
    lhs, rhs, out = r.choice(("NC" + axes, "N" + axes + "C")), r.choice(("OI" + axes, axes + "IO")), r.choice(("NC" + axes, "N" + axes + "C"))
    strides, from_, of = ([r.choice(c) for _ in axes] for c in ((1, 1, 2, 3), (1, 1, 1, 2), (1, 1, 2)))
    padding = [(r.choice((0, 1, 2, -1)), r.choice((0, 1, 2, -1))) for _ in axes]
    dtype = r.choice((jnp.float32, jnp.float32, jnp.bfloat16, jnp.float16))
    x = array(dtype, *(dict(N=batch, C=channels, **sides[0])[c] for c in lhs))
    w = array(dtype, *(dict(O=features, I=channels // groups, **sides[1])[c] for c in rhs))

    how = (strides, padding, from_, of, (lhs, rhs, out), groups, batch_groups)

    def conv(x, w):
        return lax.conv_general_dilated(x, w, *how)
    try:
        result = jax.eval_shape(conv, x, w)
    except (ValueError, TypeError):
        return None
    return (conv, lambda x, w: by_sums(x, w, *how), x, w, array(dtype, *result.shape)) if result.size else None


def test_random_convolutions_and_their_gradients(cli, tmp_path):
    first = seed_of_sample()
    # 46: a grouped one whose padding differs in front and behind, of which oneDNN 2.6's product read memory that nobody wrote
    for seed in [46, *range(first, first + (400 if os.environ.get("JAXSCOPE_FULL") else 12))]:
        R.seed(seed)
        if not (made := random_convolution(seed)):
            continue
        print(f"JAXSCOPE_SEED={seed}")
        conv, sums, x, w, ct = made

        def all_three(f, x, w, ct):
            return f(x, w), *jax.vjp(f, x, w)[1](ct)
        with jax.enable_x64(True):
            wide = jax.jit(all_three, static_argnums=0)(sums, *(jnp.asarray(np.asarray(a, np.float64)) for a in (x, w, ct)))
        theirs = [np.asarray(a).astype(x.dtype) for a in wide]
        for threads in (1, 3):
            same(cli, tmp_path, lambda x, w: all_three(conv, x, w, ct), (x, w), threads, theirs)


def test_convolutions_of_bytes_are_exact(cli, tmp_path):
    """Pairs of products that 16 bits don't hold, and sums that float32 doesn't."""
    def f(*pairs):
        conv = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=DIMS[2], preferred_element_type=jnp.int32)
        return [conv(x, w) for x, w in zip(pairs[::2], pairs[1::2])]
    x, w, deep = array(jnp.int8, 4, 16, 16, 32), array(jnp.int8, 3, 3, 32, 32), array(jnp.int8, 3, 3, 160, 24)
    least = lambda *shape: jnp.full(shape, -128, jnp.int8)
    same(cli, tmp_path, f, (x, w, array(jnp.int8, 2, 9, 8, 160), deep, least(2, 8, 8, 32), least(3, 3, 32, 8), least(2, 8, 8, 160), least(3, 3, 160, 8)), 2)


def test_products_of_bytes_are_exact(cli, tmp_path):
    def f(*operands):
        pairs = list(zip(operands[::2], operands[1::2]))
        return [lax.dot(s, t, preferred_element_type=jnp.int32) for s, t in pairs] + [lax.dot(s[0], t[:, 0], preferred_element_type=jnp.int32) for s, t in pairs]
    deep = [jnp.full((40, 5000), v, t) for v, t in ((-128, jnp.int8), (127, jnp.int8), (255, jnp.uint8))]
    same(cli, tmp_path, f, [m for s in deep for m in (s, deep[0].T)], 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_narrow_products(cli, tmp_path, threads):
    h, i = jnp.bfloat16, jnp.int8
    a, b, c = array(h, 6, 130, 70), array(h, 6, 70, 200), array(h, 6, 200, 70)
    s, t = array(i, 300, 129), array(i, 129, 520)
    d, e = array(h, 20, 6000), array(h, 6000, 70)  # worth cutting, into blocks longer than a side

    def f(a, b, c, s, t, d, e):
        wide = dict(preferred_element_type=jnp.int32)
        return (a @ b, jnp.einsum("bmk,bnk->bmn", a, c), jnp.einsum("bmk,bkn->bnm", a, b), jnp.einsum("bmk,bmn->bkn", a, a @ b),
                jnp.matmul(a[0], b[0], preferred_element_type=jnp.float32), jnp.einsum("bmk,bkn->mn", a, b),
                lax.dot(s, t, **wide), lax.dot(t.T, s.T, **wide), a[0, :1] @ b[0], a[0] @ b[0, :, :1], lax.dot(s, t), d @ e[:, :24], d @ e)
    same(cli, tmp_path, f, (a, b, c, s, t, d, e), threads)


@pytest.mark.parametrize("isa", ["", "AVX2"])
@pytest.mark.parametrize("threads", [1, 3])
def test_products_of_other_types_than_they_are_computed_in(cli, tmp_path, monkeypatch, isa, threads):
    """Longer than a block each way, in every order of rows and columns; processors without products of bfloat16 and bytes compute those so, too."""
    if isa:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", isa)
    h, b, f32, i = jnp.float16, jnp.bfloat16, jnp.float32, jnp.int8
    sizes = [(2, 300, 530, 1100), (1, 1, 600, 1500), (1, 700, 1, 1100), (5, 3, 2, 2100), (40, 9, 8, 7), (1, 520, 40, 0)]
    types = [(h, h, None), (h, h, f32), (h, f32, f32), (b, b, None), (b, f32, f32), (i, i, None), (i, i, jnp.int32)]
    pairs = [array(t, n, *s) for (n, m, k, d) in sizes for lhs, rhs, _ in types for t, s in ((lhs, (m, d)), (rhs, (d, k)))]
    outs = [t for _ in sizes for *_, t in types]

    def f(*operands):
        swap = lambda x: jnp.swapaxes(x, 1, 2)
        made = []
        for n, (x, y) in enumerate(zip(operands[::2], operands[1::2])):
            x, y = [(x, y), (swap(swap(x) + 0), y), (x, swap(swap(y) + 0)), (swap(swap(x) + 0), swap(swap(y) + 0))][n % 4]
            r = lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,))), preferred_element_type=outs[n])
            made.append(swap(r) + 0 if n % 3 == 1 else r)
        return made
    same(cli, tmp_path, f, pairs, threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_top_k(cli, tmp_path, threads):
    """In the total order of bits, ties by position; whole lines, columns, and lines that several threads share."""
    edges = jnp.asarray(np.array([0.0, -0.0, 0.0, np.nan, -np.nan, np.inf, -np.inf, 1, np.nan, -0.0], np.float32))
    ties = jnp.asarray(R.randint(0, 50, (40, 700)).astype(np.float32))
    long, columns = array(jnp.float32, 3, 50000), array(jnp.float32, 900, 70)

    def f(edges, ties, long, columns, whole):
        out = [lax.top_k(edges, k) for k in (0, 1, 4, 10)] + [lax.top_k(ties, k) for k in (1, 8, 700)]
        out += [lax.top_k(long, 33), lax.top_k(columns, 5, axis=0), lax.top_k(whole, 20), lax.top_k(whole.astype(jnp.uint8), 20)]
        return out + [lax.top_k(long.astype(t), 40) for t in (jnp.bfloat16, jnp.float16)]
    same(cli, tmp_path, f, (edges, ties, long, columns, array(jnp.int32, 8, 3000)), threads)


def random_einsum(r: random.Random):
    """A contraction of two arrays of two to five axes in any order, small or for several threads to share, with its operands and the result in float64."""
    kinds = {k: r.randint(0 if k == "b" else 1, 1 if k == "b" else 2) for k in "bmnk"}
    axes = {k: "".join(chr(ord("a") + i) for i in range(s, s + kinds[k])) for s, k in zip((0, 2, 4, 6), "bmnk")}
    mixed = lambda *of: "".join(r.sample(s := "".join(axes[k] for k in of), len(s)))
    lhs, rhs, out = mixed("b", "m", "k"), mixed("b", "n", "k"), mixed("b", "m", "n") if r.random() < 0.5 else axes["b"] + axes["m"] + axes["n"]
    lengths = (1, 2, 3, 5, 8) if r.random() < 0.4 else (4, 7, 9, 16, 17)
    size = {a: r.choice(lengths) for a in set(lhs + rhs)}
    dtype = r.choice((jnp.float32, jnp.float32, jnp.float64, jnp.bfloat16, jnp.float16, jnp.complex64, jnp.int32, jnp.int8))
    operands = [array(dtype, *(size[a] for a in axes)) for axes in (lhs, rhs)]
    wide = [np.asarray(x).astype(np.complex128 if dtype == jnp.complex64 else np.int64 if jnp.issubdtype(dtype, jnp.integer) else np.float64) for x in operands]
    return f"{lhs},{rhs}->{out}", operands, np.einsum(f"{lhs},{rhs}->{out}", *wide).astype(operands[0].dtype)


def test_contractions_of_axes_in_any_order(cli, tmp_path):
    """Where axes don't merge, operands are copied before they are multiplied: the result is the same, and planned memory is all there is."""
    r = random.Random(first := seed_of_sample())
    print(f"JAXSCOPE_SEED={first}")
    R.seed(first)
    with jax.enable_x64(True):
        four = [array(t, 16, 16, 16, 16) for t in (jnp.float32, jnp.bfloat16, jnp.int32) for _ in range(2)]
        cases = [("iajb,kbla->ijkl", four[i:i + 2], None) for i in (0, 2, 4)] + [random_einsum(r) for _ in range(300 if os.environ.get("JAXSCOPE_FULL") else 45)]
        for threads, part in ((1, cases[::2]), (3, cases[1::2])):
            specs, pairs, wanted = zip(*part)
            wanted = [np.asarray(jax.jit(jnp.einsum, static_argnums=0)(s, *p)) if w is None else w for s, p, w in part]
            same(cli, tmp_path, lambda *pairs: [jnp.einsum(s, *p) for s, p in zip(specs, pairs)], pairs, threads, wanted)


@pytest.mark.parametrize("threads", [1, 3])
def test_short_sums(cli, tmp_path, threads):
    """Thousands of products of two to four terms, however their dimensions lie; what is transposed twice is what it was."""
    specs = ["bij,bjk->bik", "bij,bj->bi", "bij,bkj->bik", "bji,bjk->bki", "bi,bi->b", "pgj,gij->gpi", "pgj,gij->pgi", "pj,ij->pi", "ij,pj->ip", "bcij,bcjk->cbki"]
    sizes = dict(b=1200, c=2, g=24, p=900)

    def f(*pairs):
        return [g for s, a, b in zip(specs * 3, pairs[::2], pairs[1::2]) for g in (jnp.einsum(s, a, b), *(jax.grad(lambda a, b: jnp.einsum(s, a, b).sum(), (0, 1))(a, b) if a.dtype == jnp.float32 else ()))]
    for length in (2, 3, 4):
        R.seed(length)
        pairs = [array(t, *(sizes.get(d, length) for d in side)) for t in (jnp.float32, jnp.complex64, jnp.int32) for s in specs for side in s.split("->")[0].split(",")]
        same(cli, tmp_path, f, pairs, threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_convolutions_of_rows(cli, tmp_path, threads):
    """Of few features, points side by side: taps beyond both ends, all of them outside, negative padding, gaps, more taps than points."""
    def conv(x, w, pad, dilation=1, stride=1, groups=1):
        n = x.ndim - 2
        pads = [pad if isinstance(pad, tuple) else (pad, pad)] * n
        return lax.conv_general_dilated(x, w, [stride] * (n - 1) + [1], pads, rhs_dilation=[dilation] * n, feature_group_count=groups)

    def f(one, two):
        out = []
        for x, w in one:
            out += [jnp.convolve(x, w, mode=mode) for mode in ("full", "same", "valid")]
            out += [jnp.correlate(x, w, mode="same"), conv(x[None, None], w[None, None], (-3, 2)), conv(x[None, None], w[None, None], (9, 0), 3), conv(x[None, None], w[None, None], 200)]
            out += jax.grad(lambda x, w: (jnp.abs(jnp.convolve(x, w, mode="same")) ** 2).sum(), (0, 1))(x, w) if x.dtype in (jnp.float32, jnp.float64) else ()
        for x, w in two:
            out += [conv(x, w, p, d, s, x.shape[1] // w.shape[1]) for p, d, s in ((0, 1, 1), (3, 1, 2), ((-1, 4), 2, 1), (40, 1, 1))]
        return out
    R.seed(32)
    with jax.enable_x64(True):
        types = (jnp.float32, jnp.float64, jnp.complex64, jnp.complex128)
        narrow = (jnp.bfloat16, jnp.float16, jnp.int32, jnp.int8, jnp.uint16, jnp.int64)  # some are widened a tile at a time
        make = lambda t, *s: jnp.asarray(R.randn(*s) * (9 if jnp.issubdtype(t, jnp.integer) else 1) + (1j * R.randn(*s) if jnp.issubdtype(t, jnp.complexfloating) else 0)).astype(t)
        one = [(make(t, n), make(t, k)) for t in types + narrow for n, k in ((5000, 21), (31, 4))]
        two = [(make(t, 2, c, 20, 33), make(t, o, i, 3, 9)) for t in types[:2] + narrow for c, i, o in ((1, 1, 1), (3, 1, 3), (2, 2, 2), (4, 2, 4))]
        same(cli, tmp_path, f, (one, two), threads)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.float8_e5m2])
def test_numbers_that_are_moved_keep_their_bits(cli, tmp_path, dtype):
    """Every number of 16 (8) bits, NaNs with what they carry: nobody computes with it, so nobody rounds."""
    bits = jnp.uint8 if jnp.dtype(dtype).itemsize == 1 else jnp.uint16
    whole = jnp.arange(1 << jnp.dtype(bits).itemsize * 8, dtype=bits).reshape(4, -1)

    def f(x):
        y = lax.bitcast_convert_type(x, dtype)
        moved = [y[:, ::-1], jnp.concatenate([y, y[:2]], 0), jnp.roll(y, 3, 1), jnp.where(x % 3 == 0, y, y[::-1]), y.T, y[jnp.array([3, 0])]]
        return moved[:1] + [lax.bitcast_convert_type(m, bits) for m in moved]
    moved = [whole[:, ::-1], jnp.concatenate([whole, whole[:2]], 0), jnp.roll(whole, 3, 1), jnp.where(whole % 3 == 0, whole, whole[::-1]), whole.T, whole[jnp.array([3, 0])]]
    same(cli, tmp_path, lambda x: f(x)[1:], (whole,), 2, moved)
    same(cli, tmp_path, lambda x: lax.bitcast_convert_type(f(x)[0], bits), (whole,), 2, moved[:1])


def test_narrow_integers(cli, tmp_path):
    """Products and scattered extremes of one and two bytes; sums of bfloat16 that are one number."""
    R.seed(33)

    def f(xs, i):
        out = []
        for x in xs:
            if x.dtype != jnp.bool_:
                out += [x @ x[0], x[0] @ x[1], x[:30].reshape(6, 5, 33) @ x[:33, :30].reshape(6, 33, 5), (x.T @ x)[::2]]
            out += [x.ravel().at[i].max(x.ravel()[::-1]), x.ravel().at[i].min(x.ravel()[::-1]), jax.ops.segment_max(x.ravel(), i % 7, 7)]
        return out
    xs = [array(t, 33, 33) for t in (jnp.int8, jnp.uint8, jnp.int16, jnp.uint16)] + [array(jnp.int8, 33, 33) > 0]
    same(cli, tmp_path, f, (xs, jnp.asarray(R.randint(-5, 1200, 33 * 33))), 2)
    v = array(jnp.bfloat16, 5000)
    same(cli, tmp_path, lambda v: [jnp.dot(v, v), v.reshape(2, -1) @ v.reshape(-1, 2)], (v,), 2)


def test_divisions_of_whole_numbers(cli, tmp_path):
    """Every pair of bytes; of wider ones the edges, any bits, and quotients next to whole numbers. By constants, too, and by one that an
    equation makes of a literal."""
    def pairs_of(dtype):
        info = np.iinfo(dtype)
        if info.bits == 8:
            whole = np.arange(info.min, info.max + 1, dtype=dtype)
            return [a.ravel() for a in np.meshgrid(whole, whole)]
        edges = np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.max // 2, *((-1, -2, info.min, info.min + 1) if info.min else ())], dtype)
        x, y = (np.frombuffer(R.bytes(4000 * info.bits // 8), dtype).copy() for _ in range(2))
        y = y >> R.randint(0, info.bits, 4000).astype(dtype)
        near = (x // np.where(y == 0, 1, y) * y + R.randint(-1, 2, 4000).astype(dtype)).astype(dtype)
        parts = [[a.ravel() for a in np.meshgrid(edges, edges)], (x, y), (near, y)]
        return [np.concatenate(p) for p in zip(*parts)]

    def f(all_pairs):
        out = []
        for x, y in all_pairs:
            by = [7, 10, 1, 0, jnp.iinfo(x.dtype).max, jnp.iinfo(x.dtype).min, *((-1, -3) if jnp.iinfo(x.dtype).min else ())]
            out += [lax.div(x, y), lax.rem(x, y), x // 2 + y // 3, x % 5]
            out += [op(x, lax.full_like(x, b)) for b in by for op in (lax.div, lax.rem)]
        return out
    R.seed(30)
    types = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)
    with np.errstate(all="ignore"):
        all_pairs = [[jnp.asarray(a) for a in pairs_of(t)] for t in types]
    same(cli, tmp_path, f, (all_pairs,), 2)


def test_positions_of_booleans(cli, tmp_path):
    """jnp.select finds the first condition that holds so."""
    R.seed(31)
    x = array(jnp.float32, 5, 300, 7)

    def f(x):
        return [g(x > 1, axis) for axis in range(3) for g in (jnp.argmax, jnp.argmin)] + [jnp.select([x < -1, x < 0, x < 1], [x, x * 2, jnp.exp(x)], 0)]
    same(cli, tmp_path, f, (x,), 2)


def test_remainders_of_f32(cli, tmp_path):
    """Whole vectors, exact: quotients of all sizes, whole ones, numbers of any bits, zeros' signs."""
    edges = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, 5, -5, 2.0**29, 2.0**30, 0.1], np.float32)
    small = (R.standard_normal((2, 3000)) * 2.0 ** R.uniform(-3, 24, (2, 3000))).astype(np.float32)
    divisors = R.randint(1, 1000, 3000).astype(np.float32) * np.float32(0.1)
    pairs = [[a.ravel() for a in np.meshgrid(edges, edges)], R.randint(-2**31, 2**31, (2, 3003)).astype(np.int32).view(np.float32),
             small, [R.randint(1, 1 << 24, 3000).astype(np.float32) * divisors, divisors]]

    def f(pairs):
        return [lax.bitcast_convert_type(jnp.where(jnp.isnan(r), jnp.nan, r), jnp.int32) for r in (lax.rem(x, y) for x, y in pairs)]
    same(cli, tmp_path, f, ([[jnp.asarray(a) for a in p] for p in pairs],), 2)


def test_remainders_by_powers_of_two(cli, tmp_path):
    edges = [0.0, -0.0, 1, -1, 64, -64, 63.75, -128, np.inf, -np.inf, np.nan, 1e30, -3e38, 2.0**25 + 4]
    x = jnp.asarray(np.concatenate([edges, R.standard_normal(3000) * 10 ** R.uniform(-20, 20, 3000)]).astype(np.float32))

    def f(x):
        parts = [lax.rem(x, lax.full_like(x, by)) for by in (1, 2, 64, 2.0**60, 2.0**70, 0.5, 3)] + [x % 64, x.astype(jnp.bfloat16) % 8]
        return parts + [1 / p for p in parts]  # tells zeros apart
    same(cli, tmp_path, f, (x,), 2)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_of_a_few_columns(cli, tmp_path, threads):
    """Short rows are laid out without a loop over their columns; the last rows of a share are fewer than a vector holds."""
    R.seed(20)

    def f(*xs):
        parts = [(jax.nn.log_softmax(x), (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3), (x * x).sum(-1), x.max(-1) - x.min(-1)) for x in xs]
        return parts, [jax.grad(lambda x: (jax.nn.softmax(x) ** 2).sum())(x) for x in xs if x.dtype == jnp.float32]
    same(cli, tmp_path, f, [array(t, rows, cols) for cols in (2, 7, 9, 10, 13, 16, 19, 20, 21) for t, rows in ((jnp.float32, 1037), (jnp.bfloat16, 5), (jnp.float32, 9000))], threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_of_a_few_columns_beside_numbers_of_their_rows(cli, tmp_path, threads):
    """A row a vector where nothing is added up along it: also with parts that stand elsewhere, and with what no mask goes over."""
    R.seed(21)

    def f(*xs):
        out = []
        for x in xs:
            row, col = x[:, 0], x[0]
            y = x * row[:, None] + col
            out += [y, jnp.where(y > 0, x, y[:, ::-1]), jnp.pad(y[:, 1:], ((0, 0), (0, 1))), jnp.roll(y, 3, 1), jnp.concatenate([x[1:], x[:1]]) + row[:, None]]
            out.append(jnp.exp(-jnp.abs(x)) * row[:, None] + col if x.dtype == jnp.float32 else x % (row[:, None] ** 2 + 1) // 3)
            out += [(y * y).sum(1), y.max(1)]
        return out
    same(cli, tmp_path, f, [array(t, rows, cols) for cols in (4, 8, 12, 16, 17, 20) for t, rows in ((jnp.float32, 1037), (jnp.int32, 501), (jnp.float32, 8192))], threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_of_a_few_narrow_columns(cli, tmp_path, threads):
    """What is smaller than four bytes is read and written by words of them where a row is made of such: also out of order, from rows
    beside, and where neither a row nor the array is a whole number of words."""
    types = (jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint16, jnp.bool_, jnp.float8_e4m3fn)
    xs = [jnp.asarray(R.randint(-7, 8, (rows, cols))).astype(t) for cols in (1, 2, 3, 4, 6, 8, 12, 16, 20) for rows, t in zip((1037, 37, 1030, 501, 403, 33), types)]

    def f(*xs):
        out = []
        for x in xs:
            y = x.astype(jnp.float32)
            turned = jnp.where(y[:, ::-1] > 0, x, x[:, ::-1]), jnp.roll(x, 1, 1), jnp.concatenate([x[1:], x[:1]]), jnp.repeat(x, 2, 1)[:, 1::2]
            out += [(y * 2).astype(x.dtype), (y - y.mean(1, keepdims=True)).astype(x.dtype), y.sum(1).astype(x.dtype), (y == y.max(1, keepdims=True)), *turned]
        return out
    same(cli, tmp_path, f, xs, threads)


def passes_over(cli, tmp_path, fn, *args):
    """How many steps of the run read an array as large as the first argument."""
    path = str(tmp_path / "a.jaxscope")
    jaxscope.capture(fn, values="all")(*args).save(path)
    return sum(k["bytes"] >= args[0].nbytes for k in cli.json("run", path, "--profile")["profile"]["kernels"])


@pytest.mark.parametrize("fn, passes", [
    (lambda x: (x.sum(0), x.sum(1), x.max(0), x.min(1), (x * x).sum(), x.var(1)), 2),  # along columns, along rows
    (lambda x: (jnp.exp(x).sum(1), jnp.sin(x).max(1), x.mean(1)), 1),
    (lambda x: ((x * 2).sum(0), (x * x).sum(0), x.min(0)), 1),
    (lambda x: (x.min(), x.max(), x.sum(), (x * x).sum()), 1),
])
def test_reductions_of_one_array_share_a_pass(cli, tmp_path, fn, passes):
    x = array(jnp.float32, 640, 512)
    same(cli, tmp_path, fn, (x,), 2)
    assert passes_over(cli, tmp_path, fn, x) == passes


def test_what_others_wait_for_does_not_wait_for_a_shared_pass(cli, tmp_path):
    """A softmax in the middle of a chain and a sum at its end read one array: they stay two passes, as the first one's result is read in between."""
    def fn(x, w):
        y = jax.nn.softmax(x, axis=-1) @ w
        return jnp.sum(jnp.sin(x) * jnp.tanh(y @ w.T).sum(1, keepdims=True), axis=1), y
    args = array(jnp.float32, 300, 256), array(jnp.float32, 256, 256)
    same(cli, tmp_path, fn, args, 2)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float16], ids=lambda d: d.__name__)
def test_weights_of_transposed_convolutions(cli, tmp_path, dtype):
    """Their gradient dilates the left operand under a window as long as the result: groups, strides, dilation, padding that cuts off."""
    cases = [(1, 1, 64, 16, (5, 5), 4, 1), (1, 2, 30, 5, (4, 2), 3, 1), (2, 1, 12, 4, (2, 1), 2, 1), (2, 3, 9, 3, (1, 3), 2, 2), (3, 1, 5, 3, (1, 1), 2, 1), (1, 1, 20, 3, (-1, -2), 2, 1)]
    arguments, forward = [], []
    for d, groups, size, kernel, padding, stride, dilation in cases:
        spec = {1: ("NHC", "HIO", "NHC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NDHWC", "DHWIO", "NDHWC")}[d]
        x, w = array(dtype, 2, *[size] * d, 4 * groups), array(dtype, *[kernel] * d, 4, 6 * groups)
        forward.append(functools.partial(lax.conv_general_dilated, window_strides=(1,) * d, padding=(padding,) * d, lhs_dilation=(stride,) * d,
                                         rhs_dilation=(dilation,) * d, dimension_numbers=spec, feature_group_count=groups))
        arguments.append((x, w, array(dtype, *jax.eval_shape(forward[-1], x, w).shape)))

    def f(arguments):
        return [jax.vjp(conv, x, w)[1](ct) for conv, (x, w, ct) in zip(forward, arguments)]
    same(cli, tmp_path, f, (arguments,), 2)
