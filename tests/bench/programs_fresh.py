"""Thirty programs more, written by someone who had not seen the kernels and sized in JAX alone, as JAX's users write them: here physics, numerical
methods, statistics and finance, in programs_fresh_models.py and programs_fresh_layers.py the others. Each builder returns (fn, args, donate_argnums); XLA takes 2 to 200 ms."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_R = np.random.RandomState


def _n(r, *s, scale=1.0, dtype=jnp.float32):
    return jnp.asarray((r.standard_normal(s) * scale).astype(np.float32)).astype(dtype)


# ---------------------------------------------------------------- physics
def lattice_boltzmann():
    """Flow past a cylinder on a D2Q9 lattice: streaming, bounce-back, relaxation; 40 steps."""
    cx, cy = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = jnp.asarray(np.array([16, 4, 4, 4, 4, 1, 1, 1, 1], np.float32) / 36)[:, None, None]
    opposite = jnp.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    y, x = np.mgrid[:96, :240]
    solid = jnp.asarray((y - 50) ** 2 + (x - 60) ** 2 < 121)

    def equilibrium(rho, u, v):
        along = 3 * (cx[:, None, None] * u + cy[:, None, None] * v)
        return weights * rho * (1 + along + 0.5 * along ** 2 - 1.5 * (u ** 2 + v ** 2))

    def f(g, solid):
        inflow = equilibrium(jnp.ones((96, 1)), jnp.full((96, 1), 0.08), jnp.zeros((96, 1)))[..., 0]

        def step(g, _):
            g = jnp.stack([jnp.roll(g[i], (cy[i], cx[i]), (0, 1)) for i in range(9)])
            rho = g.sum(0)
            u, v = jnp.einsum("qyx,qd->dyx", g, jnp.asarray(np.stack([cx, cy], 1), jnp.float32)) / rho
            g = jnp.where(solid, g[opposite], g + (equilibrium(rho, u, v) - g) / 0.56)
            drag = jnp.where(solid, u * rho, 0).sum()
            return g.at[:, :, 0].set(inflow).at[jnp.array([3, 6, 7]), :, -1].set(g[jnp.array([3, 6, 7]), :, -2]), drag
        return lax.scan(step, g, None, length=40)
    r = _R(400)
    start = equilibrium(1 + 0.01 * _n(r, 96, 240), 0.08 + 0.01 * _n(r, 96, 240), 0.01 * _n(r, 96, 240))
    return f, (start, solid), ()


def particle_in_cell():
    """Two streams of plasma: charges spread over a grid, Poisson's equation by FFT, the field read back, a leapfrog; five steps."""
    r = _R(401)
    n, cells = 40000, 64
    place = jnp.asarray(r.uniform(0, cells, (n, 2)).astype(np.float32))
    speed = _n(r, n, 2, scale=0.05) + jnp.where(jnp.arange(n)[:, None] % 2 == 0, 1, -1) * jnp.array([0.3, 0.0])

    def f(place, speed):
        k = 2 * jnp.pi * jnp.stack(jnp.meshgrid(jnp.fft.fftfreq(cells), jnp.fft.rfftfreq(cells), indexing="ij"))
        k2 = (k ** 2).sum(0)
        green = jnp.where(k2 > 0, 1 / jnp.where(k2 > 0, k2, 1), 0)

        def corners(place):
            low = jnp.floor(place)
            part, at = place - low, low.astype(jnp.int32) % cells
            for i in (0, 1):
                for j in (0, 1):
                    yield ((at[:, 0] + i) % cells, (at[:, 1] + j) % cells), jnp.abs(1 - i - part[:, 0]) * jnp.abs(1 - j - part[:, 1])

        def step(s, _):
            place, speed = s
            rho = jnp.zeros((cells, cells))
            for at, w in corners(place):
                rho = rho.at[at].add(w)
            potential = jnp.fft.rfft2(rho * (cells ** 2 / n) - 1) * green
            field = jnp.fft.irfft2(-1j * k * potential, (cells, cells))
            speed = speed + 0.2 * sum(w[:, None] * field[:, at[0], at[1]].T for at, w in corners(place))
            place = (place + 0.2 * speed) % cells
            return (place, speed), (field ** 2).sum()
        (place, speed), energy = lax.scan(step, (place, speed), None, length=5)
        return speed, energy, jnp.histogram(speed[:, 0], bins=32, range=(-1.0, 1.0))[0]
    return f, (place, speed), ()


def turbulence_spectral():
    """Vorticity of a flow on a torus: dealiased products, RK4 over the exact decay, the energy by shells of wave numbers."""
    r = _R(402)
    n = 128
    kx, ky = np.meshgrid(np.fft.rfftfreq(n, 1 / n), np.fft.fftfreq(n, 1 / n))
    k2 = kx ** 2 + ky ** 2
    start = np.fft.irfft2(np.fft.rfft2(r.standard_normal((n, n))) * np.exp(-k2 / 72)).astype(np.float32)

    def f(w, kx, ky):
        k2 = kx ** 2 + ky ** 2
        keep = (jnp.abs(kx) < n / 3) & (jnp.abs(ky) < n / 3)
        inverse = jnp.where(k2 > 0, 1 / jnp.maximum(k2, 1), 0)
        half = jnp.exp(-1e-3 * k2 * 0.005)

        def slope(s):
            u, v, wx, wy = jnp.fft.irfft2(jnp.stack([1j * ky * inverse * s, -1j * kx * inverse * s, 1j * kx * s, 1j * ky * s]))
            return -jnp.where(keep, jnp.fft.rfft2(u * wx + v * wy), 0)

        def step(_, s):
            h = 0.01
            a = slope(s)
            b = slope(half * (s + h / 2 * a))
            c = slope(half * s + h / 2 * b)
            d = slope(half ** 2 * s + h * half * c)
            return half ** 2 * (s + h / 6 * a) + h / 3 * half * (b + c) + h / 6 * d
        s = lax.fori_loop(0, 8, step, jnp.fft.rfft2(w))
        shell = jnp.round(jnp.sqrt(k2)).astype(jnp.int32)
        return jnp.fft.irfft2(s), jax.ops.segment_sum((jnp.abs(s) ** 2 * inverse).ravel(), shell.ravel(), 96)
    return f, (jnp.asarray(start), jnp.asarray(kx, jnp.float32), jnp.asarray(ky, jnp.float32)), ()


def ising_checkerboard():
    """Sixteen sweeps over a square lattice of spins in int8, one colour of the board after the other."""
    r = _R(403)
    spins = jnp.asarray(r.choice([-1, 1], (256, 256)).astype(np.int8))

    def f(key, spins):
        colour = (jnp.arange(256)[:, None] + jnp.arange(256)) % 2

        def around(s):
            return jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)

        def sweep(s, key):
            for c, k in enumerate(jax.random.split(key)):
                cost = (2 * s * around(s)).astype(jnp.float32)
                flip = (jax.random.uniform(k, s.shape) < jnp.exp(-0.44 * cost)) & (colour == c)
                s = jnp.where(flip, -s, s)
            return s, (s.sum(dtype=jnp.int32), -(s * around(s)).sum(dtype=jnp.int32) // 2)
        return lax.scan(sweep, spins, jax.random.split(key, 16))
    return f, (jax.random.PRNGKey(7), spins), ()


def force_matching_grad():
    """A potential of continuous filters over molecules, trained on forces: a gradient of a gradient."""
    r = _R(404)
    p = dict(embed=_n(r, 10, 32), out=(_n(r, 32, 32, scale=0.18), _n(r, 32, 1, scale=0.18)), layers=[dict(
        filters=(_n(r, 20, 32, scale=0.2), _n(r, 32, 32, scale=0.18)), within=_n(r, 32, 32, scale=0.18),
        after=(_n(r, 32, 32, scale=0.18), _n(r, 32, 32, scale=0.18))) for _ in range(2)])
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3)[:20] * 1.4
    at = jnp.asarray((grid + 0.15 * r.standard_normal((16, 20, 3))).astype(np.float32))
    kinds, forces = jnp.asarray(r.randint(0, 10, (16, 20)).astype(np.int32)), _n(r, 16, 20, 3)
    act = lambda x: jax.nn.softplus(x) - np.float32(np.log(2))

    def energy(p, at, kinds):
        d = at[:, None] - at[None]
        apart = ~jnp.eye(20, dtype=bool)
        dist = jnp.sqrt(jnp.where(apart, (d ** 2).sum(-1), 1.0))
        cut = jnp.where(apart & (dist < 3.5), 0.5 * (jnp.cos(jnp.pi * dist / 3.5) + 1), 0)
        radial = jnp.exp(-8 * (dist[..., None] - jnp.linspace(0.5, 3.5, 20)) ** 2)
        x = p["embed"][kinds]
        for l in p["layers"]:
            w = act(radial @ l["filters"][0]) @ l["filters"][1] * cut[..., None]
            x = x + act(jnp.einsum("ijf,jf->if", w, x @ l["within"]) @ l["after"][0]) @ l["after"][1]
        return (act(x @ p["out"][0]) @ p["out"][1]).sum()

    def loss(p, at, kinds, forces):
        e, slope = jax.vmap(jax.value_and_grad(energy, argnums=1), (None, 0, 0))(p, at, kinds)
        return ((slope + forces) ** 2).mean() + 1e-3 * (e ** 2).mean()
    return jax.value_and_grad(loss), (p, at, kinds, forces), ()


# ---------------------------------------------------------------- numerical methods
def multigrid_poisson():
    """Four V-cycles from 256x256 down to 8x8: red and black Gauss-Seidel, full weighting, linear interpolation."""
    r = _R(405)

    def around(u):
        e = jnp.pad(u, 1)
        return e[:-2, 1:-1] + e[2:, 1:-1] + e[1:-1, :-2] + e[1:-1, 2:]

    def smooth(u, b, h, rounds):
        red = (jnp.arange(u.shape[0])[:, None] + jnp.arange(u.shape[1])) % 2 == 0
        for _ in range(rounds):
            for colour in (red, ~red):
                u = jnp.where(colour, 0.25 * (around(u) + h * h * b), u)
        return u

    def cycle(u, b, h):
        if u.shape[0] <= 8:
            return lax.fori_loop(0, 20, lambda _, u: smooth(u, b, h, 1), u)
        u = smooth(u, b, h, 2)
        rest = b - (4 * u - around(u)) / (h * h)
        coarse = lax.reduce_window(rest, 0.0, lax.add, (2, 2), (2, 2), "VALID") / 4
        error = cycle(jnp.zeros_like(coarse), coarse, 2 * h)
        return smooth(u + jax.image.resize(error, u.shape, "linear"), b, h, 2)

    def f(b):
        return lax.fori_loop(0, 4, lambda _, u: cycle(u, b, 1 / 256), jnp.zeros_like(b))
    return f, (_n(r, 256, 256),), ()


def stiff_kinetics_f64():
    """Robertson's reactions at 128 rates: a Rosenbrock pair of order 2(3) chooses its steps, each with a Jacobian and an LU, under vmap."""
    r = _R(406)
    rates = jnp.asarray(np.array([0.04, 3e7, 1e4]) * np.exp(0.3 * r.standard_normal((128, 3))))

    def solve(rates):
        def slope(y):
            a, b, c = rates[0] * y[0], rates[1] * y[1] ** 2, rates[2] * y[1] * y[2]
            return jnp.stack([c - a, a - b - c, b])
        gamma, e32 = 1 / (2 + np.sqrt(2)), 6 + np.sqrt(2)

        def step(s):
            t, h, y, done = s
            h = jnp.minimum(h, 40.0 - t)
            lu = jax.scipy.linalg.lu_factor(jnp.eye(3) - h * gamma * jax.jacfwd(slope)(y))
            f0 = slope(y)
            k1 = jax.scipy.linalg.lu_solve(lu, f0)
            f1 = slope(y + 0.5 * h * k1)
            k2 = jax.scipy.linalg.lu_solve(lu, f1 - k1) + k1
            new = y + h * k2
            k3 = jax.scipy.linalg.lu_solve(lu, slope(new) - e32 * (k2 - f1) - 2 * (k1 - f0))
            error = jnp.max(jnp.abs(h / 6 * (k1 - 2 * k2 + k3)) / (1e-8 + 1e-3 * jnp.maximum(jnp.abs(y), jnp.abs(new))))
            good = error < 1
            h_new = h * jnp.clip(0.8 * error ** (-1 / 3), 0.2, 4.0)
            return jnp.where(good, t + h, t), h_new, jnp.where(good, new, y), done + good
        return lax.while_loop(lambda s: (s[0] < 40.0) & (s[3] < 500), step, (0.0, 1e-4, jnp.array([1.0, 0.0, 0.0]), 0))
    return lambda rates: jax.vmap(solve)(rates)[2:], (rates,), ()


stiff_kinetics_f64.x64 = True


def lanczos_bisection():
    """The spectrum of a sparse graph: 48 steps of Lanczos with all vectors kept orthogonal, then bisection by counts of signs."""
    r = _R(407)
    nodes, edges = 8000, 32000
    a, b = r.randint(0, nodes, (2, edges))
    w = r.uniform(0.1, 1, edges) * np.where(np.arange(edges) < 400, 8, 1)
    order = np.argsort(np.concatenate([a, b]), kind="stable")
    to, source = (jnp.asarray(np.concatenate(x)[order].astype(np.int32)) for x in ((a, b), (b, a)))

    def f(key, to, source, w):
        def times(x):
            return jax.ops.segment_sum(w * x[source], to, nodes, indices_are_sorted=True)

        def step(s, i):
            vectors, v, before, beta = s
            vectors = vectors.at[i].set(v)
            u = times(v) - beta * before
            alpha = u @ v
            u = u - alpha * v
            for _ in range(2):
                u = u - vectors.T @ (vectors @ u)
            beta = jnp.linalg.norm(u)
            return (vectors, u / beta, v, beta), (alpha, beta)
        v = jax.random.normal(key, (nodes,))
        start = (jnp.zeros((48, nodes)), v / jnp.linalg.norm(v), jnp.zeros(nodes), jnp.float32(0))
        alpha, beta = lax.scan(step, start, jnp.arange(48))[1]
        square = jnp.pad(beta[:-1], (1, 0)) ** 2

        def below(x):
            def pivot(q, ab):
                q = ab[0] - x - ab[1] / jnp.where(jnp.abs(q) < 1e-6, 1e-6, q)
                return q, q < 0
            return lax.scan(pivot, jnp.float32(1), (alpha, square))[1].sum()

        def value(k):
            def halve(_, s):
                middle = (s[0] + s[1]) / 2
                under = below(middle) > k
                return jnp.where(under, s[0], middle), jnp.where(under, middle, s[1])
            return sum(lax.fori_loop(0, 24, halve, (-bound, bound))) / 2
        bound = jnp.max(jnp.abs(alpha) + 2 * jnp.max(beta))
        return jax.vmap(value)(jnp.arange(48))
    return f, (jax.random.PRNGKey(11), to, source, jnp.asarray(np.concatenate([w, w])[order].astype(np.float32))), ()


# ---------------------------------------------------------------- optimisation and statistics
def lbfgs_logistic():
    """Multinomial regression by L-BFGS: a ring of eight pairs, the two-loop recursion, a backtracking search in each of twelve steps."""
    r = _R(408)
    x, y = _n(r, 3000, 64), jnp.asarray(r.randint(0, 10, 3000).astype(np.int32))

    def f(w, x, y):
        def loss(flat):
            w = flat.reshape(65, 10)
            lp = jax.nn.log_softmax(x @ w[:-1] + w[-1])
            return -jnp.take_along_axis(lp, y[:, None], 1).mean() + 5e-3 * (flat ** 2).sum()
        both = jax.value_and_grad(loss)

        def direction(g, s, d, rho, i):
            def down(j, c):
                q, alpha = c
                k = (i - 1 - j) % 8
                a = rho[k] * s[k] @ q
                return q - a * d[k], alpha.at[k].set(a)
            q, alpha = lax.fori_loop(0, 8, down, (g, jnp.zeros(8)))
            k = (i - 1) % 8
            q = q * jnp.where(i > 0, 1 / jnp.maximum(rho[k] * d[k] @ d[k], 1e-12), 1.0)

            def up(j, q):
                k = (i + j) % 8
                return q + s[k] * (alpha[k] - rho[k] * d[k] @ q)
            return -lax.fori_loop(0, 8, up, q)

        def step(i, c):
            w, l, g, s, d, rho = c
            p = direction(g, s, d, rho, i)
            slope = g @ p
            t = lax.while_loop(lambda t: (loss(w + t * p) > l + 1e-4 * t * slope) & (t > 1e-4), lambda t: t / 2, jnp.float32(1))
            new = w + t * p
            l, g_new = both(new)
            k = i % 8
            s, d = s.at[k].set(new - w), d.at[k].set(g_new - g)
            return new, l, g_new, s, d, rho.at[k].set(1 / (s[k] @ d[k]))
        l, g = both(w)
        w, l, g, *_ = lax.fori_loop(0, 12, step, (w, l, g, jnp.zeros((8, 650)), jnp.zeros((8, 650)), jnp.zeros(8)))
        return w, l
    return f, (_n(r, 650, scale=0.3), x, y), ()


def cox_newton_f64():
    """Proportional hazards with tied times: sets at risk by a sort and a running sum, Newton with the full Hessian."""
    r = _R(409)
    x = r.standard_normal((4000, 16))
    times = np.ceil(60 * r.exponential(size=4000) * np.exp(-x[:, :3].sum(1) / 3)).astype(np.int32)
    events = (r.uniform(size=4000) < 0.7).astype(np.float64)

    def f(x, times, events):
        order = jnp.argsort(-times)
        x, times, events = x[order], times[order], events[order]
        last = jnp.searchsorted(-times, -times, side="right") - 1

        def loss(b):
            eta = x @ b
            top = lax.stop_gradient(eta.max())
            risk = top + jnp.log(jnp.cumsum(jnp.exp(eta - top)))[last]
            return -(events * (eta - risk)).sum() + 0.5 * (b ** 2).sum()

        def newton(_, s):
            b, _ = s
            root = jax.scipy.linalg.cho_factor(jax.hessian(loss)(b))
            return b - jax.scipy.linalg.cho_solve(root, jax.grad(loss)(b)), jax.scipy.linalg.cho_solve(root, jnp.eye(16))
        b, spread = lax.fori_loop(0, 6, newton, (jnp.zeros(16), jnp.eye(16)))
        return b, jnp.sqrt(jnp.diagonal(spread))
    return f, tuple(map(jnp.asarray, (x, times, events))), ()


cox_newton_f64.x64 = True


def stein_variational():
    """Forty-eight networks as particles: gradients under vmap, a kernel whose width is the median distance, AdaGrad; ten steps."""
    r = _R(410)
    x, particles = _n(r, 256, 8), _n(r, 48, 322, scale=0.4)
    y = jnp.sin(x @ _n(r, 8)) + 0.1 * _n(r, 256)

    def posterior(w, x, y):
        a, b, c, d, noise = w[:256].reshape(8, 32), w[256:288], w[288:320], w[320], w[321]
        fit = jnp.tanh(x @ a + b) @ c + d
        return (-0.5 * (fit - y) ** 2 * jnp.exp(noise) + 0.5 * noise).sum() - 0.5 * (w ** 2).sum()

    def f(particles, x, y):
        def step(s, _):
            w, seen = s
            score = jax.vmap(jax.grad(posterior), (0, None, None))(w, x, y)
            d = w[:, None] - w[None]
            far = (d ** 2).sum(-1)
            width = jnp.median(far) / np.log(49)
            k = jnp.exp(-far / width)
            phi = (k @ score + 2 / width * jnp.einsum("ij,ijp->ip", k, d)) / 48
            seen = 0.9 * seen + 0.1 * phi ** 2
            return (w + 0.02 * phi / (jnp.sqrt(seen) + 1e-3), seen), width
        (w, _), widths = lax.scan(step, (particles, jnp.ones_like(particles)), None, length=10)
        return w, widths
    return f, (particles, x, y), ()


def elliptical_slice():
    """Sixty-four chains over a latent Gaussian process with binary outcomes: each shrinks its bracket until a point is accepted."""
    r = _R(411)
    x, y = jnp.asarray(np.sort(r.uniform(0, 8, 96)).astype(np.float32)), jnp.asarray(r.choice([-1.0, 1.0], 96).astype(np.float32))

    def f(key, x, y):
        root = jnp.linalg.cholesky(jnp.exp(-0.5 * (x[:, None] - x) ** 2) + 1e-2 * jnp.eye(96))
        likely = lambda z: jax.nn.log_sigmoid(2 * y * z).sum()

        def step(z, key):
            a, b, c, d = jax.random.split(key, 4)
            other = root @ jax.random.normal(a, (96,))
            floor = likely(z) + jnp.log(jax.random.uniform(b, minval=1e-6))
            angle = jax.random.uniform(c, maxval=2 * jnp.pi)
            turn = lambda angle: z * jnp.cos(angle) + other * jnp.sin(angle)

            def shrink(s):
                angle, low, high, key = s
                low, high = jnp.where(angle < 0, angle, low), jnp.where(angle < 0, high, angle)
                key, k = jax.random.split(key)
                return jax.random.uniform(k, minval=low, maxval=high), low, high, key
            angle = lax.while_loop(lambda s: likely(turn(s[0])) <= floor, shrink, (angle, angle - 2 * jnp.pi, angle, d))[0]
            z = turn(angle)
            return z, z

        def chain(key):
            draws = lax.scan(step, jnp.zeros(96), jax.random.split(key, 25))[1]
            return draws.mean(0), draws.var(0)
        mean, var = jax.vmap(chain)(jax.random.split(key, 64))
        return mean.mean(0), jnp.sqrt(var.mean(0) + mean.var(0))
    return f, (jax.random.PRNGKey(12), x, y), ()


def boosted_trees():
    """Six trees of depth four on binned columns: histograms of gradients by segment sums, the best split of each node, leaves."""
    r = _R(412)
    bins = r.randint(0, 64, (8192, 12)).astype(np.int32)
    y = ((bins[:, 0] > 30) ^ (bins[:, 3] * 2 + bins[:, 5] > 90) ^ (r.uniform(size=8192) < 0.1)).astype(np.float32)

    def f(bins, y):
        rows, cols = jnp.arange(8192), jnp.arange(12)

        def tree(score, _):
            p = jax.nn.sigmoid(score)
            both = jnp.stack([p - y, p * (1 - p)], -1)
            node, splits = jnp.zeros(8192, jnp.int32), []
            for level in range(4):
                at = ((node[:, None] * 12 + cols) * 64 + bins).ravel()
                hist = jax.ops.segment_sum(jnp.repeat(both, 12, axis=0), at, (12 * 64) << level).reshape(1 << level, 12, 64, 2)
                low = jnp.cumsum(hist, axis=2)
                high = low[:, :, -1:] - low
                gain = low[..., 0] ** 2 / (low[..., 1] + 1) + high[..., 0] ** 2 / (high[..., 1] + 1)
                best = jnp.argmax(gain.reshape(1 << level, -1), axis=1)
                column, edge = best // 64, best % 64
                node = 2 * node + (bins[rows, column[node]] > edge[node])
                splits.append(best)
            total = jax.ops.segment_sum(both, node, 16)
            leaf = -total[:, 0] / (total[:, 1] + 1)
            return score + 0.3 * leaf[node], (jnp.concatenate(splits), leaf)
        return lax.scan(tree, jnp.zeros(8192), None, length=6)
    return f, (jnp.asarray(bins), jnp.asarray(y)), ()


# ---------------------------------------------------------------- finance
def american_option():
    """A put that may be exercised early, after Longstaff and Schwartz: paths forward, regressions of what holding is worth backward."""
    r = _R(413)
    strikes = jnp.asarray(np.array([37.0, 39.0, 41.0], np.float32))

    def f(key, start, strikes):
        dt, rate, vol = 1 / 32, 0.06, 0.2
        z = jax.random.normal(key, (32, 8192))
        z = jnp.concatenate([z, -z], 1)
        paths = start * jnp.exp(jnp.cumsum((rate - 0.5 * vol ** 2) * dt + vol * np.sqrt(dt) * z, axis=0))

        def price(strike):
            def back(cash, s):
                cash = cash * jnp.exp(-rate * dt)
                pays = jnp.maximum(strike - s, 0)
                on = (pays > 0).astype(jnp.float32)
                centre = (on * pays).sum() / on.sum()
                u = (pays - centre) * lax.rsqrt((on * (pays - centre) ** 2).sum() / on.sum())
                basis = jnp.stack([jnp.ones_like(u), u, u * u - 1], -1) * on[:, None]
                normal = basis.T @ basis + 1e-2 * jnp.eye(3)
                held = basis @ jnp.linalg.solve(normal, basis.T @ cash)
                return jnp.where((pays > 0) & (pays > held), pays, cash), None
            cash = lax.scan(back, jnp.maximum(strike - paths[-1], 0), paths[:-1], reverse=True)[0] * jnp.exp(-rate * dt)
            return cash.mean(), cash.std() / np.sqrt(16384)
        return jax.vmap(price)(strikes)
    return f, (jax.random.PRNGKey(13), jnp.asarray(r.uniform(38, 39), jnp.float32), strikes), ()


def heston_calibration_grad():
    """Five prices of options on an average, by paths of random variance, and their slopes: noise is drawn again in checkpointed steps."""
    p = {k: jnp.float32(v) for k, v in dict(vol=-3.2, speed=0.7, level=-3.0, noise=-0.9, rho=-0.8).items()}
    market = jnp.array([14.0, 9.5, 6.0, 3.5, 2.0], jnp.float32)

    def loss(p, key, market):
        vol, speed, level, noise, rho = jnp.exp(p["vol"]), jnp.exp(p["speed"]), jnp.exp(p["level"]), jnp.exp(p["noise"]), jnp.tanh(p["rho"])
        dt = 1 / 40

        @jax.checkpoint
        def step(s, t):
            x, v, total = s
            a, b = jax.random.normal(jax.random.fold_in(key, t), (2, 8192))
            root = jnp.sqrt(jnp.maximum(v, 1e-5) * dt)
            x = x - 0.5 * jnp.maximum(v, 0) * dt + root * a
            v = v + speed * (level - jnp.maximum(v, 0)) * dt + noise * root * (rho * a + jnp.sqrt(1 - rho ** 2) * b)
            return (x, v, total + 100 * jnp.exp(x)), None
        zero = jnp.zeros(8192)
        (_, _, total), _ = lax.scan(step, (zero, zero + vol, zero), jnp.arange(40))
        prices = jnp.maximum(total[:, None] / 40 - jnp.array([88.0, 94.0, 100.0, 106.0, 112.0]), 0).mean(0)
        return ((prices - market) ** 2).mean(), prices
    return jax.value_and_grad(loss, has_aux=True), (p, jax.random.PRNGKey(14), market), ()


PROGRAMS = {f.__name__: f for f in [
    lattice_boltzmann, particle_in_cell, turbulence_spectral, ising_checkerboard, force_matching_grad, multigrid_poisson,
    stiff_kinetics_f64, lanczos_bisection, lbfgs_logistic, cox_newton_f64, stein_variational, elliptical_slice, boosted_trees,
    american_option, heston_calibration_grad]}
