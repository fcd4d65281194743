"""Numerics, images, statistics and bits of yet other kinds, written before anything was tuned for them (programs_wild.py has the models)."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_R = np.random.RandomState


def _n(r, *s, scale=1.0, dtype=jnp.float32):
    return jnp.asarray((r.standard_normal(s) * scale).astype(np.float64 if dtype == jnp.float64 else np.float32)).astype(dtype)


def mri_reconstruction():
    """Compressed sensing: FFTs of complex images per coil, soft-thresholded differences, 8 iterations."""
    r = _R(730)
    n, coils = 96, 4
    maps = _n(r, coils, n, n).astype(jnp.complex64) * 0.3 + 1j * _n(r, coils, n, n) * 0.3
    mask = jnp.asarray((r.rand(n, n) < 0.4).astype(np.float32))

    def f(k, maps, mask):
        fwd = lambda x: mask * jnp.fft.fft2(maps * x, norm="ortho")
        back = lambda y: (maps.conj() * jnp.fft.ifft2(mask * y, norm="ortho")).sum(0)

        def step(x, _):
            x = x - 0.3 * back(fwd(x) - k)
            size = jnp.abs(x)
            return x * jnp.maximum(1 - 0.01 / jnp.maximum(size, 1e-6), 0), jnp.linalg.norm(fwd(x) - k)
        return lax.scan(step, back(k), None, length=8)
    k = (_n(r, coils, n, n) + 1j * _n(r, coils, n, n)) * mask
    return f, (k, maps, mask), ()


def randomised_svd():
    """A range found by three power iterations with QR, the small SVD."""
    r = _R(731)

    def f(a, omega):
        q = jnp.linalg.qr(a @ omega)[0]
        for _ in range(3):
            q = jnp.linalg.qr(a.T @ q)[0]
            q = jnp.linalg.qr(a @ q)[0]
        u, s, vt = jnp.linalg.svd(q.T @ a, full_matrices=False)
        return q @ u, s, vt
    return f, (_n(r, 1000, 400), _n(r, 400, 24)), ()


def bundle_adjustment_step():
    """Jacobians of reprojections by vmap(jacfwd), normal equations by segment sums, Schur complement with batched 3x3 inverses."""
    r = _R(732)
    cams, pts, obs = 12, 600, 6000

    def project(cam, x):
        w, t, f = cam[:3], cam[3:6], cam[6]
        th = jnp.sqrt((w ** 2).sum() + 1e-12)
        k = w / th
        y = x * jnp.cos(th) + jnp.cross(k, x) * jnp.sin(th) + k * (k @ x) * (1 - jnp.cos(th)) + t
        return f * y[:2] / (y[2] + 5)

    def f(c, x, ci, pi, seen):
        jc, jp = jax.vmap(jax.jacfwd(project, (0, 1)))(c[ci], x[pi])
        e = jax.vmap(project)(c[ci], x[pi]) - seen
        hcc = jax.ops.segment_sum(jnp.einsum("oij,oik->ojk", jc, jc), ci, cams) + 1e-3 * jnp.eye(7)
        hpp = jax.ops.segment_sum(jnp.einsum("oij,oik->ojk", jp, jp), pi, pts) + 1e-3 * jnp.eye(3)
        hcp = jnp.zeros((cams, pts, 7, 3)).at[ci, pi].add(jnp.einsum("oij,oik->ojk", jc, jp))
        gc = jax.ops.segment_sum(jnp.einsum("oij,oi->oj", jc, e), ci, cams)
        gp = jax.ops.segment_sum(jnp.einsum("oij,oi->oj", jp, e), pi, pts)
        inv = jnp.linalg.inv(hpp)
        y = jnp.einsum("cpij,pjk->cpik", hcp, inv)
        s = -jnp.einsum("cpik,dpjk->cidj", y, hcp)
        s = s.at[jnp.arange(cams), :, jnp.arange(cams)].add(hcc).reshape(cams * 7, cams * 7)
        dc = jnp.linalg.solve(s, (gc - jnp.einsum("cpik,pk->ci", y, gp)).reshape(-1)).reshape(cams, 7)
        dp = jnp.einsum("pij,pj->pi", inv, gp - jnp.einsum("cpij,ci->pj", hcp, dc))
        return c - dc, x - dp, (e ** 2).sum()
    c = jnp.concatenate([_n(r, cams, 6, scale=0.1), jnp.ones((cams, 1))], 1)
    return f, (c, _n(r, pts, 3), jnp.asarray(r.randint(0, cams, obs)), jnp.asarray(r.randint(0, pts, obs)), _n(r, obs, 2, scale=0.2)), ()


def ewald_forces():
    """Screened charges in a periodic box: erfc of all pairs in real space, structure factors in the other; forces by grad."""
    r = _R(733)
    n = 400

    def energy(x, q, ks):
        d = x[:, None] - x[None]
        d = d - jnp.round(d)
        r2 = (d ** 2).sum(-1) + jnp.eye(n)
        dist = jnp.sqrt(r2)
        real = (jnp.triu(q[:, None] * q * jax.scipy.special.erfc(5 * dist) / dist, 1)).sum()
        phase = 2 * jnp.pi * x @ ks.T
        k2 = (ks ** 2).sum(-1) * (2 * jnp.pi) ** 2
        s = ((q[:, None] * jnp.cos(phase)).sum(0)) ** 2 + ((q[:, None] * jnp.sin(phase)).sum(0)) ** 2
        return real + (2 * jnp.pi / k2 * jnp.exp(-k2 / 100) * s).sum()
    g = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 3), -1).reshape(-1, 3)
    ks = jnp.asarray(g[(g ** 2).sum(1) > 0].astype(np.float32))
    return jax.value_and_grad(energy), (jnp.asarray(r.rand(n, 3).astype(np.float32)), jnp.asarray(np.sign(r.randn(n)).astype(np.float32)), ks), ()


def maxwell_fdtd():
    """Two-dimensional FDTD by slices written into fields, absorbing borders, a source and a probe; 120 steps."""
    r = _R(734)
    n = 160

    def f(eps, damp):
        def step(state, t):
            ez, hx, hy = state
            hx = hx.at[:, :-1].add(-0.5 * (ez[:, 1:] - ez[:, :-1])) * damp
            hy = hy.at[:-1].add(0.5 * (ez[1:] - ez[:-1])) * damp
            curl = (hy[1:-1, 1:-1] - hy[:-2, 1:-1]) - (hx[1:-1, 1:-1] - hx[1:-1, :-2])
            ez = ez.at[1:-1, 1:-1].add(0.5 * curl / eps[1:-1, 1:-1]) * damp
            ez = ez.at[30, n // 2].add(jnp.sin(0.3 * t) * jnp.exp(-((t - 40) / 15) ** 2))
            return (ez, hx, hy), ez[n - 30, n // 2]
        return lax.scan(step, (jnp.zeros((n, n)),) * 3, jnp.arange(120.0))
    edge = np.minimum(np.arange(n), np.arange(n)[::-1])
    damp = 1 - 0.1 * np.clip(1 - np.minimum(edge[:, None], edge) / 12, 0, 1) ** 2
    return f, (jnp.asarray(1 + 2 * (r.rand(n, n) < 0.3).astype(np.float32)), jnp.asarray(damp.astype(np.float32))), ()


def shallow_water_f64():
    """Lax-Friedrichs steps of three conserved fields in float64, padding by reflection, time steps from the largest speed."""
    r = _R(735)

    def f(h, hu, hv):
        def flux(h, hu, hv):
            u, v = hu / h, hv / h
            p = 0.5 * 9.81 * h ** 2
            return (hu, hu * u + p, hv * u), (hv, hu * v, hv * v + p)

        def step(q, _):
            h, hu, hv = q
            dt = 0.4 / (jnp.abs(hu / h) + jnp.abs(hv / h) + jnp.sqrt(9.81 * h)).max()
            pad = [jnp.pad(a, 1, mode="edge") for a in q]
            fx, fy = flux(*pad)
            new = tuple((a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]) / 4
                        - dt / 2 * (x[1:-1, 2:] - x[1:-1, :-2] + y[2:, 1:-1] - y[:-2, 1:-1]) for a, x, y in zip(pad, fx, fy))
            return new, dt
        return lax.scan(step, (h, hu, hv), None, length=40)
    h = 1 + 0.3 * np.exp(-((np.mgrid[:128, :128] - 60) ** 2).sum(0) / 100)
    return f, (jnp.asarray(h), jnp.asarray(0.01 * r.randn(128, 128)), jnp.zeros((128, 128))), ()


def julia_set():
    """Complex iterations over a grid with escape counts, all points until the last escapes."""
    def f(z, c):
        def body(s):
            z, n, k = s
            inside = jnp.abs(z) <= 2
            return jnp.where(inside, z * z + c, z), n + inside, k + 1
        return lax.while_loop(lambda s: (s[2] < 80) & (jnp.abs(s[0]) <= 2).any(), body, (z, jnp.zeros(z.shape, jnp.int32), 0))[1]
    y, x = np.mgrid[-1.2:1.2:160j, -1.6:1.6:200j]
    return f, (jnp.asarray((x + 1j * y).astype(np.complex64)), jnp.complex64(-0.8 + 0.156j)), ()


def image_filters_uint8():
    """Median of 3x3 by a sort, dilation and erosion over windows of bytes, a histogram equalised through a table."""
    r = _R(737)

    def f(img):
        pad = jnp.pad(img, 1, mode="reflect")
        h, w = img.shape
        stack = jnp.stack([pad[i:i + h, j:j + w] for i in range(3) for j in range(3)], -1)
        median = jnp.sort(stack, -1)[..., 4]
        big = lax.reduce_window(median, np.uint8(0), lax.max, (5, 5), (1, 1), "SAME")
        small = lax.reduce_window(median, np.uint8(255), lax.min, (5, 5), (1, 1), "SAME")
        counts = jnp.bincount(median.reshape(-1), length=256)
        cdf = jnp.cumsum(counts)
        table = ((cdf - cdf[0]) * 255 // (cdf[-1] - cdf[0])).astype(jnp.uint8)
        return table[median], big - small
    return f, (jnp.asarray(r.randint(0, 256, (256, 256)).astype(np.uint8)),), ()


def shortest_paths():
    """Floyd-Warshall by a scan over pivots, and min-plus squaring with argmins."""
    r = _R(738)
    n = 160

    def f(d):
        def pivot(d, k):
            return jnp.minimum(d, d[:, k, None] + d[k]), None
        full, _ = lax.scan(pivot, d, jnp.arange(n))
        s = d[:, :, None] + d[None]
        return full, s.min(1), s.argmin(1)
    d = np.where(r.rand(n, n) < 0.1, r.rand(n, n), 1e3)
    np.fill_diagonal(d, 0)
    return f, (jnp.asarray(d.astype(np.float32)),), ()


def point_normals():
    """Nearest neighbours by top_k of distances, covariances gathered, normals by eigh of 3x3 batches."""
    r = _R(739)

    def f(x):
        d = (x ** 2).sum(1)[:, None] + (x ** 2).sum(1) - 2 * x @ x.T
        _, idx = lax.top_k(-d, 12)
        near = x[idx] - x[idx].mean(1, keepdims=True)
        cov = jnp.einsum("nki,nkj->nij", near, near) / 12
        v, u = jnp.linalg.eigh(cov)
        return v[:, 0] / v.sum(1), jnp.abs(u[:, :, 0])
    return f, (_n(r, 1200, 3),), ()


def chamfer_grad():
    """Chamfer distance of two clouds with its gradient: minima over all pairs, their places scattered to."""
    r = _R(740)

    def loss(x, y):
        d = ((x[:, None] - y[None]) ** 2).sum(-1)
        return d.min(1).mean() + d.min(0).mean()
    return jax.value_and_grad(loss, (0, 1)), (_n(r, 1500, 3), _n(r, 1800, 3)), ()


def topic_model_step():
    """Variational LDA: digamma and lgamma of Dirichlets, sparse counts as a dense matrix, float32."""
    r = _R(741)
    docs, words, k = 400, 800, 20

    def f(lam, gamma, counts):
        eb = jnp.exp(jax.scipy.special.digamma(lam) - jax.scipy.special.digamma(lam.sum(1, keepdims=True)))

        def step(gamma, _):
            et = jnp.exp(jax.scipy.special.digamma(gamma) - jax.scipy.special.digamma(gamma.sum(1, keepdims=True)))
            return 0.1 + et * ((counts / (et @ eb + 1e-9)) @ eb.T), None
        gamma, _ = lax.scan(step, gamma, None, length=10)
        et = jnp.exp(jax.scipy.special.digamma(gamma) - jax.scipy.special.digamma(gamma.sum(1, keepdims=True)))
        ratio = counts / (et @ eb + 1e-9)
        elbo = jax.scipy.special.gammaln(gamma).sum() - jax.scipy.special.gammaln(gamma.sum(1)).sum() + (counts * jnp.log(et @ eb + 1e-9)).sum()
        return 0.1 + eb * (et.T @ ratio), gamma, elbo
    return f, (jnp.asarray(r.gamma(2, 1, (k, words)).astype(np.float32)), jnp.asarray(r.gamma(2, 1, (docs, k)).astype(np.float32)),
               jnp.asarray(r.poisson(0.3, (docs, words)).astype(np.float32))), ()


def negative_binomial_f64_grad():
    """A regression's likelihood with lgamma in float64: value, gradient and Fisher's matrix."""
    r = _R(742)

    def nll(b, log_a, x, y):
        mu, a = jnp.exp(x @ b), jnp.exp(log_a)
        g = jax.scipy.special.gammaln
        return -(g(y + 1 / a) - g(1 / a) - g(y + 1) - jnp.log1p(a * mu) / a + y * (jnp.log(a * mu) - jnp.log1p(a * mu))).sum()

    def f(b, log_a, x, y):
        v, g = jax.value_and_grad(nll, (0, 1))(b, log_a, x, y)
        return v, g, jax.hessian(nll)(b, log_a, x, y)
    x = jnp.asarray(r.randn(4000, 8) * 0.3)
    return f, (jnp.asarray(r.randn(8) * 0.2), jnp.asarray(-0.5), x, jnp.asarray(r.poisson(2.0, 4000).astype(np.float64))), ()


def basket_option_quasi():
    """Van der Corput points by reversing bits, the normal's inverse, correlated paths, an Asian basket with its deltas."""
    r = _R(743)
    n, d = 16384, 6

    def f(spot, chol, shift):
        i = jnp.arange(n, dtype=jnp.uint32)
        x = i
        for s, m in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
            x = ((x >> s) & jnp.uint32(m)) | ((x & jnp.uint32(m)) << s)
        x = (x >> 16) | (x << 16)
        u = ((x[:, None] ^ shift) >> 8).astype(jnp.float32) / 2 ** 24 + 2.0 ** -26

        def price(spot):
            z = jax.scipy.special.ndtri(u) @ chol.T
            path = spot * jnp.exp(jnp.cumsum(jnp.stack([z, z[::-1]], 1) * 0.1 - 0.005, 1))
            return jnp.maximum(path.mean((1, 2)) - 1, 0).mean()
        return jax.value_and_grad(price)(spot)
    a = r.randn(d, d)
    chol = np.linalg.cholesky(a @ a.T / d + np.eye(d))
    return f, (jnp.ones(d), jnp.asarray(chol.astype(np.float32)), jnp.asarray(r.randint(0, 2 ** 31, d).astype(np.uint32))), ()


def soft_time_warping_grad():
    """Soft-DTW along anti-diagonals of a cost matrix, batched, with the gradient."""
    r = _R(744)
    b, n = 16, 64

    def loss(x, y):
        cost = ((x[:, :, None] - y[:, None]) ** 2).sum(-1)
        i = jnp.arange(n)

        def diag(carry, k):
            one, two = carry
            j = k - i
            c = jnp.where((j >= 0) & (j < n), cost[:, i, jnp.clip(j, 0, n - 1)], 1e6)
            up = jnp.concatenate([jnp.full((b, 1), 1e6), one[:, :-1]], 1)
            corner = jnp.concatenate([jnp.where(k == 0, jnp.zeros((b, 1)), jnp.full((b, 1), 1e6)), two[:, :-1]], 1)
            soft = -0.1 * jax.nn.logsumexp(-jnp.stack([one, up, corner]) / 0.1, 0)
            new = c + soft
            return (new, one), None
        start = jnp.full((b, n), 1e6)
        (last, _), _ = lax.scan(diag, (start, start), jnp.arange(2 * n - 1))
        return last[:, -1].mean()
    return jax.value_and_grad(loss), (_n(r, b, n, 4), _n(r, b, n, 4)), ()


def rolling_returns_f64():
    """Rolling means, deviations and correlations by cumulative sums, ranks, percentiles and drawdowns of a panel, float64."""
    r = _R(745)

    def f(p):
        x = jnp.diff(jnp.log(p), axis=0)
        c = jnp.cumsum(jnp.pad(x, ((1, 0), (0, 0))), 0)
        c2 = jnp.cumsum(jnp.pad(x ** 2, ((1, 0), (0, 0))), 0)
        w = 20
        mean = (c[w:] - c[:-w]) / w
        dev = jnp.sqrt(jnp.maximum((c2[w:] - c2[:-w]) / w - mean ** 2, 0))
        rank = jnp.argsort(jnp.argsort(mean / (dev + 1e-9), 1), 1)
        weight = jnp.select([rank < 6, rank >= 54], [-1.0, 1.0], 0.0) / 12
        pnl = (weight[:-1] * x[w:]).sum(1)
        wealth = jnp.cumsum(pnl)
        return jnp.percentile(x, jnp.array([1.0, 5.0, 50.0]), axis=0), (wealth - lax.cummax(wealth)).min(), jnp.corrcoef(x.T), pnl
    return f, (jnp.asarray(np.exp(np.cumsum(r.randn(1000, 60) * 0.01, 0))),), ()


def bootstrap_medians():
    """Resampling with replacement by random indices, medians and trimmed means of each, and a permutation test."""
    r = _R(746)

    def f(x, y, key):
        a, b = jax.random.split(key)
        idx = jax.random.randint(a, (400, x.shape[0]), 0, x.shape[0])
        s = jnp.sort(x[idx], 1)
        med, trim = s[:, x.shape[0] // 2], s[:, 50:-50].mean(1)
        both = jnp.concatenate([x, y])
        perm = jax.vmap(lambda k: jax.random.permutation(k, both))(jax.random.split(b, 100))
        diff = perm[:, :x.shape[0]].mean(1) - perm[:, x.shape[0]:].mean(1)
        return med.std(), trim.std(), (jnp.abs(diff) >= jnp.abs(x.mean() - y.mean())).mean()
    return f, (_n(r, 600), _n(r, 600) + 0.1, jax.random.key(5)), ()


def draws_of_distributions():
    """Gamma, beta, Poisson, Dirichlet, Student's t and truncated normal draws."""
    def f(key):
        k = jax.random.split(key, 6)
        return (jax.random.gamma(k[0], 2.3, (20000,)), jax.random.beta(k[1], 0.7, 1.4, (8000,)), jax.random.poisson(k[2], 6.0, (20000,)),
                jax.random.dirichlet(k[3], jnp.ones(8), (1500,)), jax.random.t(k[4], 4.0, (8000,)), jax.random.truncated_normal(k[5], -1, 2, (40000,)))
    return f, (jax.random.key(9),), ()


def hamming_search():
    """Codes packed from signs, distances by population counts of xor, the nearest ten."""
    r = _R(748)

    def f(x, q, planes):
        pack = lambda a: ((a @ planes > 0).reshape(a.shape[0], 4, 32).astype(jnp.uint32) << jnp.arange(32, dtype=jnp.uint32)).sum(-1, dtype=jnp.uint32)
        d = lax.population_count(pack(q)[:, None] ^ pack(x)[None]).sum(-1)
        v, i = lax.top_k(-d.astype(jnp.int32), 10)
        return -v, i
    return f, (_n(r, 8000, 32), _n(r, 64, 32), _n(r, 32, 128)), ()


def rolling_hash_uint32():
    """Rolling hashes of all windows by an associative scan in uint32, duplicates by sorting, minimisers by windows."""
    r = _R(749)

    def f(s):
        p = jnp.uint32(16777619)

        def combine(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]
        powers, h = lax.associative_scan(combine, (jnp.full(s.shape, p), s.astype(jnp.uint32)))
        w = 16
        key = h[w:] - h[:-w] * powers[w - 1]
        key = (key ^ (key >> 15)) * jnp.uint32(2246822519)
        key = key ^ (key >> 13)
        small = lax.reduce_window(key, jnp.uint32(0xFFFFFFFF), lax.min, (10,), (1,), "VALID")
        order = jnp.sort(key)
        return small, (order[1:] == order[:-1]).sum()
    return f, (jnp.asarray(r.randint(0, 4, 60000)),), ()


def tables_and_pieces():
    """Interpolation in tables, piecewise functions, digitised values, a two-dimensional histogram."""
    r = _R(750)

    def f(x, y, xp, fp):
        a = jnp.interp(x, xp, fp)
        b = jnp.piecewise(y, [y < -1, (y >= -1) & (y < 1), y >= 1], [lambda v: -v, lambda v: v ** 2, lambda v: jnp.sqrt(v)])
        c = jnp.select([a < -0.5, a < 0.0, a < 0.5], [a * 2, b, a + b], jnp.sin(a))
        d = jnp.digitize(c, xp)
        h = jnp.zeros((32, 32)).at[jnp.clip((x * 4 + 16).astype(jnp.int32), 0, 31), jnp.clip((y * 4 + 16).astype(jnp.int32), 0, 31)].add(1)
        return jnp.bincount(d, length=66), h, jnp.trapezoid(c.reshape(200, -1), axis=0), c
    return f, (_n(r, 100000), _n(r, 100000), jnp.linspace(-3, 3, 64), jnp.sin(jnp.linspace(-3, 3, 64))), ()


def matrix_product_states():
    """A chain of complex tensors: overlaps by transfers, a two-site gate applied and split by SVD."""
    r = _R(751)
    n, d = 16, 24
    c = lambda *s: (_n(r, *s) + 1j * _n(r, *s)) * 0.2

    def f(a, gate):
        def transfer(e, t):
            return jnp.einsum("ab,aic,bid->cd", e, t, t.conj()), None
        e, _ = lax.scan(transfer, jnp.eye(d, dtype=jnp.complex64), a)
        theta = jnp.einsum("aib,bjc,ijkl->akcl", a[3], a[4], gate).transpose(0, 1, 3, 2).reshape(d * 2, 2 * d)
        s = jnp.linalg.svd(theta, compute_uv=False)
        p = s ** 2 / (s ** 2).sum()
        return jnp.trace(e), -(p * jnp.log(p + 1e-12)).sum(), jnp.einsum("naib,ncid->nacbd", a[:4], a[:4].conj()).reshape(4, d * d, d * d).sum(1)
    return f, (c(n, d, 2, d), c(2, 2, 2, 2)), ()


def rasteriser_grad():
    """Triangles drawn softly: barycentric coordinates of all pixels, depths sorted by softmax, gradient to the corners."""
    r = _R(752)
    faces, size = 60, 64

    def loss(v, colour, target):
        y, x = jnp.meshgrid(jnp.linspace(-1, 1, size), jnp.linspace(-1, 1, size), indexing="ij")

        def one(t):
            a, b, c = t[0, :2], t[1, :2], t[2, :2]
            den = (b[1] - c[1]) * (a[0] - c[0]) + (c[0] - b[0]) * (a[1] - c[1])
            den = jnp.where(jnp.abs(den) < 1e-3, 1e-3, den)
            u = ((b[1] - c[1]) * (x - c[0]) + (c[0] - b[0]) * (y - c[1])) / den
            w = ((c[1] - a[1]) * (x - c[0]) + (a[0] - c[0]) * (y - c[1])) / den
            inside = jnp.minimum(jnp.minimum(u, w), 1 - u - w)
            return jax.nn.sigmoid(inside * 20), u * t[0, 2] + w * t[1, 2] + (1 - u - w) * t[2, 2]
        cover, depth = jax.vmap(one)(v)
        weight = cover * jnp.exp(jnp.clip(-depth, -5, 5))
        image = jnp.einsum("fyx,fc->yxc", weight, colour) / (weight.sum(0)[..., None] + 0.1)
        return ((image - target) ** 2).mean()
    return jax.grad(loss, (0, 1)), (_n(r, faces, 3, 3, scale=0.5), jnp.asarray(r.rand(faces, 3).astype(np.float32)), jnp.asarray(r.rand(size, size, 3).astype(np.float32))), ()


def optical_flow():
    """Lucas-Kanade on two images: gradients, windowed sums of products, 2x2 solves, a warp by bilinear sampling, three rounds."""
    r = _R(753)

    def f(a, b):
        h, w = a.shape
        y, x = jnp.meshgrid(jnp.arange(h, dtype=jnp.float32), jnp.arange(w, dtype=jnp.float32), indexing="ij")
        box = lambda m: lax.reduce_window(m, 0.0, lax.add, (9, 9), (1, 1), "SAME")
        gx, gy = jnp.gradient(a, axis=1), jnp.gradient(a, axis=0)
        xx, xy, yy = box(gx * gx), box(gx * gy), box(gy * gy)
        det = xx * yy - xy ** 2 + 1e-3

        def step(flow, _):
            u, v = flow
            warped = jax.scipy.ndimage.map_coordinates(b, [y + v, x + u], order=1, mode="nearest")
            t = warped - a
            p, q = box(gx * t), box(gy * t)
            return (u - (yy * p - xy * q) / det, v - (xx * q - xy * p) / det), (t ** 2).mean()
        return lax.scan(step, (jnp.zeros_like(a),) * 2, None, length=3)
    img = np.cumsum(np.cumsum(r.randn(160, 160), 0), 1).astype(np.float32)
    img = (img - img.mean()) / img.std()
    return f, (jnp.asarray(img), jnp.asarray(np.roll(img, (1, 2), (0, 1)))), ()


def baum_welch_f64():
    """One EM step of a hidden Markov model: scaled forward and backward passes by scans, expected counts, float64."""
    r = _R(754)
    k, m, t = 16, 40, 800

    def f(start, trans, emit, obs):
        def forward(a, o):
            a = (a @ trans) * emit[:, o]
            s = a.sum()
            return a / s, (a / s, s)
        first = start * emit[:, obs[0]]
        first = first / first.sum()
        _, (alpha, scale) = lax.scan(forward, first, obs[1:])
        alpha = jnp.concatenate([first[None], alpha])

        def backward(b, x):
            o, s = x
            b = trans @ (emit[:, o] * b) / s
            return b, b
        _, beta = lax.scan(backward, jnp.ones(k), (obs[1:], scale), reverse=True)
        beta = jnp.concatenate([beta, jnp.ones((1, k))])
        gamma = alpha * beta
        gamma = gamma / gamma.sum(1, keepdims=True)
        xi = jnp.einsum("ti,ij,tj->ij", alpha[:-1] / scale[:, None], trans, (emit[:, obs[1:]].T * beta[1:]))
        e = jax.ops.segment_sum(gamma, obs, m).T
        return gamma[0], xi / xi.sum(1, keepdims=True), e / e.sum(1, keepdims=True), jnp.log(scale).sum()
    p = lambda *s: jnp.asarray(r.dirichlet(np.ones(s[-1]), s[:-1]))
    return f, (p(k), p(k, k), p(k, m), jnp.asarray(r.randint(0, m, t))), ()


def spherical_harmonics_f64():
    """Legendre recurrences over orders and degrees, float64, of many directions."""
    r = _R(755)

    def f(th, ph):
        x, s = jnp.cos(th), jnp.sin(th)
        out, pmm = [], jnp.ones_like(x)
        for m in range(9):
            a, b = pmm, x * (2 * m + 1) * pmm
            rows = [a, b]
            for l in range(m + 2, 9):
                a, b = b, ((2 * l - 1) * x * b - (l + m - 1) * a) / (l - m)
                rows.append(b)
            for row in rows[:9 - m]:
                out += [row * jnp.cos(m * ph), row * jnp.sin(m * ph)]
            pmm = -(2 * m + 1) * s * pmm
        return jnp.stack(out, -1)
    return f, (jnp.asarray(r.rand(8000) * np.pi), jnp.asarray(r.rand(8000) * 2 * np.pi)), ()


for _f in (shallow_water_f64, negative_binomial_f64_grad, rolling_returns_f64, baum_welch_f64, spherical_harmonics_f64,):
    _f.x64 = True
PROGRAMS = {f.__name__: f for f in [
    mri_reconstruction, randomised_svd, bundle_adjustment_step, ewald_forces, maxwell_fdtd, shallow_water_f64, julia_set,
    image_filters_uint8, shortest_paths, point_normals, chamfer_grad, topic_model_step, negative_binomial_f64_grad,
    basket_option_quasi, soft_time_warping_grad, rolling_returns_f64, bootstrap_medians, draws_of_distributions, hamming_search,
    rolling_hash_uint32, tables_and_pieces, matrix_product_states, rasteriser_grad, optical_flow, baum_welch_f64,
    spherical_harmonics_f64]}
