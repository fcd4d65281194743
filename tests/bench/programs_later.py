"""Ten more programs, chosen and sized before any of them was timed: signals, sparse graphs, samplers, factorisations, waves and losses as
JAX's users write them. Each builder returns (fn, args, donate_argnums)."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_R = np.random.RandomState


def _n(r, *s, scale=1.0, dtype=jnp.float32):
    return jnp.asarray((r.standard_normal(s) * scale).astype(np.float32)).astype(dtype)


def richardson_lucy():
    """Deblurring eight images: five rounds of convolutions by two-dimensional FFTs."""
    r = _R(300)
    images, kernel = jnp.asarray(r.uniform(0.1, 1, (8, 256, 256)).astype(np.float32)), jnp.asarray(r.uniform(0, 1, (9, 9)).astype(np.float32))

    def f(images, kernel):
        spectrum = jnp.fft.rfft2(kernel / kernel.sum(), (256, 256))
        blur = lambda x, s: jnp.fft.irfft2(jnp.fft.rfft2(x) * s, (256, 256))

        def sharper(_, x):
            return x * blur(images / jnp.maximum(blur(x, spectrum), 1e-4), spectrum.conj())
        return lax.fori_loop(0, 5, sharper, images)
    return f, (images, kernel), ()


def mel_spectrogram():
    """Frames of sixteen clips, windowed, transformed, by mel bands in decibels, normalised."""
    r = _R(301)
    bands = jnp.asarray(np.maximum(0, r.uniform(-1, 1, (257, 80))).astype(np.float32))

    def f(sound, bands):
        at = jnp.arange(0, sound.shape[1] - 512, 160)[:, None] + jnp.arange(512)[None]
        frames = sound[:, at] * jnp.hanning(512).astype(jnp.float32)
        power = jnp.abs(jnp.fft.rfft(frames)) ** 2
        mel = 10 * jnp.log10(jnp.maximum(power @ bands, 1e-10))
        mel = jnp.maximum(mel, mel.max(axis=(1, 2), keepdims=True) - 80)
        return (mel - mel.mean(1, keepdims=True)) / (mel.std(1, keepdims=True) + 1e-5)
    return f, (_n(r, 16, 16000, scale=0.1), bands), ()


def pagerank():
    """A sparse matrix in coordinates times a vector until it stands still."""
    r = _R(302)
    nodes, edges = 20000, 200000
    to, source = (jnp.asarray(r.randint(0, nodes, edges).astype(np.int32)) for _ in range(2))

    def f(to, source):
        degree = jax.ops.segment_sum(jnp.ones(edges), source, nodes)
        weight = 0.85 / jnp.maximum(degree, 1)[source]

        def step(s):
            rank, _, i = s
            new = jax.ops.segment_sum(rank[source] * weight, to, nodes) + 0.15 / nodes
            return new, jnp.abs(new - rank).sum(), i + 1
        return lax.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 30), step, (jnp.full(nodes, 1 / nodes), jnp.float32(1), 0))[0]
    return f, (to, source), ()


def nucleus_sampling():
    """Tokens among those that hold nine tenths of the probability: sort, running sum, Gumbel noise."""
    r = _R(303)

    def f(key, logits):
        order = jnp.argsort(-logits, axis=-1)
        p = jax.nn.softmax(jnp.take_along_axis(logits, order, -1), -1)
        kept = jnp.cumsum(p, -1) - p < 0.9
        pick = jax.random.categorical(key, jnp.where(kept, jnp.log(p), -jnp.inf), axis=-1)
        return jnp.take_along_axis(order, pick[:, None], -1)[:, 0]
    return f, (jax.random.PRNGKey(3), _n(r, 32, 32000, scale=2.0)), ()


def masked_lstm_grad():
    """A classifier over sequences of different lengths: an LSTM in both directions whose state stands still behind the end."""
    r = _R(304)
    p = dict(x=_n(r, 2, 64, 512, scale=0.1), h=_n(r, 2, 128, 512, scale=0.08), b=jnp.zeros((2, 512)), out=_n(r, 256, 5, scale=0.06))
    xs, lengths, y = _n(r, 120, 32, 64), jnp.asarray(r.randint(20, 121, 32).astype(np.int32)), jnp.asarray(r.randint(0, 5, 32).astype(np.int32))

    def loss(p, xs, lengths, y):
        def run(k, reverse):
            def cell(s, xt):
                (h, c), (x, t) = s, xt
                i, f, g, o = jnp.split(x @ p["x"][k] + h @ p["h"][k] + p["b"][k], 4, -1)
                new_c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                new_h = jax.nn.sigmoid(o) * jnp.tanh(new_c)
                on = (t < lengths)[:, None]
                return (jnp.where(on, new_h, h), jnp.where(on, new_c, c)), None
            zero = jnp.zeros((32, 128))
            return lax.scan(cell, (zero, zero), (xs, jnp.arange(120)), reverse=reverse)[0][0]
        logits = jnp.concatenate([run(0, False), run(1, True)], -1) @ p["out"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()
    return jax.value_and_grad(loss), (p, xs, lengths, y), ()


def deformable_attention_grad():
    """Each query reads four places for each of eight heads, bilinearly, where it says itself."""
    r = _R(305)
    p = dict(value=_n(r, 128, 128, scale=0.09), place=_n(r, 128, 64, scale=0.02), weight=_n(r, 128, 32, scale=0.09))
    x, q, at = _n(r, 2, 48, 48, 128), _n(r, 2, 600, 128), jnp.asarray(r.uniform(0.1, 0.9, (2, 600, 2)).astype(np.float32))

    def loss(p, x, q, at):
        v = (x @ p["value"]).reshape(2, 48, 48, 8, 16)
        place = jnp.clip(at[:, :, None, None] + (q @ p["place"]).reshape(2, 600, 8, 4, 2), 0, 0.999) * 47
        weight = jax.nn.softmax((q @ p["weight"]).reshape(2, 600, 8, 4))
        low = jnp.floor(place).astype(jnp.int32)
        part = place - low

        def read(dy, dx):
            b, h = jnp.arange(2)[:, None, None, None], jnp.arange(8)[None, None, :, None]
            amount = jnp.abs(1 - dy - part[..., 0]) * jnp.abs(1 - dx - part[..., 1])
            return v[b, jnp.minimum(low[..., 0] + dy, 47), jnp.minimum(low[..., 1] + dx, 47), h] * (amount * weight)[..., None]
        out = (read(0, 0) + read(0, 1) + read(1, 0) + read(1, 1)).sum(3)
        return (out ** 2).mean()
    return jax.value_and_grad(loss, argnums=(0, 1)), (p, x, q, at), ()


def alternating_least_squares():
    """Factors of users and items by ridge regressions: batches of small normal equations, solved by Cholesky."""
    r = _R(306)
    ratings = jnp.asarray(r.uniform(1, 5, (512, 384)).astype(np.float32))
    seen = jnp.asarray((r.uniform(size=(512, 384)) < 0.1).astype(np.float32))

    def f(users, items, ratings, seen):
        def solve(other, ratings, seen):
            a = jnp.einsum("uv,vi,vj->uij", seen, other, other) + 0.1 * jnp.eye(16)
            b = (ratings * seen) @ other
            return jax.vmap(lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a), True), b))(a, b)

        def both(_, s):
            users = solve(s[1], ratings, seen)
            return users, solve(users, ratings.T, seen.T)
        users, items = lax.fori_loop(0, 3, both, (users, items))
        return users, items, (seen * (users @ items.T - ratings) ** 2).sum() / seen.sum()
    return f, (_n(r, 512, 16), _n(r, 384, 16), ratings, seen), ()


def wave_inversion_grad():
    """The speed of waves from what a row of receivers hears: a stencil of fourth order over 150 steps, and its adjoint."""
    r = _R(307)
    speed = jnp.asarray(r.uniform(0.1, 0.3, (160, 160)).astype(np.float32))

    def loss(speed, heard):
        def laplacian(u):
            e = jnp.pad(u, 2)
            near = e[1:-3, 2:-2] + e[3:-1, 2:-2] + e[2:-2, 1:-3] + e[2:-2, 3:-1]
            far = e[:-4, 2:-2] + e[4:, 2:-2] + e[2:-2, :-4] + e[2:-2, 4:]
            return (16 * near - far - 60 * u) / 12

        def step(s, t):
            before, u = s
            new = 2 * u - before + speed * laplacian(u)
            new = new.at[20, 80].add(jnp.exp(-((t - 20.0) / 6) ** 2))
            return (u, new), new[10]
        zero = jnp.zeros((160, 160))
        return ((lax.scan(step, (zero, zero), jnp.arange(150.0))[1] - heard) ** 2).mean()
    return jax.value_and_grad(loss), (speed, _n(r, 150, 160, scale=0.1)), ()


def ctc_loss_grad():
    """Connectionist temporal classification: a forward recursion in logarithms over frames."""
    r = _R(308)
    logits = _n(r, 32, 200, 64)
    labels = jnp.asarray(r.randint(1, 64, (32, 40)).astype(np.int32))

    def loss(logits, labels):
        lp = jax.nn.log_softmax(logits)
        states = jnp.zeros((32, 81), jnp.int32).at[:, 1::2].set(labels)
        emitted = jnp.take_along_axis(lp, jnp.broadcast_to(states[:, None], (32, 200, 81)), 2).transpose(1, 0, 2)
        jumps = jnp.pad((states[:, 2:] != 0) & (states[:, 2:] != states[:, :-2]), ((0, 0), (2, 0)))

        def step(a, e):
            one = jnp.pad(a[:, :-1], ((0, 0), (1, 0)), constant_values=-1e5)
            two = jnp.where(jumps, jnp.pad(a[:, :-2], ((0, 0), (2, 0)), constant_values=-1e5), -1e5)
            return jnp.logaddexp(jnp.logaddexp(a, one), two) + e, None
        a = jnp.full((32, 81), -1e5).at[:, :2].set(emitted[0, :, :2])
        a, _ = lax.scan(step, a, emitted[1:])
        return -jnp.logaddexp(a[:, -1], a[:, -2]).mean()
    return jax.value_and_grad(loss), (logits, labels), ()


def mixture_em_f64():
    """Twelve Gaussians with full covariances fitted by expectation and maximisation in float64: the caller enables it."""
    r = _R(309)

    def f(x, means):
        def step(_, s):
            means, covs, weights = s
            root = jnp.linalg.cholesky(covs)
            d = x[None] - means[:, None]
            z = jax.vmap(lambda l, d: jax.scipy.linalg.solve_triangular(l, d.T, lower=True))(root, d)
            lp = -0.5 * (z ** 2).sum(1) - jnp.log(jnp.diagonal(root, axis1=1, axis2=2)).sum(1)[:, None] + jnp.log(weights)[:, None]
            p = jax.nn.softmax(lp, axis=0)
            n = p.sum(1)
            means = p @ x / n[:, None]
            d = x[None] - means[:, None]
            covs = jnp.einsum("kn,kni,knj->kij", p, d, d) / n[:, None, None] + 1e-3 * jnp.eye(6)
            return means, covs, n / x.shape[0]
        return lax.fori_loop(0, 8, step, (means, jnp.broadcast_to(jnp.eye(6), (12, 6, 6)), jnp.full(12, 1 / 12)))
    return f, (jnp.asarray(r.standard_normal((6000, 6))), jnp.asarray(r.standard_normal((12, 6)))), ()


mixture_em_f64.x64 = True

PROGRAMS = {f.__name__: f for f in [
    richardson_lucy, mel_spectrogram, pagerank, nucleus_sampling, masked_lstm_grad, deformable_attention_grad, alternating_least_squares,
    wave_inversion_grad, ctc_loss_grad, mixture_em_f64]}
