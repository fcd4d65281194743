"""Loops of little work: what a turn costs beside its arithmetic is what is measured. Written before such loops became one function. Each builder
returns (fn, args, donate_argnums)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.experimental.ode import odeint as integrate
from jax.scipy.optimize import minimize

_R = np.random.RandomState


def hmc():
    """Hamiltonian Monte Carlo of ten numbers: a loop of leapfrog steps in each of 2,000."""
    A = jnp.asarray(_R(0).randn(10, 10).astype(np.float32)) * 0.1
    P = A @ A.T + jnp.eye(10)
    logp = lambda q: -0.5 * q @ P @ q
    g = jax.grad(logp)

    def step(c, key):
        q, lp = c
        k1, k2 = random.split(key)
        p = random.normal(k1, q.shape)

        def leap(i, s):
            q, p = s
            p = p + 0.05 * g(q)
            q = q + 0.1 * p
            p = p + 0.05 * g(q)
            return (q, p)

        q2, p2 = lax.fori_loop(0, 10, leap, (q, p))
        lp2 = logp(q2)
        acc = jnp.log(random.uniform(k2)) < lp2 - lp - 0.5 * (p2 @ p2 - p @ p)
        q = jnp.where(acc, q2, q)
        lp = jnp.where(acc, lp2, lp)
        return ((q, lp), q)

    def f(key, q):
        return lax.scan(step, (q, logp(q)), random.split(key, 2000))[1]

    return (f, (random.PRNGKey(0), jnp.zeros(10)), ())


def _lorenz(h):
    """A step of Runge and Kutta's through Lorenz's attractor."""

    def rate(s):
        x, y, z = s
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(s, _):
        k1 = rate(s)
        k2 = rate(s + h / 2 * k1)
        k3 = rate(s + h / 2 * k2)
        k4 = rate(s + h * k3)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return step


def lorenz_rk4():
    """Runge and Kutta's steps of three numbers."""
    return lambda s: lax.scan(_lorenz(0.0002), s, None, length=20000)[1], (jnp.array([1.0, 1.0, 1.0]),), ()


def lorenz_grad():
    """The gradient through 2,000 of them."""
    return jax.grad(lambda s: lax.scan(_lorenz(0.001), s, None, length=2000)[1].sum()), (jnp.array([1.0, 1.0, 1.0]),), ()


def kalman():
    """A filter of four numbers, with solves."""
    n = 4
    F = jnp.eye(n) + 0.1 * jnp.eye(n, k=2)
    H = jnp.eye(2, n)
    Q = 0.01 * jnp.eye(n)
    R = 0.1 * jnp.eye(2)

    def step(c, z):
        x, P = c
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = jnp.linalg.solve(S, H @ P).T
        y = z - H @ x
        x = x + K @ y
        P = (jnp.eye(n) - K @ H) @ P
        return ((x, P), (x, -0.5 * (y @ jnp.linalg.solve(S, y) + jnp.linalg.slogdet(S)[1])))

    return (lambda z: lax.scan(step, (jnp.zeros(n), jnp.eye(n)), z), (jnp.asarray(_R(1).randn(2000, 2).astype(np.float32)),), ())


def lstm_small():
    """The gradient of an LSTM of 32 cells."""
    r = _R(2)
    W = jnp.asarray(r.randn(48, 128).astype(np.float32) * 0.1)

    def loss(W, x):

        def cell(c, x):
            h, s = c
            z = jnp.concatenate([x, h], -1) @ W
            i, f, g, o = jnp.split(z, 4, -1)
            s = jax.nn.sigmoid(f) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(s)
            return ((h, s), h)

        return (lax.scan(cell, (jnp.zeros((8, 32)), jnp.zeros((8, 32))), x)[1] ** 2).sum()

    return (jax.value_and_grad(loss), (W, jnp.asarray(r.randn(500, 8, 16).astype(np.float32))), ())


def dopri():
    """Steps that choose their length, by hand."""

    def rhs(t, y):
        return jnp.stack([y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]])

    def f(y0):

        def cond(s):
            return s[0] < 100.0

        def body(s):
            t, y, h = s
            k1 = rhs(t, y)
            k2 = rhs(t + h / 5, y + h * k1 / 5)
            k3 = rhs(t, y + h * (3 / 40 * k1 + 9 / 40 * k2))
            k4 = rhs(t, y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3))
            k5 = rhs(t, y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4))
            k6 = rhs(t, y + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5))
            y5 = y + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
            k7 = rhs(t, y5)
            e = h * (71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5 + 22 / 525 * k6 - 1 / 40 * k7)
            err = jnp.sqrt(jnp.mean((e / (1e-05 + 1e-05 * jnp.abs(y5))) ** 2))
            ok = err < 1
            t = jnp.where(ok, t + h, t)
            y = jnp.where(ok, y5, y)
            h = h * jnp.clip(0.9 * err ** (-0.2), 0.2, 5.0)
            return (t, y, h)

        return lax.while_loop(cond, body, (jnp.float32(0), y0, jnp.float32(0.01)))

    return (f, (jnp.array([2.0, 0.0]),), ())


def odeint():
    """The same, by jax.experimental.ode."""
    return (
        lambda y: integrate(lambda y, t: jnp.stack([y[1], -jnp.sin(y[0]) - 0.1 * y[1]]), y, jnp.linspace(0.0, 50.0, 500)),
        (jnp.array([1.0, 0.0]),),
        (),
    )


def qlearn():
    """A table of values learned by walking over a board."""

    def step(c, key):
        Q, s = c
        k1, k2, k3 = random.split(key, 3)
        a = jnp.where(random.uniform(k1) < 0.1, random.randint(k2, (), 0, 4), jnp.argmax(Q[s]))
        dx = jnp.array([1, -1, 0, 0])[a]
        dy = jnp.array([0, 0, 1, -1])[a]
        x = jnp.clip(s // 8 + dx, 0, 7)
        y = jnp.clip(s % 8 + dy, 0, 7)
        s2 = x * 8 + y
        r = jnp.where(s2 == 63, 1.0, 0.0)
        Q = Q.at[s, a].add(0.1 * (r + 0.9 * Q[s2].max() - Q[s, a]))
        s2 = jnp.where(s2 == 63, 0, s2)
        return ((Q, s2), r)

    return (lambda k: lax.scan(step, (jnp.zeros((64, 4)), jnp.int32(0)), random.split(k, 5000)), (random.PRNGKey(1),), ())


def viterbi():
    """The likeliest path, and the way back."""

    def step(d, e):
        s = d[:, None] + T
        return (s.max(0) + e, s.argmax(0))

    T = jnp.asarray(_R(3).randn(16, 16).astype(np.float32))

    def f(E):
        d, bp = lax.scan(step, E[0], E[1:])
        _, path = lax.scan(lambda s, b: (b[s], b[s]), d.argmax(), bp, reverse=True)
        return (path, d.max())

    return (f, (jnp.asarray(_R(4).randn(5000, 16).astype(np.float32)),), ())


def sgd_linear():
    """A step of stochastic gradient for each of 5,000 samples."""
    r = _R(5)
    X = jnp.asarray(r.randn(5000, 20).astype(np.float32))
    y = jnp.asarray(r.randn(5000).astype(np.float32))

    def step(w, b):
        x, t = b
        g = jax.grad(lambda w: jnp.square(x @ w - t) + 0.01 * w @ w)(w)
        return (w - 0.01 * g, None)

    return (lambda w: lax.scan(step, w, (X, y))[0], (jnp.zeros(20),), ())


def gs_sweep():
    """Gauss and Seidel: each number written over in turn."""

    def f(x):

        def outer(k, x):

            def inner(i, x):
                return x.at[i].set(0.5 * (x[i - 1] + x[(i + 1) % 256]) + 0.01)

            return lax.fori_loop(1, 255, inner, x)

        return lax.fori_loop(0, 50, outer, x)

    return (f, (jnp.zeros(256),), ())


def collatz():
    """A while loop for each of 2,000 numbers."""

    def one(n):
        return lax.while_loop(lambda s: s[0] > 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0))[1]

    return (lambda n: lax.map(one, n), (jnp.arange(1, 2001),), ())


def mh_vmap():
    """64 Metropolis chains of two numbers."""

    def step(x, k):
        k1, k2 = random.split(k)
        p = x + 0.5 * random.normal(k1, x.shape)
        a = jnp.log(random.uniform(k2, x.shape[:1])) < (-(p**2).sum(-1) + (x**2).sum(-1)) / 2
        x = jnp.where(a[:, None], p, x)
        return (x, x.mean(0))

    return (lambda k, x: lax.scan(step, x, random.split(k, 1000)), (random.PRNGKey(0), jnp.zeros((64, 2))), ())


def levinson():
    """Levinson's recursion for 32 right sides."""

    def f(r, b):

        def body(k, s):
            a, x, e = s
            idx = jnp.arange(64)
            m = idx <= k
            acc = jnp.sum(jnp.where(m, a * jnp.roll(r[::-1], k + 1), 0.0))
            lam = -acc / e
            a = a + lam * jnp.where(m, jnp.roll(a[::-1], k + 1), 0.0)
            return (a, x + a * b[k], e * (1 - lam**2))

        return lax.fori_loop(0, 63, body, (jnp.zeros(64).at[0].set(1.0), jnp.zeros(64), r[0] + 1.0))

    return (jax.vmap(f, in_axes=(0, None)), (jnp.ones((32, 64)) * 0.1, jnp.ones(64)), ())


def gru_gen():
    """Letters sampled from a GRU, one after the other."""
    r = _R(6)
    E = jnp.asarray(r.randn(64, 32).astype(np.float32)) * 0.3
    W = jnp.asarray(r.randn(64, 96).astype(np.float32)) * 0.2
    O = jnp.asarray(r.randn(32, 64).astype(np.float32))

    def step(c, k):
        h, t = c
        x = E[t]
        z = jnp.concatenate([x, h]) @ W
        u = jax.nn.sigmoid(z[:32])
        rr = jax.nn.sigmoid(z[32:64])
        n = jnp.tanh(z[64:] * rr)
        h = (1 - u) * h + u * n
        t = random.categorical(k, h @ O)
        return ((h, t), t)

    return (lambda k: lax.scan(step, (jnp.zeros(32), jnp.int32(1)), random.split(k, 1000))[1], (random.PRNGKey(3),), ())


def cartpole():
    """A pole balanced by a network of 16 cells."""
    r = _R(7)
    W = jnp.asarray(r.randn(4, 16).astype(np.float32))
    V = jnp.asarray(r.randn(16).astype(np.float32))

    def step(s, _):
        x, xd, th, thd = s
        a = jnp.where(jnp.tanh(jnp.stack([x, xd, th, thd]) @ W) @ V > 0, 10.0, -10.0)
        c = jnp.cos(th)
        sn = jnp.sin(th)
        t = (a + 0.05 * thd**2 * sn) / 1.1
        tha = (9.8 * sn - c * t) / (0.5 * (4 / 3 - 0.1 * c**2 / 1.1))
        xa = t - 0.05 * tha * c / 1.1
        s = (x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha)
        done = (jnp.abs(s[0]) > 2.4) | (jnp.abs(s[2]) > 0.2)
        s = jax.tree.map(lambda v, z: jnp.where(done, z, v), s, (0.0, 0.0, 0.01, 0.0))
        return (s, 1.0 - done)

    return (lambda s: lax.scan(step, s, None, length=5000)[1].sum(), ((jnp.float32(0), jnp.float32(0), jnp.float32(0.01), jnp.float32(0)),), ())


def bisect():
    """Bisection of 4,096 roots at once."""

    def f(c):

        def body(_, s):
            lo, hi = s
            m = (lo + hi) / 2
            v = m**3 + m - c
            return (jnp.where(v > 0, lo, m), jnp.where(v > 0, m, hi))

        return lax.fori_loop(0, 60, body, (jnp.full_like(c, -10), jnp.full_like(c, 10)))[0]

    return (f, (jnp.linspace(-5, 5, 4096),), ())


def nelder_bfgs():
    """BFGS of eight numbers."""
    ros = lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    return (lambda x: minimize(ros, x, method="BFGS").x, (jnp.zeros(8),), ())


def cg_small():
    """Conjugate gradients for 40 right sides, one after the other."""
    A = jnp.asarray(_R(8).randn(64, 64).astype(np.float32))
    A = A @ A.T + 64 * jnp.eye(64)
    return (lambda b: lax.map(lambda v: jax.scipy.sparse.linalg.cg(lambda u: A @ u, v, maxiter=30, tol=0.0)[0], b), (jnp.ones((40, 64)),), ())


def edit_distance():
    """Two loops round three numbers."""

    def f(a, b):

        def row(prev, ca):

            def cell(c, x):
                left, diag = c
                up, cb = x
                v = jnp.minimum(jnp.minimum(left, up) + 1, diag + (ca != cb))
                return ((v, up), v)

            first = prev[0] + 1
            _, r = lax.scan(cell, (first, prev[0]), (prev[1:], b))
            return (jnp.concatenate([first[None], r]), None)

        return lax.scan(row, jnp.arange(b.shape[0] + 1), a)[0][-1]

    r = _R(9)
    return (f, (jnp.asarray(r.randint(0, 4, 200)), jnp.asarray(r.randint(0, 4, 200))), ())


PROGRAMS = {f.__name__: f for f in (
    hmc, lorenz_rk4, lorenz_grad, kalman, lstm_small, dopri, odeint, qlearn, viterbi, sgd_linear, gs_sweep, collatz, mh_vmap, levinson,
    gru_gen, cartpole, bisect, nelder_bfgs, cg_small, edit_distance)}
