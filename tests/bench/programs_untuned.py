"""Programs that nobody tuned for: what JAX's users run beside the twenty of programs.py. They were chosen with their sizes before the
kernels that they use were made faster; none is removed. Each builder returns (fn, args, donate_argnums); XLA takes at least 1 ms."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_R = np.random.RandomState
_KEY = lambda n: jax.random.PRNGKey(n)


def _n(r, *s, scale=None, dtype=jnp.float32):
    a = r.standard_normal(s).astype(np.float32)
    if scale is None:
        scale = 1.0 / np.sqrt(np.prod(s[:-1])) if len(s) >= 2 else 1.0
    return jnp.asarray(a * np.float32(scale)).astype(dtype)


def _conv(x, w, stride=1, padding="SAME", dims=("NHWC", "HWIO", "NHWC"), **more):
    spatial = x.ndim - 2
    return lax.conv_general_dilated(x, w, (stride,) * spatial, padding, dimension_numbers=dims, **more)


def _filter(r, *s, dtype=jnp.float32):
    return _n(r, *s, scale=float(np.sqrt(2.0 / np.prod(s[:-1]))), dtype=dtype)


# ---------------------------------------------------------------- convolutions
def deconv_generator_grad():
    """A generator of images: transposed convolutions with stride 2."""
    r = _R(100)
    p = [_filter(r, 4, 4, 64, 64), _filter(r, 4, 4, 64, 32), _filter(r, 4, 4, 32, 3)]
    z = _n(r, 16, 8, 8, 64, scale=1.0)

    def loss(p, z):
        for i, w in enumerate(p):
            z = lax.conv_transpose(z, w, (2, 2), "SAME")
            z = jnp.tanh(z) if i == 2 else jax.nn.relu(z)
        return (z ** 2).mean()
    return jax.value_and_grad(loss), (p, z), ()


def strided_encoder_grad():
    """Convolutions with stride 2, NCHW as PyTorch users have it."""
    r = _R(101)
    dims = ("NCHW", "OIHW", "NCHW")
    p = [_n(r, 32, 3, 5, 5, scale=0.1), _n(r, 64, 32, 3, 3, scale=0.06), _n(r, 64, 64, 3, 3, scale=0.05)]
    x = _n(r, 16, 3, 64, 64, scale=1.0)

    def loss(p, x):
        for w in p:
            x = jax.nn.gelu(_conv(x, w, 2, dims=dims))
        return (x ** 2).mean()
    return jax.value_and_grad(loss, argnums=(0, 1)), (p, x), ()


def depthwise_separable_grad():
    r = _R(102)
    p = [(_filter(r, 3, 3, 1, 64), _filter(r, 1, 1, 64, 64)) for _ in range(3)]
    x = _n(r, 8, 32, 32, 64, scale=1.0)

    def loss(p, x):
        for d, w in p:
            x = jax.nn.relu(_conv(x, d, feature_group_count=64))
            x = jax.nn.relu(_conv(x, w))
        return (x ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def wavenet_grad():
    """Dilated causal convolutions over time."""
    r = _R(103)
    p = [(_filter(r, 2, 64, 64), _filter(r, 2, 64, 64)) for _ in range(6)]
    x = _n(r, 4, 2048, 64, scale=1.0)

    def loss(p, x):
        for i, (f, g) in enumerate(p):
            c = lambda w: _conv(x, w, 1, [(2 ** i, 0)], ("NWC", "WIO", "NWC"), rhs_dilation=(2 ** i,))
            x = x + jnp.tanh(c(f)) * jax.nn.sigmoid(c(g))
        return (x ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def video_conv3d_grad():
    r = _R(104)
    p = [_filter(r, 3, 3, 3, 3, 16), _filter(r, 3, 3, 3, 16, 32)]
    x = _n(r, 2, 8, 24, 24, 3, scale=1.0)

    def loss(p, x):
        for w, s in zip(p, (1, 2)):
            x = jax.nn.relu(_conv(x, w, s, dims=("NDHWC", "DHWIO", "NDHWC")))
        return (x ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def cnn_pool_grad():
    """Convolutions, max pooling and batch normalisation: a small classifier."""
    r = _R(105)
    p = dict(a=_filter(r, 3, 3, 3, 32), b=_filter(r, 3, 3, 32, 64), fc=_n(r, 8 * 8 * 64, 10))
    x, y = _n(r, 32, 32, 32, 3, scale=1.0), jnp.asarray(r.randint(0, 10, 32).astype(np.int32))

    def loss(p, x, y):
        for name in "ab":
            x = _conv(x, p[name])
            x = jax.nn.relu((x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        lp = jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ p["fc"])
        return -jnp.take_along_axis(lp, y[:, None], 1).mean()
    return jax.value_and_grad(loss), (p, x, y), ()


# ---------------------------------------------------------------- narrow types
def attention_bf16_grad():
    r = _R(110)
    h = jnp.bfloat16
    w = [_n(r, 256, 256, dtype=h) for _ in range(4)]
    x = _n(r, 4, 256, 256, scale=1.0, dtype=h)

    def loss(w, x):
        q, k, v = [(x @ u).reshape(4, 256, 4, 64).transpose(0, 2, 1, 3) for u in w[:3]]
        a = jnp.einsum("bhqd,bhkd->bhqk", q, k) / h(8)
        a = jax.nn.softmax(a.astype(jnp.float32), -1).astype(h)
        o = jnp.einsum("bhqk,bhkd->bhqd", a, v).transpose(0, 2, 1, 3).reshape(4, 256, 256)
        return ((o @ w[3]).astype(jnp.float32) ** 2).mean()
    return jax.value_and_grad(loss), (w, x), ()


def accumulate_bf16():
    """Gradients of four microbatches, added up in float32 by a scan; the network computes in bfloat16."""
    r = _R(111)
    w = [_n(r, 512, 1024), _n(r, 1024, 512)]
    x = _n(r, 4, 128, 512, scale=1.0)

    def loss(w, x):
        a, b = [u.astype(jnp.bfloat16) for u in w]
        return ((jax.nn.gelu(x.astype(jnp.bfloat16) @ a) @ b).astype(jnp.float32) ** 2).mean()

    def step(w, x):
        def one(total, xb):
            l, g = jax.value_and_grad(loss)(w, xb)
            return jax.tree.map(jnp.add, total, g), l
        g, losses = lax.scan(one, jax.tree.map(jnp.zeros_like, w), x)
        return jax.tree.map(lambda u, d: u - 0.01 * d / 4, w, g), losses.mean()
    return step, (w, x), (0,)


def quantised_mlp_int8():
    """Layers of int8 weights and activations, sums in int32, a scale for each channel."""
    r = _R(112)
    w = [jnp.asarray(r.randint(-127, 128, (512, 512)).astype(np.int8)) for _ in range(3)]
    s = [jnp.asarray(r.uniform(1e-4, 2e-4, 512).astype(np.float32)) for _ in range(3)]
    x = jnp.asarray(r.randint(-127, 128, (1024, 512)).astype(np.int8))

    def f(w, s, x):
        for u, c in zip(w, s):
            y = lax.dot_general(x, u, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32).astype(jnp.float32) * c
            x = jnp.clip(jnp.round(y * 20), -127, 127).astype(jnp.int8)
        return x
    return f, (w, s, x), ()


def decode_int8_weights():
    """Decoding with int8 weights that are widened in front of each product."""
    r = _R(113)
    w = jnp.asarray(r.randint(-127, 128, (16, 512, 512)).astype(np.int8))
    s = jnp.asarray(r.uniform(1e-3, 2e-3, (16, 512)).astype(np.float32))

    def f(w, s, x):
        def layer(h, ws):
            return jnp.tanh(h @ (ws[0].astype(jnp.float32) * ws[1])), None
        return lax.scan(layer, x, (w, s))[0]
    return f, (w, s, _n(r, 8, 512, scale=1.0)), ()


# ---------------------------------------------------------------- decoders
def beam_search():
    """top_k over a vocabulary in a loop."""
    r = _R(120)
    w, e = _n(r, 64, 8192), _n(r, 8192, 64, scale=1.0)

    def f(w, e):
        def step(_, s):
            tokens, scores = s
            lp = jax.nn.log_softmax(e[tokens] @ w) + scores[:, None]
            best, at = lax.top_k(lp.reshape(-1), 8)
            return (at % 8192).astype(jnp.int32), best
        return lax.fori_loop(0, 20, step, (jnp.arange(8, dtype=jnp.int32), jnp.zeros(8)))
    return f, (w, e), ()


def kv_cache_decode():
    """Sixty-four tokens of one attention layer with a cache that is written in place."""
    r = _R(121)
    w = _n(r, 256, 768)

    def f(w, x, cache):
        def step(i, s):
            x, c = s
            q, k, v = jnp.split(x @ w, 3, -1)
            c = lax.dynamic_update_slice(c, jnp.stack([k, v])[:, :, None], (0, 0, i, 0))
            a = jnp.einsum("bd,btd->bt", q, c[0]) / 16.0
            a = jax.nn.softmax(jnp.where(jnp.arange(256) <= i, a, -1e9), -1)
            return jnp.tanh(jnp.einsum("bt,btd->bd", a, c[1]) + x), c
        return lax.fori_loop(0, 64, step, (x, cache))
    return f, (w, _n(r, 8, 256, scale=1.0), jnp.zeros((2, 8, 256, 256))), (2,)


def viterbi():
    r = _R(122)

    def f(t, emissions):
        def step(score, e):
            s = score[:, :, None] + t
            return s.max(1) + e, s.argmax(1)
        score, back = lax.scan(step, emissions[0], emissions[1:])

        def walk(tag, b):
            tag = jnp.take_along_axis(b, tag[:, None], 1)[:, 0]
            return tag, tag
        last = score.argmax(-1)
        return score.max(-1), lax.scan(walk, last, back, reverse=True)[1]
    return f, (_n(r, 48, 48, scale=1.0), _n(r, 200, 16, 48, scale=1.0)), ()


# ---------------------------------------------------------------- recurrences and solvers
def gru_grad():
    r = _R(130)
    p = (_n(r, 64, 192), _n(r, 64, 192), jnp.zeros(192))
    xs = _n(r, 100, 16, 64, scale=1.0)

    def loss(p, xs):
        wx, wh, b = p

        def cell(h, x):
            a, c = x @ wx + b, h @ wh
            z = jax.nn.sigmoid(a[:, :64] + c[:, :64])
            q = jax.nn.sigmoid(a[:, 64:128] + c[:, 64:128])
            h = (1 - z) * h + z * jnp.tanh(a[:, 128:] + q * c[:, 128:])
            return h, h
        return (lax.scan(cell, jnp.zeros((16, 64)), xs)[1] ** 2).mean()
    return jax.value_and_grad(loss), (p, xs), ()


def neural_ode_grad():
    """Runge-Kutta steps, each checkpointed, in a scan."""
    r = _R(131)
    p = (_n(r, 32, 64), _n(r, 64, 32))
    x = _n(r, 64, 32, scale=1.0)

    def loss(p, x):
        field = lambda x: jnp.tanh(x @ p[0]) @ p[1]

        @jax.checkpoint
        def step(x, _):
            k1 = field(x)
            k2 = field(x + 0.025 * k1)
            k3 = field(x + 0.025 * k2)
            k4 = field(x + 0.05 * k3)
            return x + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None
        return (lax.scan(step, x, None, length=100)[0] ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def conjugate_gradient():
    r = _R(132)
    a = r.standard_normal((768, 768)).astype(np.float32)
    a = jnp.asarray(a @ a.T / 768 + np.eye(768, dtype=np.float32))

    def f(a, b):
        def more(s):
            return (s[3] > 1e-8) & (s[4] < 200)

        def step(s):
            x, res, d, rr, i = s
            q = a @ d
            alpha = rr / (d @ q)
            x, res = x + alpha * d, res - alpha * q
            new = res @ res
            return x, res, res + new / rr * d, new, i + 1
        return lax.while_loop(more, step, (jnp.zeros_like(b), b, b, b @ b, 0))[0]
    return f, (a, _n(r, 768)), ()


def heat_stencil():
    r = _R(133)

    def f(u):
        def step(_, u):
            e = jnp.pad(u, 1, mode="edge")
            return u + 0.2 * (e[2:, 1:-1] + e[:-2, 1:-1] + e[1:-1, 2:] + e[1:-1, :-2] - 4 * u)
        return lax.fori_loop(0, 50, step, u)
    return f, (_n(r, 512, 512, scale=1.0),), (0,)


def sinkhorn():
    """Optimal transport: logsumexp over rows and columns in turn."""
    r = _R(134)
    x, y = _n(r, 512, 3, scale=1.0), _n(r, 768, 3, scale=1.0)

    def f(x, y):
        c = -((x[:, None] - y[None]) ** 2).sum(-1) / 0.1

        def step(_, s):
            f, g = s
            f = -jax.nn.logsumexp(c + g[None], axis=1)
            return f, -jax.nn.logsumexp(c + f[:, None], axis=0)
        return lax.fori_loop(0, 10, step, (jnp.zeros(512), jnp.zeros(768)))
    return f, (x, y), ()


def linear_recurrence():
    """A state space model by associative_scan."""
    r = _R(135)
    a, b = jnp.asarray(r.uniform(0.8, 1, (1024, 256)).astype(np.float32)), _n(r, 1024, 256, scale=1.0)

    def f(a, b):
        return lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))[1]
    return f, (a, b), ()


# ---------------------------------------------------------------- samplers
def particle_filter():
    """Resampling with searchsorted in a scan."""
    r = _R(140)

    def f(key, ys):
        def step(s, y):
            x, key = s
            key, k1, k2 = jax.random.split(key, 3)
            x = 0.9 * x + jax.random.normal(k1, x.shape)
            w = jax.nn.softmax(-0.5 * (x - y) ** 2)
            u = (jnp.arange(4096) + jax.random.uniform(k2)) / 4096
            x = x[jnp.clip(jnp.searchsorted(jnp.cumsum(w), u), 0, 4095)]
            return (x, key), x.mean()
        return lax.scan(step, (jnp.zeros(4096), key), ys)[1]
    return f, (_KEY(1), _n(r, 50, scale=1.0)), ()


def hamiltonian_sampler():
    """Logistic regression by Hamiltonian Monte Carlo: 20 trajectories of 10 leapfrog steps."""
    r = _R(141)
    x, y = _n(r, 1000, 32, scale=1.0), jnp.asarray((r.uniform(size=1000) > 0.5).astype(np.float32))

    def f(key, x, y):
        energy = lambda q: (jax.nn.softplus(x @ q) - y * (x @ q)).sum() + 0.5 * (q ** 2).sum()

        def trajectory(q, key):
            k1, k2 = jax.random.split(key)
            p0 = jax.random.normal(k1, q.shape)

            def leap(s, _):
                q, p = s
                p = p - 0.005 * jax.grad(energy)(q)
                q = q + 0.01 * p
                return (q, p - 0.005 * jax.grad(energy)(q)), None
            (q1, p1), _ = lax.scan(leap, (q, p0), None, length=10)
            accept = jnp.log(jax.random.uniform(k2)) < energy(q) - energy(q1) + 0.5 * (p0 @ p0 - p1 @ p1)
            q = jnp.where(accept, q1, q)
            return q, q
        return lax.scan(trajectory, jnp.zeros(32), jax.random.split(key, 20))[1]
    return f, (_KEY(2), x, y), ()


def categorical_sampling():
    r = _R(142)

    def f(key, logits):
        best, at = lax.top_k(logits, 40)
        pick = jax.random.categorical(key, best / 0.8)
        return jnp.take_along_axis(at, pick[:, None], 1)[:, 0]
    return f, (_KEY(3), _n(r, 64, 32000, scale=1.0)), ()


# ---------------------------------------------------------------- sparse and irregular
def graph_network_grad():
    """Messages along edges: gathers and segment sums."""
    r = _R(150)
    w = [_n(r, 64, 64) for _ in range(2)]
    x = _n(r, 4096, 64, scale=1.0)
    s, t = (jnp.asarray(r.randint(0, 4096, 32768).astype(np.int32)) for _ in range(2))

    def loss(w, x, s, t):
        for u in w:
            m = jax.nn.relu(x[s] @ u)
            x = x + jax.ops.segment_sum(m, t, 4096) / 8
        return (x ** 2).mean()
    return jax.value_and_grad(loss), (w, x, s, t), ()


def expert_router_grad():
    """A mixture of experts: top-2 routing, one-hot dispatch."""
    r = _R(151)
    p = dict(gate=_n(r, 128, 8), up=_n(r, 8, 128, 256, scale=0.09), down=_n(r, 8, 256, 128, scale=0.06))
    x = _n(r, 512, 128, scale=1.0)

    def loss(p, x):
        g, at = lax.top_k(jax.nn.softmax(x @ p["gate"]), 2)
        hot = (jax.nn.one_hot(at, 8) * g[..., None]).sum(1)
        h = jax.nn.gelu(jnp.einsum("td,edh->teh", x, p["up"]))
        return (jnp.einsum("teh,ehd,te->td", h, p["down"], hot) ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def kmeans():
    r = _R(152)

    def f(x, c):
        def step(_, c):
            d = (c ** 2).sum(1) - 2 * x @ c.T
            at = d.argmin(1)
            n = jax.ops.segment_sum(jnp.ones(x.shape[0]), at, 64)
            return jax.ops.segment_sum(x, at, 64) / jnp.maximum(n, 1)[:, None]
        return lax.fori_loop(0, 10, step, c)
    return f, (_n(r, 8192, 32, scale=1.0), _n(r, 64, 32, scale=1.0)), ()


def detection_head():
    """Boxes by score, their overlaps, and non-maximum suppression."""
    r = _R(153)
    corner = r.uniform(0, 90, (16384, 2)).astype(np.float32)
    boxes = jnp.asarray(np.concatenate([corner, corner + r.uniform(2, 10, (16384, 2)).astype(np.float32)], 1))

    def f(boxes, scores):
        s, at = lax.top_k(scores, 1024)
        b = boxes[at]
        low, high = jnp.maximum(b[:, None, :2], b[None, :, :2]), jnp.minimum(b[:, None, 2:], b[None, :, 2:])
        both = jnp.clip(high - low, 0).prod(-1)
        area = (b[:, 2:] - b[:, :2]).prod(-1)
        iou = both / (area[:, None] + area[None] - both)

        def keep(i, kept):
            return jnp.where((jnp.arange(1024) > i) & kept[i] & (iou[i] > 0.5), False, kept)
        kept = lax.fori_loop(0, 1024, keep, jnp.ones(1024, bool))
        return b, jnp.where(kept, s, 0)
    return f, (boxes, _n(r, 16384, scale=1.0)), ()


def grid_sample_grad():
    """Bilinear sampling of an image at given places."""
    r = _R(154)
    image, at = _n(r, 256, 256, 16, scale=1.0), jnp.asarray(r.uniform(0, 254, (65536, 2)).astype(np.float32))

    def loss(image, at):
        i = jnp.floor(at).astype(jnp.int32)
        f = at - i
        g = lambda dy, dx: image[i[:, 0] + dy, i[:, 1] + dx]
        wy, wx = f[:, :1], f[:, 1:]
        v = (1 - wy) * ((1 - wx) * g(0, 0) + wx * g(0, 1)) + wy * ((1 - wx) * g(1, 0) + wx * g(1, 1))
        return (v ** 2).mean()
    return jax.value_and_grad(loss), (image, at), ()


# ---------------------------------------------------------------- numerics
def spectral_convolution():
    """A Fourier layer: forward transform, product of modes, back."""
    r = _R(160)
    w = _n(r, 32, 32, 64) + 1j * _n(r, 32, 32, 64)

    def f(w, x):
        m = jnp.fft.rfft(x, axis=1)
        m = m.at[:, :64].set(jnp.einsum("bkc,cdk->bkd", m[:, :64], w))
        return jnp.fft.irfft(m, n=1024, axis=1)
    return f, (w, _n(r, 16, 1024, 32, scale=1.0)), ()


def robust_statistics():
    """Medians and ranks of columns, cumulative sums of rows."""
    r = _R(161)

    def f(x):
        s = jnp.sort(x, axis=0)
        return s[2048], jnp.argsort(x[:, :8], axis=0), jnp.cumsum(x, axis=1), jnp.cumsum(x, axis=0)
    return f, (_n(r, 4096, 128, scale=1.0),), ()


def gaussian_process_f64():
    """A kernel matrix, its factor and a likelihood in float64: the caller enables it."""
    r = _R(162)

    def f(x, y):
        d = ((x[:, None] - x[None]) ** 2).sum(-1)
        k = jnp.exp(-0.5 * d) + 0.1 * jnp.eye(x.shape[0], dtype=x.dtype)
        c = jnp.linalg.cholesky(k)
        a = jax.scipy.linalg.cho_solve((c, True), y)
        return 0.5 * y @ a + jnp.log(jnp.diag(c)).sum(), k @ k
    return f, (jnp.asarray(r.standard_normal((512, 8))), jnp.asarray(r.standard_normal(512))), ()


gaussian_process_f64.x64 = True

PROGRAMS = {f.__name__: f for f in [
    deconv_generator_grad, strided_encoder_grad, depthwise_separable_grad, wavenet_grad, video_conv3d_grad, cnn_pool_grad,
    attention_bf16_grad, accumulate_bf16, quantised_mlp_int8, decode_int8_weights, beam_search, kv_cache_decode, viterbi,
    gru_grad, neural_ode_grad, conjugate_gradient, heat_stencil, sinkhorn, linear_recurrence, particle_filter, hamiltonian_sampler,
    categorical_sampling, graph_network_grad, expert_router_grad, kmeans, detection_head, grid_sample_grad, spectral_convolution,
    robust_statistics, gaussian_process_f64]}
