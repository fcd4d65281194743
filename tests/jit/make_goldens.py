"""Writes golden/NAME.jaxscope (captured with its arguments) and golden/NAME.expected.npz (what real JAX 0.10.2 computes).

  python tests/jit/make_goldens.py            needs jax==0.10.2; app/capture is taken from the source tree
"""
import os, sys
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'app', 'capture'))
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
import jaxscope

R = np.random.RandomState(0)
f32 = lambda *s: jnp.asarray(R.standard_normal(s).astype(np.float32))
i32 = lambda lo, hi, *s: jnp.asarray(R.randint(lo, hi, s).astype(np.int32))
ODD = jnp.asarray(np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38, -2.5, 0.5, 1.5, 2.5, 1e10, -1e10, 255.7], np.float32))
CASES = {}


def case(*args, donate=()):
    return lambda f: CASES.update({f.__name__: (f, args, donate)}) or f


INTS = jnp.asarray(np.array([0, 1, -1, 7, -7, 2**31 - 1, -2**31, 33], np.int32))


@case(INTS[:, None] * jnp.ones((1, 8), jnp.int32), INTS[None] * jnp.ones((8, 1), jnp.int32))
def integer_edges(x, y):
    u, v = lax.bitcast_convert_type(x, jnp.uint32), lax.bitcast_convert_type(y, jnp.uint32)
    return [lax.div(x, y), lax.rem(x, y), lax.div(u, v), lax.rem(u, v), lax.shift_left(x, y), lax.shift_right_logical(x, y),
            lax.shift_right_arithmetic(x, y), lax.population_count(x), lax.clz(x), lax.abs(x), lax.sign(x), lax.max(x, y), lax.min(u, v), ~x, x ^ y]


LONGS = np.array([0, 1, -1, 7, -7, 2**63 - 1, -2**63, 2**32 - 1, 2**32, -2**32 - 1, 6364136223846793005], np.int64)


# Arguments of every dtype: XLA's CPU compiler refuses a mulhi that is fused with the conversion of its operands.
@case(*[(LONGS[:, None] + 0 * LONGS).astype(d) for d in "bBhHiIlL"], *[(LONGS + 0 * LONGS[:, None]).astype(d) for d in "bBhHiIlL"])
def integer_high_halves(*args):
    return [lax.mulhi(x, y) for x, y in zip(args[:8], args[8:])]


X64 = {"integer_high_halves"}


@case(ODD[:, None] * jnp.ones((1, 16), jnp.float32), ODD[None] * jnp.ones((16, 1), jnp.float32))
def float_edges(x, y):
    return [lax.max(x, y), lax.min(x, y), x / y, lax.rem(x, y), x < y, x == y, lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
            lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), lax.floor(x), lax.sign(x), lax.is_finite(x), lax.clamp(-1.0, x, 2.0)] + [
            lax.convert_element_type(x, d) for d in (jnp.int8, jnp.int32, jnp.uint8, jnp.uint32, jnp.bool_, jnp.bfloat16, jnp.float16)]


WIDE = jnp.asarray(np.concatenate([np.linspace(-100, 100, 401), np.linspace(-1, 1, 201), [0., -0., 1e-20, 1e-6, -1e-6, 1e20, np.inf, -np.inf, np.nan]]).astype(np.float32))


@case(WIDE)
def unary_functions(x):
    p = jnp.abs(x) + np.float32(1e-3)
    u = jnp.clip(x, -1, 1)
    return [jnp.exp(x), jnp.expm1(x), jnp.tanh(x), lax.logistic(x), jnp.sin(x), jnp.cos(x), jnp.log(p), jnp.log1p(p), lax.rsqrt(p), jnp.sqrt(p), lax.erf(x), lax.erf_inv(u * np.float32(.999)),
            jnp.arctan(x), jnp.sinh(u), jnp.cosh(u), jnp.arcsin(u), jnp.cbrt(x), jnp.exp2(u), lax.integer_pow(x, 3), lax.erfc(u), jnp.log(x), jnp.log1p(u * np.float32(1e-3))]


@case(f32(6, 5, 40), f32(3, 1000).at[1, 7].set(np.nan))
def reductions(x, y):
    return [x.sum(), x.sum(0), x.sum(1), x.sum(2), x.sum((0, 2)), x.sum((0, 1)), x.max(0), x.min(2), x.prod(1), y.max(1), y.min(0), y.max(), jnp.argmax(y, 1), jnp.argmin(x, 0), jnp.argmax(x, 2),
            (x > 0).any(1), (x > 0).all((0, 2)), x.var(2), x.astype(jnp.bfloat16).sum(0), lax.reduce_or(x.astype(jnp.int32), (0,)), x.astype(jnp.int32).sum(2), x[:, :0].sum(1), x[:0].sum(0)]


@case(f32(100000), f32(40000, 3))
def long_reductions(x, y):
    return [(x * x).sum(), x.max(), y.sum(0), (y * y + 1).sum(), x.mean()]


@case(f32(8, 16, 32), f32(32), f32(32))
def softmax_layernorm(x, g, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    h = (x - m) * lax.rsqrt(v + 1e-5) * g + b
    return jax.nn.softmax(h, -1), jax.nn.log_softmax(h, 1), h


@case(f32(2, 16, 24), f32(24, 4), f32(4, 24), f32(24), f32(2, 16, 4))
def layernorm_gradient(x, w, w2, g, y):
    def loss(x, w, w2, g):
        m = x.mean(-1, keepdims=True)
        v = ((x - m) ** 2).mean(-1, keepdims=True)
        h = (x - m) * lax.rsqrt(v + 1e-5) * g
        return ((jnp.tanh(h @ w) @ w2 @ w - y) ** 2).mean()
    return jax.value_and_grad(loss, argnums=(0, 1, 2, 3))(x, w, w2, g)


@case(f32(2, 3, 8, 4), f32(2, 3, 8, 4), f32(5, 7), f32(7, 6))
def products(q, k, a, b):
    return [jnp.einsum('bhqd,bhkd->bhqk', q, k), jnp.einsum('bhqd,bhkd->bqhk', q, k), jnp.einsum('bqhd,bkhd->hbqk', q, k), a @ b, (a.T @ a).T, b.T @ a.T, jnp.einsum('ij,jk->k', a, b),
            jnp.outer(a[0], b[0]), a[0] @ b, a @ b[:, 0], jnp.vdot(a, a), a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16), a.astype(jnp.int32) @ b.astype(jnp.int32),
            (a + 1j * a) @ (b - 2j * b), jnp.einsum('abcd,abce->de', q, k), a[:, :0] @ b[:0], a[:0] @ b]


@case(f32(10, 6), jnp.asarray([0, 9, 10, -1, -11, 100, 3], jnp.int32), f32(7, 6))
def gather_scatter(x, i, u):
    out = []
    for mode in ('clip', 'fill', 'promise_in_bounds'):
        j = i if mode != 'promise_in_bounds' else jnp.abs(i) % 10
        out += [x.at[j].get(mode=mode), x.at[j, 2:4].get(mode=mode)]
    for mode in ('clip', 'drop'):
        out += [x.at[i].add(u, mode=mode), x.at[i].max(u, mode=mode), x.at[i, :3].mul(u[:, :3], mode=mode), x.at[i[2:4]].set(u[2:4], mode=mode)]
    out += [jnp.take_along_axis(x, (jnp.arange(60).reshape(10, 6) % 10).astype(jnp.int32), 0), x.astype(jnp.bfloat16).at[i].add(u.astype(jnp.bfloat16), mode='drop')]
    return out


@case(f32(6, 7), f32(2, 3), jnp.int32(5), jnp.int32(-3))
def windows(x, u, a, b):
    return [lax.dynamic_slice(x, (a, b), (2, 3)), lax.dynamic_update_slice(x, u, (a, b)), lax.dynamic_slice(x, (b, a), (6, 2)), lax.slice(x, (1, 0), (6, 7), (2, 3)), lax.rev(x, (1,)),
            lax.pad(x, np.float32(9), ((1, -2, 1), (-1, 2, 0))), jnp.concatenate([x[:, 1:3], x, x[:, :0], -x], 1), jnp.concatenate([x, x[:2]], 0), x.T, x.reshape(3, 14).T.reshape(7, 6), jnp.tile(x, (2, 1)),
            jnp.triu(x), jnp.roll(x, 2, 1), jnp.where(x > 0, x, 0)]


@case(jnp.asarray(np.array([3, np.nan, -0.0, 0.0, 1, -np.inf, 3, np.inf, -2], np.float32)), i32(0, 4, 9), i32(-9, 9, 5, 9))
def sorting(x, k, y):
    return [jnp.sort(x), jnp.argsort(x), lax.sort((k, x), num_keys=1), lax.sort((k, x), num_keys=2), jnp.sort(y, 0), jnp.sort(y, 1), jnp.cumsum(y, 1), jnp.cumsum(y, 0), lax.cumsum(y, 1, reverse=True),
            lax.cummax(y, 0), lax.cumprod(y.astype(jnp.float32), 1), lax.cumlogsumexp(y.astype(jnp.float32), 1), lax.top_k(y, 3)]


@case(f32(8, 8), f32(5, 8), f32(8))
def loops(w, xs, h):
    def cell(c, x):
        c, big = c
        c = jnp.tanh(c @ w + x)
        return (c, big.at[0].add(c.sum())), (c, x * 2)
    (c, big), ys = lax.scan(cell, (h, jnp.zeros(4)), xs)
    back = lax.scan(lambda c, x: (c + x, c), h, xs, reverse=True)
    g = jax.grad(lambda w: (lax.scan(lambda c, x: ((jnp.tanh(c @ w + x),) * 2), h, xs)[1] ** 2).sum())(w)
    n = lax.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 1, s[1] * 0.5, s[2]), (0, h, xs))
    none = lax.scan(lambda c, x: (c + 1, c), h, xs[:0])
    swap = lax.fori_loop(0, 5, lambda i, s: (s[1], s[0] + 1), (h, h * 2))
    f = lambda i: lax.switch(i, [lambda x: x + 1, lambda x: x * 2, lambda x: -x], h)
    return c, big, ys, back, g, n, none, swap, f(jnp.int32(-5)), f(jnp.int32(1)), f(jnp.int32(99)), lax.cond(h[0] > 0, jnp.sin, jnp.cos, h)


@case(f32(16, 16), f32(4, 16))
def remat(w, x):
    def loss(policy):
        blk = jax.checkpoint(lambda w, x: jnp.sin(jnp.tanh(x @ w) @ w), policy=policy)
        return lambda w, x: (blk(w, blk(w, x)) ** 2).sum()
    return [jax.value_and_grad(loss(p))(w, x) for p in (None, jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.everything_saveable)]


@case(jax.random.key(7), jnp.asarray([1, 2, 3], jnp.uint32))
def random(key, data):
    a, b = jax.random.split(key)
    return [jax.random.bits(a, (5,), d) for d in (jnp.uint8, jnp.uint16, jnp.uint32)] + [
        jax.random.normal(b, (3, 4)), jax.random.uniform(b, (7,)), jax.random.key_data(jax.random.fold_in(key, 9)), jax.random.key_data(jax.vmap(jax.random.fold_in, (None, 0))(key, data)),
        jax.random.key_data(jax.random.split(key, (2, 3))), jax.random.permutation(a, 10), jax.random.randint(b, (5,), 0, 100), jax.random.key_data(jax.random.key(3))]


@case(f32(2, 9, 8, 4), f32(3, 3, 4, 6), f32(3, 3, 2, 6), f32(5, 2, 4))
def convolutions(x, w, wg, wb):
    dn = ('NHWC', 'HWIO', 'NHWC')
    c = lambda x, w, s=(1, 1), p='SAME', **k: lax.conv_general_dilated(x, w, s, p, dimension_numbers=dn, **k)
    return [c(x, w), c(x, w, (2, 2), 'VALID'), c(x, wg, feature_group_count=2), c(x, w, rhs_dilation=(2, 1)), c(x, w, p=((2, -1), (0, 3)), lhs_dilation=(2, 1)),
            c(x, w[..., :6], batch_group_count=2), lax.conv_general_dilated(x[:, :, 0], wb, (1,), 'SAME', dimension_numbers=('NWC', 'WOI', 'NWC')),
            jax.grad(lambda w: (c(x, w, (2, 1)) ** 2).sum())(w), jax.grad(lambda x: (c(x, w, (2, 1)) ** 2).sum())(x)]


@case((f32(5, 3) + 1j * f32(5, 3)).astype(jnp.complex64), (f32(5, 3) - 2j * f32(5, 3)).astype(jnp.complex64))
def complex_numbers(x, y):
    return [x + y, x * y, x / y, -x, jnp.abs(x), jnp.exp(x), jnp.log(x), jnp.sqrt(x), jnp.conj(x), x.real, x.imag, x.sum(0), x.prod(1), x == y, jnp.sin(x), jnp.tanh(x), lax.complex(x.real, y.imag), x.T]


@case(f32(6, 9))
def narrow_floats(x):
    b, h = x.astype(jnp.bfloat16), x.astype(jnp.float16)
    e = [x.astype(d).astype(jnp.float32) for d in (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e4m3b11fnuz)]
    return [b * b + b, jnp.exp(b), b.sum(1), b.max(0), h / (h + 3), jnp.tanh(h), h.sum(), jax.nn.softmax(b), x.astype(jnp.int4).astype(jnp.int32), (x.astype(jnp.int4) + x.astype(jnp.int4)).astype(jnp.int32)] + e


@case(jnp.zeros((0, 4)), jnp.zeros((3, 0)), f32(4, 5))
def zero_sized(a, b, w):
    return [a + 1, a @ w, b.sum(1), b.sum(0), jnp.concatenate([a, w.T[:2]]), a.max(1), b @ a, jnp.sort(a, 1), a.reshape(2, 0), jax.grad(lambda w: (a @ w).sum())(w)]


@case(f32(64), f32(64), f32(8, 8), donate=(0, 1, 2))
def donated(x, y, z):
    return y * 2, x * 3, z + 1, z.sum()


def main():
    for name, (f, args, donate) in CASES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        jax.config.update("jax_enable_x64", name in X64)
        out = jax.tree.leaves(jax.jit(f)(*args))
        wide = lambda x: np.asarray(x).astype(np.float32) if x.dtype in (jnp.bfloat16, jnp.float16) else np.asarray(x)
        base = os.path.join(HERE, 'golden', name)
        np.savez_compressed(base + '.expected.npz', **{f'out{i}': wide(x) for i, x in enumerate(out)})
        jaxscope.capture(jax.jit(f, donate_argnums=donate))(*args).save(base + '.jaxscope')
        print(name, len(out))


if __name__ == '__main__':
    main()
