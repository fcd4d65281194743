"""More loops of little work, written when those of programs_loops.py had become one function, and before anything was changed for these. Each builder
returns (fn, args, donate_argnums)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

_R = np.random.RandomState


def automaton():
    """A state for each byte."""
    T = jnp.asarray(_R(0).randint(0, 16, (16, 256)).astype(np.uint8))
    return (lambda b: lax.scan(lambda s, c: (T[s, c], s), jnp.uint8(0), b), (jnp.asarray(_R(1).randint(0, 256, 20000).astype(np.uint8)),), ())


def crc32():
    """Eight steps for each byte."""

    def byte(c, b):
        c = c ^ b.astype(jnp.uint32)
        c = lax.fori_loop(0, 8, lambda _, c: jnp.where(c & 1, c >> 1 ^ jnp.uint32(3988292384), c >> 1), c)
        return (c, None)

    return (lambda b: lax.scan(byte, jnp.uint32(4294967295), b)[0], (jnp.asarray(_R(1).randint(0, 256, 20000).astype(np.uint8)),), ())


def thomas():
    """A tridiagonal system, forth and back."""

    def f(a, b, c, d):

        def fw(s, x):
            cp, dp = s
            a, b, c, d = x
            m = 1 / (b - a * cp)
            s = (c * m, (d - a * dp) * m)
            return (s, s)

        _, (cp, dp) = lax.scan(fw, (0.0, 0.0), (a, b, c, d))
        return lax.scan(lambda x, s: (s[1] - s[0] * x,) * 2, 0.0, (cp, dp), reverse=True)[1]

    r = _R(2)
    n = 20000
    return (f, tuple((jnp.asarray(x.astype(np.float32)) for x in (r.rand(n) * 0.1, 2 + r.rand(n), r.rand(n) * 0.1, r.randn(n)))), ())


def floyd():
    """Shortest paths in 60 graphs of 32 nodes."""

    def f(d):
        return lax.fori_loop(0, 32, lambda k, d: jnp.minimum(d, d[:, k, None] + d[k]), d)

    return (lambda D: lax.map(f, D), (jnp.asarray(_R(3).rand(60, 32, 32).astype(np.float32)),), ())


def life():
    """Cells that are born and die."""

    def step(_, g):
        n = sum((jnp.roll(g, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j))
        return ((n == 3) | (g == 1) & (n == 2)).astype(jnp.int8)

    return (lambda g: lax.fori_loop(0, 200, step, g), (jnp.asarray(_R(4).randint(0, 2, (32, 32)).astype(np.int8)),), ())


def insertion_sort():
    """A while loop that writes, in a loop."""

    def f(x):

        def outer(i, x):
            v = x[i]

            def cond(s):
                j, x = s
                return (j > 0) & (x[j - 1] > v)

            def body(s):
                j, x = s
                return (j - 1, x.at[j].set(x[j - 1]))

            j, x = lax.while_loop(cond, body, (i, x))
            return x.at[j].set(v)

        return lax.fori_loop(1, x.shape[0], outer, x)

    return (f, (jnp.asarray(_R(5).randn(300).astype(np.float32)),), ())


def garch():
    """A likelihood and its gradient."""

    def nll(p, r):
        w, a, b = p

        def step(h, x):
            h = w + a * x * x + b * h
            return (h, jnp.log(h) + x * x / h)

        return lax.scan(step, jnp.var(r), r)[1].sum()

    return (jax.value_and_grad(nll), (jnp.array([0.1, 0.1, 0.8]), jnp.asarray(_R(6).randn(5000).astype(np.float32))), ())


def em_sde():
    """Steps with noise."""

    def f(k, x):

        def step(x, k):
            x = x + 0.01 * (x - x**3) + 0.1 * random.normal(k, x.shape)
            return (x, x)

        return lax.scan(step, x, random.split(k, 2000))[1]

    return (f, (random.PRNGKey(0), jnp.zeros(4)), ())


def pid():
    """A controller."""

    def step(s, ref):
        x, v, i, e0 = s
        e = ref - x
        i = jnp.clip(i + e * 0.01, -1, 1)
        u = jnp.clip(8 * e + 2 * i + 0.5 * (e - e0) / 0.01, -5, 5)
        v = v + 0.01 * (u - 0.5 * v - x)
        x = x + 0.01 * v
        return ((x, v, i, e), (x, u))

    return (lambda r: lax.scan(step, (0.0, 0.0, 0.0, 0.0), r)[1], (jnp.asarray(_R(7).randn(10000).astype(np.float32)),), ())


def biquad():
    """Eight filters at once."""

    def step(s, x):
        y = 0.2 * x + s[0]
        return ((0.4 * x - -0.5 * y + s[1], 0.2 * x - 0.3 * y), y)

    return (lambda x: lax.scan(step, (jnp.zeros(8), jnp.zeros(8)), x)[1], (jnp.asarray(_R(8).randn(10000, 8).astype(np.float32)),), ())


def gamma_reject():
    """A while loop until a sample is taken, 500 times."""

    def one(k):
        d = 2.5 - 1 / 3
        c = 1 / jnp.sqrt(9 * d)

        def cond(s):
            return ~s[1]

        def body(s):
            k, _, _ = s
            k, a, b = random.split(k, 3)
            x = random.normal(a)
            v = (1 + c * x) ** 3
            ok = (v > 0) & (jnp.log(random.uniform(b)) < 0.5 * x * x + d - d * v + d * jnp.log(jnp.maximum(v, 1e-06)))
            return (k, ok, d * v)

        return lax.while_loop(cond, body, (k, False, 0.0))[2]

    return (lambda k: lax.map(one, random.split(k, 500)), (random.PRNGKey(5),), ())


def tiny_rnn_grad():
    """The gradient of a network of eight cells."""

    def loss(p, xs):

        def step(h, x):
            h = jnp.tanh(p[0] @ h + p[1] @ x)
            return (h, h)

        return jnp.square(lax.scan(step, jnp.zeros(8), xs)[1]).sum()

    r = _R(9)
    return (
        jax.grad(loss),
        (
            (jnp.asarray(r.randn(8, 8).astype(np.float32) * 0.3), jnp.asarray(r.randn(8, 3).astype(np.float32))),
            jnp.asarray(r.randn(2000, 3).astype(np.float32)),
        ),
        (),
    )


def mandel():
    """Complex numbers in a while loop."""

    def one(c):

        def cond(s):
            return (s[1] < 200) & (jnp.abs(s[0]) < 2)

        return lax.while_loop(cond, lambda s: (s[0] * s[0] + c, s[1] + 1), (0j * c, 0))[1]

    z = jnp.linspace(-2, 1, 40)[:, None] + 1j * jnp.linspace(-1, 1, 40)
    return (lambda z: lax.map(one, z.ravel()), (z.astype(jnp.complex64),), ())


def switched():
    """One of four branches each turn, chosen by an index that may lie outside."""
    fs = [lambda x: x * 0.5, lambda x: x + 1, lambda x: -x, lambda x: jnp.sqrt(jnp.abs(x))]
    return (
        lambda i, x: lax.scan(lambda x, i: (lax.switch(i, fs, x), x), x, i),
        (jnp.asarray(_R(10).randint(-1, 5, 20000).astype(np.int32)), jnp.float32(3)),
        (),
    )


def queue_sim():
    """Four servers."""

    def step(s, x):
        t_free, n = s
        arr, svc = x
        start = jnp.maximum(arr, t_free.min())
        k = t_free.argmin()
        t_free = t_free.at[k].set(start + svc)
        return ((t_free, n + 1), start - arr)

    r = _R(11)
    return (
        lambda a, s: lax.scan(step, (jnp.zeros(4), 0), (a, s)),
        (jnp.asarray(np.cumsum(r.exponential(1, 10000)).astype(np.float32)), jnp.asarray(r.exponential(3, 10000).astype(np.float32))),
        (),
    )


def quaternion():
    """A rotation that is turned on."""

    def mul(a, b):
        return jnp.array(
            [
                a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
            ]
        )

    def step(q, w):
        q = q + 0.005 * mul(q, jnp.concatenate([jnp.zeros(1), w]))
        q = q / jnp.linalg.norm(q)
        return (q, q)

    return (lambda w: lax.scan(step, jnp.array([1.0, 0, 0, 0]), w)[1], (jnp.asarray(_R(12).randn(10000, 3).astype(np.float32)),), ())


def bf16_ema():
    """A mean of bfloat16."""
    return (
        lambda x: lax.scan(lambda m, x: ((m * 0.9 + x * 0.1).astype(jnp.bfloat16), m), jnp.zeros(16, jnp.bfloat16), x)[1],
        (jnp.asarray(_R(13).randn(5000, 16)).astype(jnp.bfloat16),),
        (),
    )


def knapsack():
    """A row of sums over the row before."""

    def f(w, v):

        def item(d, x):
            w, v = x
            i = jnp.arange(513)
            s = jnp.where(i >= w, d[jnp.maximum(i - w, 0)] + v, -1)
            return (jnp.maximum(d, s), None)

        return lax.scan(item, jnp.zeros(513, jnp.int32), (w, v))[0][-1]

    r = _R(14)
    return (f, (jnp.asarray(r.randint(1, 60, 400).astype(np.int32)), jnp.asarray(r.randint(1, 99, 400).astype(np.int32))), ())


def gcds():
    """Euclid's algorithm, 5,000 times."""
    one = lambda p: lax.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (p[0], p[1]))[0]
    return (lambda p: lax.map(one, p), (jnp.asarray(_R(15).randint(1, 10**6, (5000, 2)).astype(np.int32)),), ())


def softmax_bandit():
    """Arms that are drawn by their means."""

    def step(c, k):
        q, n = c
        a = random.categorical(k, q * 2)
        r = jnp.sin(a * 1.7)
        n = n.at[a].add(1)
        q = q.at[a].add((r - q[a]) / n[a])
        return ((q, n), r)

    return (lambda k: lax.scan(step, (jnp.zeros(10), jnp.zeros(10)), random.split(k, 3000)), (random.PRNGKey(0),), ())


def adam_rosen():
    """5,000 steps of Adam."""

    def f(x):
        loss = lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

        def step(i, s):
            x, m, v = s
            g = jax.grad(loss)(x)
            m = 0.9 * m + 0.1 * g
            v = 0.999 * v + 0.001 * g * g
            t = i + 1
            return (x - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-08), m, v)

        return lax.fori_loop(0, 5000, step, (x, jnp.zeros_like(x), jnp.zeros_like(x)))[0]

    return (f, (jnp.full(6, -1.0),), ())


PROGRAMS = {f.__name__: f for f in (
    automaton, crc32, thomas, floyd, life, insertion_sort, garch, em_sde, pid, biquad, gamma_reject, tiny_rnn_grad, mandel, switched,
    queue_sim, quaternion, bf16_ema, knapsack, gcds, softmax_bandit, adam_rosen)}
