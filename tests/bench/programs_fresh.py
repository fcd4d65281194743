"""Thirty programs more, written by someone who had not seen the kernels and sized in JAX alone: physics, finance, genes, graphics, control,
trees, graphs and unusual layers as JAX's users write them. Each builder returns (fn, args, donate_argnums); XLA takes 2 to 200 ms."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_R = np.random.RandomState


def _n(r, *s, scale=1.0, dtype=jnp.float32):
    return jnp.asarray((r.standard_normal(s) * scale).astype(np.float32)).astype(dtype)


def _adam(p, g, m, v, t, rate):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    fit = lambda p, m, v: p - rate * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
    return jax.tree.map(fit, p, m, v), m, v


def _moments(p):
    """Of a training under way: the first steps of Adam are all signs."""
    return jax.tree.map(jnp.zeros_like, p), jax.tree.map(lambda x: jnp.full_like(x, 1e-3), p)


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


# ---------------------------------------------------------------- genes and graphs
def smith_waterman():
    """Sixty-four pairs of proteins aligned locally with affine gaps in int32: a scan over antidiagonals under vmap."""
    r = _R(414)
    table = r.randint(-4, 2, (20, 20))
    table = jnp.asarray((np.tril(table) + np.tril(table, -1).T + 7 * np.eye(20, dtype=int)).astype(np.int32))
    a, b = (jnp.asarray(r.randint(0, 20, (64, n)).astype(np.int32)) for n in (120, 200))

    def align(a, b, table):
        i, low = jnp.arange(120), jnp.int32(-10000)
        shift = lambda x, fill: jnp.concatenate([jnp.full(1, fill, jnp.int32), x[:-1]])

        def diagonal(s, d):
            h2, h1, e, f, best, where = s
            j = d - i
            inside = (j >= 0) & (j < 200)
            e = jnp.where(j > 0, jnp.maximum(h1 - 11, e - 1), low)
            f = jnp.maximum(shift(h1, 0) - 11, shift(f, low) - 1)
            met = jnp.where(j > 0, shift(h2, 0), 0) + table[a, b[jnp.clip(j, 0, 199)]]
            h = jnp.where(inside, jnp.maximum(jnp.maximum(met, 0), jnp.maximum(e, f)), 0)
            top = jnp.argmax(h)
            better = h[top] > best
            where = jnp.where(better, jnp.stack([top, d - top]).astype(jnp.int32), where)
            return (h1, h, e, f, jnp.maximum(best, h[top]), where), None
        zero = jnp.zeros(120, jnp.int32)
        start = (zero, zero, zero + low, zero + low, jnp.int32(0), jnp.zeros(2, jnp.int32))
        return lax.scan(diagonal, start, jnp.arange(319))[0][4:]
    return jax.vmap(align, (0, 0, None)), (a, b, table), ()


def felsenstein_pruning_grad():
    """How likely a tree of thirty-two species is: exponentials of rates along its branches, partial likelihoods from the leaves up."""
    r = _R(415)
    live, pairs = list(range(32)), []
    for k in range(31):
        a, b = (live.pop(r.randint(len(live))) for _ in range(2))
        pairs.append((a, b))
        live.append(32 + k)
    pairs = jnp.asarray(np.array(pairs, np.int32))
    bases = r.randint(0, 5, (32, 400))
    leaves = jnp.asarray(np.where(bases[..., None] == 4, 1, np.arange(4) == bases[..., None]).astype(np.float32))
    p = dict(length=_n(r, 62, scale=0.3) - 2, rates=_n(r, 6, scale=0.3), base=_n(r, 4, scale=0.2), shape=_n(r, 4, scale=0.5))

    def loss(p, leaves, pairs):
        base, shape = jax.nn.softmax(p["base"]), 4 * jax.nn.softmax(p["shape"])
        upper = jnp.zeros((4, 4)).at[jnp.triu_indices(4, 1)].set(jnp.exp(p["rates"]))
        q = (upper + upper.T) * base
        q = q - jnp.diag(q.sum(1))
        q = q / -(base * jnp.diagonal(q)).sum()
        move = jax.vmap(jax.vmap(jax.scipy.linalg.expm))(q * (jnp.exp(p["length"])[:, None] * shape)[..., None, None])

        def join(s, k):
            parts, scale = s
            a, b = pairs[k]
            both = jnp.einsum("cij,csj->csi", move[a], parts[a]) * jnp.einsum("cij,csj->csi", move[b], parts[b])
            top = both.max((0, 2))
            return (parts.at[32 + k].set(both / top[:, None]), scale + jnp.log(top)), None
        parts = jnp.zeros((63, 4, 400, 4)).at[:32].set(leaves[:, None])
        (parts, scale), _ = lax.scan(join, (parts, jnp.zeros(400)), jnp.arange(31))
        return -(jnp.log(jnp.einsum("csi,i->s", parts[-1], base) / 4) + scale).mean()
    return jax.value_and_grad(loss), (p, leaves, pairs), ()


def connected_components():
    """The parts of a sparse graph: labels hooked to smaller ones by scatters, pointers jumped, until nothing moves; then their sizes."""
    r = _R(416)
    nodes, edges = 50000, 60000
    a, b = (jnp.asarray(r.randint(0, nodes, edges).astype(np.int32)) for _ in range(2))

    def f(a, b):
        def hook(s):
            label, _, rounds = s
            least = jnp.minimum(label[a], label[b])
            new = label.at[label[a]].min(least).at[label[b]].min(least)
            new = new[new]
            new = new[new]
            return new, (new != label).any(), rounds + 1
        label, _, rounds = lax.while_loop(lambda s: s[1], hook, (jnp.arange(nodes, dtype=jnp.int32), True, 0))
        size = jnp.zeros(nodes, jnp.int32).at[label].add(1)
        return label, lax.top_k(size, 16), jnp.bincount(jnp.minimum(size, 31), length=32), rounds
    return f, (a, b), ()


# ---------------------------------------------------------------- graphics
def gaussian_splatting_grad():
    """Flat Gaussians in order of depth over a picture: chunks by a checkpointed scan, each seen through those in front of it."""
    r = _R(417)
    p = dict(at=jnp.asarray(r.uniform(0, 56, (320, 2)).astype(np.float32)), size=_n(r, 320, 2, scale=0.3) + 1, angle=_n(r, 320),
             colour=_n(r, 320, 3), solid=_n(r, 320), depth=_n(r, 320))
    picture = jnp.asarray(r.uniform(0, 1, (56, 56, 3)).astype(np.float32))

    def loss(p, picture):
        order = jnp.argsort(lax.stop_gradient(p["depth"]))
        chunks = jax.tree.map(lambda x: x[order].reshape(10, 32, *x.shape[1:]), p)
        pixels = jnp.stack(jnp.meshgrid(jnp.arange(56.0), jnp.arange(56.0), indexing="ij"), -1) + 0.5

        @jax.checkpoint
        def layer(s, c):
            seen, light = s
            cos, sin = jnp.cos(c["angle"]), jnp.sin(c["angle"])
            turn = jnp.stack([jnp.stack([cos, sin], -1), jnp.stack([-sin, cos], -1)], 1) * jnp.exp(-c["size"])[:, :, None]
            z = jnp.einsum("gij,hwgj->hwgi", turn, pixels[:, :, None] - c["at"])
            alpha = jnp.minimum(jax.nn.sigmoid(c["solid"]) * jnp.exp(-0.5 * (z ** 2).sum(-1)), 0.99)
            through = light[..., None] * jnp.cumprod(1 - alpha, -1)
            before = jnp.concatenate([light[..., None], through[..., :-1]], -1)
            return (seen + jnp.einsum("hwg,gc->hwc", alpha * before, jax.nn.sigmoid(c["colour"])), through[..., -1]), None
        (seen, light), _ = lax.scan(layer, (jnp.zeros((56, 56, 3)), jnp.ones((56, 56))), chunks)
        return jnp.sqrt((seen + light[..., None] - picture) ** 2 + 1e-4).mean()
    return jax.value_and_grad(loss), (p, picture), ()


def sphere_tracing():
    """A picture of a field of distances: rays march until all have arrived, normals are its gradient, a light throws soft shadows."""
    r = _R(418)
    balls = jnp.asarray(np.concatenate([r.uniform(-1.2, 1.2, (6, 3)), r.uniform(0.3, 0.6, (6, 1))], 1).astype(np.float32))

    def field(at, balls):
        ball = jnp.linalg.norm(at[..., None, :] - balls[:, :3], axis=-1) - balls[:, 3]
        blob = -0.15 * jax.nn.logsumexp(-ball / 0.15, axis=-1)
        ring = jnp.hypot(jnp.hypot(at[..., 0], at[..., 2]) - 1.8, at[..., 1]) - 0.2
        return jnp.minimum(jnp.minimum(blob, ring), at[..., 1] + 1.6)

    def f(balls, eye):
        across = jnp.linspace(-1, 1, 128)
        ray = jnp.stack(jnp.broadcast_arrays(across[None], -across[:, None] - 0.3, -1.6 * jnp.ones((128, 128))), -1)
        ray = ray / jnp.linalg.norm(ray, axis=-1, keepdims=True)

        def march(s):
            t, d, i = s
            t = jnp.minimum(t + jnp.where(d > 2e-3 * t, d, 0), 12.0)
            return t, field(eye + t[..., None] * ray, balls), i + 1
        start = jnp.zeros((128, 128))
        t, d, i = lax.while_loop(lambda s: ((s[1] > 2e-3 * s[0]) & (s[0] < 12)).any() & (s[2] < 80), march, (start, start + 1e-2, 0))
        at = eye + t[..., None] * ray
        normal = jax.vmap(jax.grad(field), (0, None))(at.reshape(-1, 3), balls).reshape(at.shape)
        sun = jnp.array([0.48, 0.8, 0.36])

        def shade(j, light):
            far = 0.05 + 0.12 * j
            return jnp.minimum(light, jnp.clip(8 * field(at + far * sun, balls) / far, 0, 1))
        light = lax.fori_loop(1, 16, shade, jnp.ones((128, 128)))
        return jnp.exp(-0.05 * t) * (0.2 + 0.8 * light * jnp.maximum(normal @ sun, 0)), i
    return f, (balls, jnp.array([0.0, 1.2, 5.0])), ()


def morton_hierarchy():
    """A tree of boxes over points: bits interleaved, sorted, each node's range by leading zeros and bisection, boxes by a sparse table."""
    r = _R(419)
    n = 16384
    points = jnp.asarray(r.beta(2, 5, (n, 3)).astype(np.float32))

    def f(points):
        def spread(x):
            x = (x | (x << 16)) & jnp.uint32(0x030000FF)
            x = (x | (x << 8)) & jnp.uint32(0x0300F00F)
            x = (x | (x << 4)) & jnp.uint32(0x030C30C3)
            return (x | (x << 2)) & jnp.uint32(0x09249249)
        cell = spread(jnp.clip(points * 1024, 0, 1023).astype(jnp.uint32))
        code = (cell[:, 0] << 2) | (cell[:, 1] << 1) | cell[:, 2]
        order = jnp.argsort(code)
        code, points = code[order], points[order]
        i = jnp.arange(n - 1, dtype=jnp.int32)

        def common(j):
            other = jnp.clip(j, 0, n - 1)
            x = code[i] ^ code[other]
            same = jnp.where(x == 0, 32 + lax.clz(i ^ other), lax.clz(x).astype(jnp.int32))
            return jnp.where((j >= 0) & (j < n), same, -1)
        way = jnp.sign(common(i + 1) - common(i - 1))
        least = common(i - way)
        reach = lax.while_loop(lambda l: (common(i + l * way) > least).any(),
                               lambda l: jnp.where(common(i + l * way) > least, 2 * l, l), jnp.full(n - 1, 2, jnp.int32))

        def longest(limit, bound):
            def bit(k, l):
                t = jnp.int32(1) << (14 - k)
                return jnp.where((l + t < limit) & (common(i + (l + t) * way) > bound), l + t, l)
            return lax.fori_loop(0, 15, bit, jnp.zeros(n - 1, jnp.int32))
        length = longest(reach, least)
        j = i + length * way
        cut = i + longest(length, common(j)) * way + jnp.minimum(way, 0)
        first, last = jnp.minimum(i, j), jnp.maximum(i, j)
        left, right = jnp.where(first == cut, cut + n - 1, cut), jnp.where(last == cut + 1, cut + n, cut + 1)
        lows, highs = [points], [points]
        for k in range(14):
            later = jnp.minimum(jnp.arange(n) + (1 << k), n - 1)
            lows.append(jnp.minimum(lows[-1], lows[-1][later]))
            highs.append(jnp.maximum(highs[-1], highs[-1][later]))
        level = 31 - lax.clz(last - first + 1)
        end = last + 1 - (1 << level)
        lows, highs = jnp.stack(lows), jnp.stack(highs)
        side = jnp.maximum(highs[level, first], highs[level, end]) - jnp.minimum(lows[level, first], lows[level, end])
        area = 2 * (side[:, 0] * side[:, 1] + side[:, 1] * side[:, 2] + side[:, 2] * side[:, 0])
        return order, left, right, area
    return f, (points,), ()


def hash_grid_step():
    """A field of colours in tables under hashed corners of six grids, a small network behind them, and one step of Adam."""
    r = _R(420)
    p = dict(tables=jnp.asarray(r.uniform(-0.1, 0.1, (6, 16384, 2)).astype(np.float32)),
             w=[_n(r, 12, 48, scale=0.3), _n(r, 48, 48, scale=0.2), _n(r, 48, 3, scale=0.2)])
    x, y = (jnp.asarray(r.uniform(0, 1, (4096, 3)).astype(np.float32)) for _ in range(2))

    def loss(p, x, y):
        corner = jnp.asarray(np.stack(np.meshgrid(*[[0, 1]] * 3, indexing="ij"), -1).reshape(8, 3), jnp.uint32)
        primes = jnp.array([1, 2654435761, 805459861], jnp.uint32)

        def read(table, cells):
            low = jnp.floor(x * cells)
            part, at = x * cells - low, low.astype(jnp.uint32)[:, None] + corner
            h = at * primes
            h = (h[..., 0] ^ h[..., 1] ^ h[..., 2]) & jnp.uint32(16383)
            amount = jnp.where(corner == 1, part[:, None], 1 - part[:, None]).prod(-1)
            return jnp.einsum("nc,ncf->nf", amount, table[h])
        z = jax.vmap(read)(p["tables"], jnp.asarray(16 * 1.6 ** np.arange(6), jnp.float32)).transpose(1, 0, 2).reshape(4096, 12)
        for w in p["w"][:-1]:
            z = jax.nn.silu(z @ w)
        out = jax.nn.sigmoid(z @ p["w"][-1])
        return ((out - y) ** 2 / (lax.stop_gradient(out) ** 2 + 0.01)).mean()

    def step(p, m, v, t, x, y):
        l, g = jax.value_and_grad(loss)(p, x, y)
        return *_adam(p, g, m, v, t, 1e-2), l
    return step, (p, *_moments(p), jnp.float32(100), x, y), (0, 1, 2)


# ---------------------------------------------------------------- control and reinforcement
def ppo_update():
    """Advantages by a scan backward, then two epochs of four shuffled minibatches with clipped ratios, clipped gradients and Adam."""
    r = _R(421)
    p = dict(body=[_n(r, 12, 64, scale=0.3), _n(r, 64, 64, scale=0.12)], mean=_n(r, 64, 3, scale=0.05), value=_n(r, 64, 1, scale=0.1),
             spread=jnp.zeros(3))
    seen, acted, gained = _n(r, 129, 48, 12), _n(r, 128, 48, 3), _n(r, 128, 48)
    ended = jnp.asarray((r.uniform(size=(128, 48)) < 0.02).astype(np.float32))

    def policy(p, x):
        for w in p["body"]:
            x = jnp.tanh(x @ w)
        return x @ p["mean"], (x @ p["value"])[..., 0]

    def likely(p, mean, a):
        return (-0.5 * ((a - mean) * jnp.exp(-p["spread"])) ** 2 - p["spread"] - 0.5 * np.log(2 * np.pi)).sum(-1)

    def loss(p, x, a, old, adv, target):
        mean, value = policy(p, x)
        ratio = jnp.exp(likely(p, mean, a) - old)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        gain = jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean()
        return 0.5 * ((value - target) ** 2).mean() - gain - 0.01 * p["spread"].sum()

    def update(p, m, v, t, key, seen, acted, gained, ended):
        mean, value = policy(p, seen)

        def back(adv, s):
            gain, end, now, later = s
            adv = gain + 0.99 * later * (1 - end) - now + 0.99 * 0.95 * (1 - end) * adv
            return adv, adv
        adv = lax.scan(back, jnp.zeros(48), (gained, ended, value[:-1], value[1:]), reverse=True)[1]
        data = (seen[:-1], acted, likely(p, mean[:-1], acted), adv, adv + value[:-1])
        data = jax.tree.map(lambda x: x.reshape(6144, *x.shape[2:]), data)

        def minibatch(s, rows):
            p, m, v, t = s
            l, g = jax.value_and_grad(loss)(p, *(x[rows] for x in data))
            norm = jnp.sqrt(sum((x ** 2).sum() for x in jax.tree.leaves(g)))
            g = jax.tree.map(lambda x: x * jnp.minimum(1, 0.5 / norm), g)
            return (*_adam(p, g, m, v, t, 3e-4), t + 1), (l, norm)

        def epoch(s, key):
            return lax.scan(minibatch, s, jax.random.permutation(key, 6144).reshape(4, 1536))
        return lax.scan(epoch, (p, m, v, t), jax.random.split(key, 2))
    return update, (p, *_moments(p), jnp.float32(100), jax.random.PRNGKey(15), seen, acted, gained, ended), (0, 1, 2)


def pendulum_evolution():
    """Three generations of evolution strategies: mirrored noise, a pendulum swung by 128 policies from four starts each, under vmap."""
    r = _R(422)

    def f(key, w):
        def torque(w, s):
            z = jnp.stack([jnp.cos(s[0]), jnp.sin(s[0]), s[1] / 4])
            return 2 * jnp.tanh(jnp.tanh(z @ w[:96].reshape(3, 32) + w[96:128]) @ w[128:160] + w[160])

        def episode(w, key):
            def step(s, _):
                u = torque(w, s)
                cost = (jnp.mod(s[0] + jnp.pi, 2 * jnp.pi) - jnp.pi) ** 2 + 0.1 * s[1] ** 2 + 1e-3 * u ** 2
                speed = jnp.clip(s[1] + 0.05 * (10 * jnp.sin(s[0]) + 3 * u), -8, 8)
                return jnp.stack([s[0] + 0.05 * speed, speed]), -cost
            start = jax.random.uniform(key, (2,), minval=jnp.array([-jnp.pi, -1.0]), maxval=jnp.array([jnp.pi, 1.0]))
            return lax.scan(step, start, None, length=80)[1].mean()

        def generation(w, key):
            a, b = jax.random.split(key)
            noise = jax.random.normal(a, (64, 161))
            noise = jnp.concatenate([noise, -noise])
            gains = jax.vmap(jax.vmap(episode, (None, 0)), (0, None))(w + 0.1 * noise, jax.random.split(b, 4)).mean(1)
            return w + 0.3 / 128 * ((gains - gains.mean()) / gains.std()) @ noise, (gains.mean(), gains.max())
        return lax.scan(generation, w, jax.random.split(key, 3))
    return f, (jax.random.PRNGKey(16), _n(r, 161, scale=0.3)), ()


# ---------------------------------------------------------------- unusual layers
def vq_autoencoder_step():
    """Images through 256 codes: nearest neighbours whose gradient goes straight through, codes by moving averages, momentum."""
    r = _R(423)
    p = dict(down=[_n(r, 4, 4, 3, 32, scale=0.14), _n(r, 4, 4, 32, 32, scale=0.06)],
             up=[_n(r, 4, 4, 32, 32, scale=0.06), _n(r, 4, 4, 32, 3, scale=0.06)])
    state = dict(p=p, m=jax.tree.map(jnp.zeros_like, p), codes=_n(r, 256, 32, scale=0.3), count=jnp.full(256, 4.0))
    state["sums"] = state["codes"] * 4
    x = jnp.asarray(r.uniform(-1, 1, (16, 32, 32, 3)).astype(np.float32))

    @jax.custom_vjp
    def nearest(z, codes):
        far = (z ** 2).sum(1, keepdims=True) - 2 * z @ codes.T + (codes ** 2).sum(1)
        index = jnp.argmin(far, axis=1)
        return codes[index], index
    nearest.defvjp(lambda z, codes: (nearest(z, codes), codes), lambda codes, g: (g[0], jnp.zeros_like(codes)))

    def loss(p, codes, x):
        z = x
        for w in p["down"]:
            z = jax.nn.gelu(lax.conv_general_dilated(z, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        flat = z.reshape(-1, 32)
        q, index = nearest(flat, codes)
        out = q.reshape(z.shape)
        for w in p["up"]:
            out = lax.conv_transpose(jax.nn.gelu(out), w, (2, 2), "SAME")
        return ((out - x) ** 2).mean() + 0.25 * ((flat - lax.stop_gradient(q)) ** 2).mean(), (flat, index)

    def step(s, x):
        (l, (flat, index)), g = jax.value_and_grad(loss, has_aux=True)(s["p"], s["codes"], x)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, s["m"], g)
        count = 0.99 * s["count"] + 0.01 * jax.ops.segment_sum(jnp.ones(index.shape), index, 256)
        sums = 0.99 * s["sums"] + 0.01 * jax.ops.segment_sum(flat, index, 256)
        share = jnp.bincount(index, length=256) / index.size
        new = dict(p=jax.tree.map(lambda p, m: p - 0.05 * m, s["p"], m), m=m, codes=sums / (count[:, None] + 1e-5), count=count, sums=sums)
        return new, l, jnp.exp(-(share * jnp.log(share + 1e-10)).sum())
    return step, (state, x), (0,)


def spline_flow_grad():
    """A flow of four coupling layers whose maps are rational quadratic splines: bins by comparison, their knots by gathers."""
    r = _R(424)
    p = [(_n(r, 4, 64, scale=0.5), _n(r, 64, 64, scale=0.12), _n(r, 64, 4 * 35, scale=0.1)) for _ in range(4)]

    def spline(x, raw):
        w, h = (0.05 + (6 - 12 * 0.05) * jax.nn.softmax(raw[..., i:i + 12], -1) for i in (0, 12))
        slope = jnp.pad(jax.nn.softplus(raw[..., 24:] + 0.54) + 1e-3, ((0, 0), (0, 0), (1, 1)), constant_values=1.0)
        edges, heights = (jnp.pad(jnp.cumsum(k, -1), ((0, 0), (0, 0), (1, 0))) - 3 for k in (w, h))
        inside = jnp.abs(x) < 3
        z = jnp.clip(x, -2.999, 2.999)
        k = (z[..., None] >= edges[..., 1:-1]).sum(-1, keepdims=True)
        pick = lambda t, k: jnp.take_along_axis(t, k, -1)[..., 0]
        w, h, left, low, d0, d1 = pick(w, k), pick(h, k), pick(edges, k), pick(heights, k), pick(slope, k), pick(slope, k + 1)
        s, t = h / w, (z - left) / w
        under = s + (d0 + d1 - 2 * s) * t * (1 - t)
        y = low + h * (s * t * t + d0 * t * (1 - t)) / under
        rise = 2 * jnp.log(s) + jnp.log(d1 * t * t + 2 * s * t * (1 - t) + d0 * (1 - t) ** 2) - 2 * jnp.log(under)
        return jnp.where(inside, y, x), jnp.where(inside, rise, 0)

    def loss(p, x):
        total = 0
        for i, (a, b, c) in enumerate(p):
            fixed, moved = jnp.split(x if i % 2 else x[:, ::-1], 2, 1)
            raw = jax.nn.silu(jax.nn.silu(fixed @ a) @ b) @ c
            moved, rise = spline(moved, raw.reshape(-1, 4, 35))
            x, total = jnp.concatenate([fixed, moved], 1), total + rise.sum(1)
        return (0.5 * (x ** 2).sum(1) - total).mean()
    return jax.value_and_grad(loss), (p, _n(r, 1024, 8)), ()


def diffusion_unet_bf16_step():
    """A small U-net that guesses noise: computes in bfloat16 with norms in float32, Adam, and an average of the weights."""
    r = _R(425)
    conv = lambda *s: _n(r, *s, scale=float(np.sqrt(1 / np.prod(s[:-1]))))
    block = lambda i, o: dict(a=conv(3, 3, i, o), b=conv(3, 3, o, o), time=conv(64, 2 * o), skip=conv(i, o))
    p = dict(first=conv(3, 3, 3, 32), down=block(32, 32), middle=block(64, 64), up=block(96, 32), wider=conv(3, 3, 32, 64),
             last=conv(3, 3, 32, 3))
    x = jnp.asarray(r.uniform(-1, 1, (4, 32, 32, 3)).astype(np.float32))

    def conv2(x, w, stride=1):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def norm(x):
        g = x.astype(jnp.float32).reshape(*x.shape[:3], 8, -1)
        g = (g - g.mean((1, 2, 4), keepdims=True)) * lax.rsqrt(g.var((1, 2, 4), keepdims=True) + 1e-5)
        return g.reshape(x.shape).astype(x.dtype)

    def residual(p, x, t):
        scale, shift = jnp.split((t @ p["time"])[:, None, None], 2, -1)
        z = conv2(jax.nn.silu(norm(x)), p["a"])
        return x @ p["skip"] + conv2(jax.nn.silu(norm(z) * (1 + scale) + shift), p["b"])

    def loss(p, key, x):
        p = jax.tree.map(lambda w: w.astype(jnp.bfloat16), p)
        a, b = jax.random.split(key)
        t = jax.random.uniform(a, (4,))
        noise = jax.random.normal(b, x.shape)
        keep = jnp.cos(t * jnp.pi / 2)[:, None, None, None]
        z = (keep * x + jnp.sqrt(1 - keep ** 2) * noise).astype(jnp.bfloat16)
        wave = 1000 * t[:, None] * jnp.exp(-np.log(1e4) * jnp.arange(32) / 32)
        t = jnp.concatenate([jnp.sin(wave), jnp.cos(wave)], -1).astype(jnp.bfloat16)
        high = residual(p["down"], conv2(z, p["first"]), t)
        low = residual(p["middle"], conv2(high, p["wider"], 2), t)
        low = jnp.repeat(jnp.repeat(low, 2, 1), 2, 2)
        out = conv2(jax.nn.silu(norm(residual(p["up"], jnp.concatenate([high, low], -1), t))), p["last"])
        return ((out.astype(jnp.float32) - noise) ** 2).mean()

    def step(p, m, v, mean, t, key, x):
        l, g = jax.value_and_grad(loss)(p, key, x)
        p, m, v = _adam(p, g, m, v, t, 2e-4)
        return p, m, v, jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b, mean, p), l
    return step, (p, *_moments(p), jax.tree.map(jnp.copy, p), jnp.float32(100), jax.random.PRNGKey(17), x), (0, 1, 2, 3)


def nf4_adapter_step():
    """Low-rank adapters over frozen weights of four bits: nibbles unpacked, looked up and scaled in bfloat16; AdamW on the adapters."""
    r = _R(426)
    levels = jnp.asarray(np.array([-1, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0, 0.0796, 0.1609, 0.2461, 0.3379, 0.4407,
                                   0.5626, 0.723, 1], np.float32))
    frozen = [dict(bits=jnp.asarray(r.randint(0, 256, (a, b // 2)).astype(np.uint8)), top=(1.5 + _n(r, a, b // 64, scale=0.2)) / np.sqrt(a))
              for a, b in ((384, 1024), (1024, 384))]
    p = [dict(a=_n(r, a, 16, scale=1 / np.sqrt(a)), b=_n(r, 16, b, scale=0.02)) for a, b in ((384, 1024), (1024, 384))]
    x, y = _n(r, 192, 384), _n(r, 192, 384)

    def layer(p, w, x, levels):
        nibbles = jnp.stack([w["bits"] >> 4, w["bits"] & 15], -1).astype(jnp.int32)
        blocks = levels[nibbles].reshape(*w["top"].shape, 64) * w["top"][..., None]
        full = blocks.reshape(blocks.shape[0], -1).astype(jnp.bfloat16)
        return x @ full + 2 * ((x @ p["a"].astype(jnp.bfloat16)) @ p["b"].astype(jnp.bfloat16))

    def loss(p, frozen, levels, x, y):
        z = layer(p[0], frozen[0], x.astype(jnp.bfloat16), levels)
        return ((layer(p[1], frozen[1], jax.nn.gelu(z), levels).astype(jnp.float32) - y) ** 2).mean()

    def step(p, m, v, t, frozen, levels, x, y):
        l, g = jax.value_and_grad(loss)(p, frozen, levels, x, y)
        new, m, v = _adam(p, g, m, v, t, 1e-3)
        return jax.tree.map(lambda n, p: n - 1e-5 * p, new, p), m, v, l
    return step, (p, *_moments(p), jnp.float32(100), frozen, levels, x, y), (0, 1, 2)


def delta_rule_grad():
    """Linear attention whose memory is corrected, not only added to: triangular inverses by doubling in chunks, a scan over them."""
    r = _R(427)
    p = dict(qkv=_n(r, 128, 3, 4, 32, scale=0.09), beta=_n(r, 128, 4, scale=0.09), out=_n(r, 4, 32, 128, scale=0.09))
    x = _n(r, 4, 512, 128)

    def loss(p, x):
        q, k, v = jnp.einsum("bncd,dthe->tbhnce", x.reshape(4, 16, 32, 128), p["qkv"])
        q, k = (jax.nn.silu(z) for z in (q, k))
        q, k = (z * lax.rsqrt((z ** 2).sum(-1, keepdims=True) + 1e-6) for z in (q, k))
        beta = jax.nn.sigmoid(jnp.einsum("bncd,dh->bhnc", x.reshape(4, 16, 32, 128), p["beta"]))[..., None]
        power = -jnp.tril(beta * jnp.einsum("bhnce,bhnde->bhncd", k, k), -1)
        inverse = jnp.eye(32) + power
        for _ in range(4):
            power = power @ power
            inverse = inverse + inverse @ power
        u, w = inverse @ (beta * v), inverse @ (beta * k)
        near = jnp.tril(jnp.einsum("bhnce,bhnde->bhncd", q, k))

        def chunk(memory, s):
            q, k, u, w, near = s
            u = u - w @ memory
            return memory + jnp.swapaxes(k, -1, -2) @ u, q @ memory + near @ u
        out = lax.scan(chunk, jnp.zeros((4, 4, 32, 32)), jax.tree.map(lambda z: jnp.moveaxis(z, 2, 0), (q, k, u, w, near)))[1]
        y = jnp.einsum("nbhce,hed->bncd", out, p["out"]).reshape(x.shape)
        return ((y[:, :-1] - x[:, 1:]) ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def shifted_window_bf16_grad():
    """Attention within windows of 8x8, then within shifted ones: biases by relative place, masks, checkpointed blocks in bfloat16."""
    r = _R(428)
    layer = lambda: dict(qkv=_n(r, 96, 288, scale=0.1), out=_n(r, 96, 96, scale=0.1), bias=_n(r, 225, 3, scale=0.1),
                         up=_n(r, 96, 192, scale=0.1), down=_n(r, 192, 96, scale=0.07))
    y, x = np.divmod(np.arange(64), 8)
    relative = jnp.asarray((y[:, None] - y + 7) * 15 + x[:, None] - x + 7)
    part = np.digitize(np.arange(32), [24, 28])
    region = (part[:, None] * 3 + part).reshape(4, 8, 4, 8).transpose(0, 2, 1, 3).reshape(16, 64)
    apart = jnp.asarray(np.where(region[:, :, None] == region[:, None], 0, -100).astype(np.float32))

    def norm(x):
        z = x.astype(jnp.float32)
        return ((z - z.mean(-1, keepdims=True)) * lax.rsqrt(z.var(-1, keepdims=True) + 1e-5)).astype(x.dtype)

    def block(p, x, shift):
        z = jnp.roll(norm(x), (-shift, -shift), (1, 2)).reshape(2, 4, 8, 4, 8, 96).transpose(0, 1, 3, 2, 4, 5).reshape(2, 16, 64, 96)
        q, k, v = jnp.moveaxis((z @ p["qkv"]).reshape(2, 16, 64, 3, 3, 32), 3, 0)
        s = jnp.einsum("bwqhd,bwkhd->bwhqk", q, k).astype(jnp.float32) * 32 ** -0.5 + p["bias"][relative].transpose(2, 0, 1)
        if shift:
            s = s + apart[:, None]
        z = jnp.einsum("bwhqk,bwkhd->bwqhd", jax.nn.softmax(s).astype(x.dtype), v).reshape(2, 4, 4, 8, 8, 96)
        z = jnp.roll(z.transpose(0, 1, 3, 2, 4, 5).reshape(2, 32, 32, 96), (shift, shift), (1, 2))
        x = x + z @ p["out"]
        return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]

    def loss(p, x):
        x = x.astype(jnp.bfloat16)
        for i, w in enumerate(p):
            w = jax.tree.map(lambda u: u.astype(jnp.bfloat16), w)
            x = jax.checkpoint(block, static_argnums=2)(w, x, 4 * (i % 2))
        return (norm(x).astype(jnp.float32).mean((1, 2)) ** 2).sum()
    return jax.value_and_grad(loss), ([layer(), layer()], _n(r, 2, 32, 32, 96)), ()


PROGRAMS = {f.__name__: f for f in [
    lattice_boltzmann, particle_in_cell, turbulence_spectral, ising_checkerboard, force_matching_grad, multigrid_poisson,
    stiff_kinetics_f64, lanczos_bisection, lbfgs_logistic, cox_newton_f64, stein_variational, elliptical_slice, boosted_trees,
    american_option, heston_calibration_grad, smith_waterman, felsenstein_pruning_grad, connected_components, gaussian_splatting_grad,
    sphere_tracing, morton_hierarchy, hash_grid_step, ppo_update, pendulum_evolution, vq_autoencoder_step, spline_flow_grad,
    diffusion_unet_bf16_step, nf4_adapter_step, delta_rule_grad, shifted_window_bf16_grad]}
