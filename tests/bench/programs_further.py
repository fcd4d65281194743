"""Thirteen more programs, written after the kernels that they use and measured before anything was changed for them: filters, solvers,
decoders, graphs and recurrences as JAX's users write them. Each builder returns (fn, args, donate_argnums)."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_R = np.random.RandomState


def _n(r, *s, scale=1.0, dtype=jnp.float32):
    return jnp.asarray(r.standard_normal(s).astype(np.float32) * np.float32(scale)).astype(dtype)


def kalman_filter():
    """A filter and its log likelihood over 500 steps, 16 series at once: small products and solves in a scan."""
    r = _R(300)
    n, m = 8, 4
    a, h = jnp.eye(n) * 0.95 + _n(r, n, n, scale=0.02), _n(r, m, n, scale=0.5)
    q, noise, ys = jnp.eye(n) * 0.1, jnp.eye(m) * 0.5, _n(r, 500, 16, m)

    def series(ys, a, h, q, noise):
        def step(carry, y):
            x, p, like = carry
            x, p = a @ x, a @ p @ a.T + q
            s = h @ p @ h.T + noise
            error = y - h @ x
            gain = jnp.linalg.solve(s, h @ p).T
            like = like - 0.5 * (error @ jnp.linalg.solve(s, error) + jnp.linalg.slogdet(s)[1])
            return (x + gain @ error, p - gain @ h @ p, like), x
        (x, p, like), xs = lax.scan(step, (jnp.zeros(n), jnp.eye(n), jnp.float32(0)), ys)
        return like, xs
    return jax.vmap(series, (1, None, None, None, None)), (ys, a, h, q, noise), ()


def fft_convolution_grad():
    """A long convolution by FFT, and its gradient by the filter."""
    r = _R(301)
    x, f = _n(r, 32, 8192), _n(r, 32, 8192, scale=0.01)

    def loss(f, x):
        n = 2 * x.shape[-1]
        y = jnp.fft.irfft(jnp.fft.rfft(x, n) * jnp.fft.rfft(f, n), n)[..., :x.shape[-1]]
        return (jnp.tanh(y) ** 2).mean()
    return jax.value_and_grad(loss), (f, x), ()


def levenberg_step():
    """Damped Gauss-Newton on 64 small models: Jacobian by forward mode, normal equations by Cholesky."""
    r = _R(302)
    t, p = jnp.linspace(0, 1, 200), _n(r, 64, 12, scale=0.5)
    y = _n(r, 64, 200)

    def model(p, t):
        w, b, v = p[:4], p[4:8], p[8:]
        return jnp.tanh(t[:, None] * w * 3 + b) @ v

    def fit(p, y):
        def step(p, _):
            res = lambda p: model(p, t) - y
            j = jax.jacfwd(res)(p)
            c = jax.scipy.linalg.cho_factor(j.T @ j + 1e-2 * jnp.eye(p.shape[0]))
            return p - jax.scipy.linalg.cho_solve(c, j.T @ res(p)), None
        return lax.scan(step, p, None, length=10)[0]
    return jax.vmap(fit), (p, y), ()


def beam_decoder():
    """Beam search over a GRU's logits: top_k, gathers of the state, 24 steps."""
    r = _R(303)
    beams, vocab, d = 8, 4000, 128
    emb, w, u, out = _n(r, vocab, d), _n(r, d, 3 * d, scale=0.08), _n(r, d, 3 * d, scale=0.08), _n(r, d, vocab, scale=0.1)
    h0 = _n(r, beams, d)

    def cell(h, x):
        xz, xr, xn = jnp.split(x @ w, 3, -1)
        hz, hr, hn = jnp.split(h @ u, 3, -1)
        z, reset = jax.nn.sigmoid(xz + hz), jax.nn.sigmoid(xr + hr)
        return (1 - z) * jnp.tanh(xn + reset * hn) + z * h

    def decode(h0, emb, w_out):
        def step(carry, _):
            h, score, token = carry
            h = cell(h, emb[token])
            total = score[:, None] + jax.nn.log_softmax(h @ w_out)
            score, flat = lax.top_k(total.reshape(-1), beams)
            parent, token = flat // vocab, flat % vocab
            return (h[parent], score, token), (token, parent)
        start = (h0, jnp.where(jnp.arange(beams) == 0, 0.0, -1e9), jnp.zeros(beams, jnp.int32))
        (_, score, _), path = lax.scan(step, start, None, length=24)
        return score, path
    return decode, (h0, emb, out), ()


def gnn_segments_grad():
    """Two rounds of messages along 60,000 edges: gathers, segment sums, segment softmax."""
    r = _R(304)
    nodes, edges, d = 5000, 60000, 32
    src, dst = (jnp.asarray(r.randint(0, nodes, edges).astype(np.int32)) for _ in range(2))
    x, w = _n(r, nodes, d), [(_n(r, d, d, scale=0.15), _n(r, 2 * d, scale=0.1)) for _ in range(2)]

    def loss(w, x):
        for m, a in w:
            z = x @ m
            e = jax.nn.leaky_relu(jnp.concatenate([z[src], z[dst]], 1) @ a)
            e = jnp.exp(e - jax.ops.segment_max(e, dst, nodes)[dst])
            alpha = e / (jax.ops.segment_sum(e, dst, nodes)[dst] + 1e-6)
            x = jax.nn.elu(jax.ops.segment_sum(alpha[:, None] * z[src], dst, nodes))
        return (x ** 2).mean()
    return jax.value_and_grad(loss), (w, x), ()


def quantised_dense_int8():
    """Activations quantised row by row, int8 products, rescaled: three layers."""
    r = _R(305)
    layers = [(jnp.asarray(r.randint(-127, 128, (768, 768)).astype(np.int8)), _n(r, 768, scale=1e-4)) for _ in range(3)]
    x = _n(r, 256, 768)

    def forward(layers, x):
        for w, s in layers:
            scale = jnp.abs(x).max(-1, keepdims=True) / 127
            q = jnp.round(x / scale).astype(jnp.int8)
            y = lax.dot_general(q, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
            x = jax.nn.gelu(y.astype(jnp.float32) * scale * s)
        return x
    return forward, (layers, x), ()


def mobilenet_grad():
    """Inverted residual blocks: expand, depthwise with stride, project, layer norm over channels."""
    r = _R(306)
    conv = lambda x, w, stride=1, groups=1: lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                                                     feature_group_count=groups)
    p = [(_n(r, 1, 1, 24, 72, scale=0.2), _n(r, 3, 3, 1, 72, scale=0.3), _n(r, 1, 1, 72, 24, scale=0.12)) for _ in range(3)]
    x = _n(r, 8, 40, 40, 24)

    def loss(p, x):
        for i, (e, d, w) in enumerate(p):
            y = jax.nn.relu6(conv(x, e))
            y = jax.nn.relu6(conv(y, d, 2 if i == 1 else 1, 72))
            y = conv(y, w)
            y = (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
            x = y if i == 1 else x + y
        return (x ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def selective_scan_grad():
    """A state-space model by associative_scan over 512 positions, and its gradient."""
    r = _R(307)
    b, t, d, n = 4, 512, 64, 8
    p = dict(a=-jnp.abs(_n(r, d, n)), wb=_n(r, d, n, scale=0.1), wc=_n(r, d, n, scale=0.1), wd=_n(r, d, d, scale=0.1))
    x = _n(r, b, t, d)

    def loss(p, x):
        dt = jax.nn.softplus(x @ p["wd"])
        decay = jnp.exp(dt[..., None] * p["a"])
        u = dt[..., None] * (x @ p["wb"])[:, :, None] * x[..., None]
        h = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (decay, u), axis=1)[1]
        return ((h * (x @ p["wc"])[:, :, None]).sum(-1) ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def hmc_leapfrog():
    """Hamiltonian Monte Carlo on a logistic regression: 8 proposals of 16 leapfrog steps, 32 chains."""
    r = _R(308)
    x, y = _n(r, 500, 20), jnp.asarray(r.randint(0, 2, 500).astype(np.float32))
    q0, key = _n(r, 32, 20, scale=0.1), jax.random.PRNGKey(3)

    def run(q0, key, x, y):
        def logp(q):
            z = x @ q
            return (y * z - jnp.logaddexp(0.0, z)).sum() - 0.5 * (q ** 2).sum()
        force = jax.grad(logp)

        def leap(state, _):
            q, p = state
            p = p + 0.01 * force(q)
            q = q + 0.02 * p
            return (q, p + 0.01 * force(q)), None

        def propose(q, key):
            k1, k2 = jax.random.split(key)
            p = jax.random.normal(k1, q.shape)
            (q1, p1), _ = lax.scan(leap, (q, p), None, length=16)
            accept = jnp.log(jax.random.uniform(k2)) < logp(q1) - logp(q) - 0.5 * (p1 @ p1 - p @ p)
            return jnp.where(accept, q1, q), accept
        chain = lambda q, key: lax.scan(propose, q, jax.random.split(key, 8))
        return jax.vmap(chain)(q0, jax.random.split(key, q0.shape[0]))
    return run, (q0, key, x, y), ()


def lstm_grad():
    """Two layers of LSTM over 100 steps, and the gradient of their weights."""
    r = _R(309)
    d, batch = 128, 32
    p = [(_n(r, d, 4 * d, scale=0.08), _n(r, d, 4 * d, scale=0.08), jnp.zeros(4 * d)) for _ in range(2)]
    x = _n(r, 100, batch, d)

    def loss(p, x):
        for wx, wh, b in p:
            def step(carry, z, wh=wh):
                h, c = carry
                i, f, g, o = jnp.split(z + h @ wh, 4, -1)
                c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), h
            zero = jnp.zeros((batch, d))
            x = lax.scan(step, (zero, zero), x @ wx + b)[1]
        return (x[-1] ** 2).mean()
    return jax.value_and_grad(loss), (p, x), ()


def rope_attention_bf16_grad():
    """Grouped-query attention with rotary positions and a causal mask in bfloat16."""
    r = _R(310)
    h, b, t, heads, groups, d = jnp.bfloat16, 2, 256, 8, 2, 32
    w = [_n(r, 256, n, scale=0.06, dtype=h) for n in (heads * d, groups * d, groups * d, 256)]
    x = _n(r, b, t, 256, dtype=h)
    angle = np.arange(t)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    sin, cos = jnp.asarray(np.sin(angle), h), jnp.asarray(np.cos(angle), h)

    def rope(x):
        a, c = x[..., ::2], x[..., 1::2]
        s, k = sin[None, :, None], cos[None, :, None]
        return jnp.stack([a * k - c * s, a * s + c * k], -1).reshape(x.shape)

    def loss(w, x):
        q = rope((x @ w[0]).reshape(b, t, heads, d)).reshape(b, t, groups, heads // groups, d)
        k, v = rope((x @ w[1]).reshape(b, t, groups, d)), (x @ w[2]).reshape(b, t, groups, d)
        s = jnp.einsum("btghd,bsgd->bghts", q, k, preferred_element_type=jnp.float32) * d ** -0.5
        s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -1e9)
        y = jnp.einsum("bghts,bsgd->btghd", jax.nn.softmax(s).astype(h), v).reshape(b, t, -1) @ w[3]
        return (y.astype(jnp.float32) ** 2).mean()
    return jax.value_and_grad(loss), (w, x), ()


def quantum_circuit_grad():
    """A variational circuit of 14 qubits and 3 layers in complex64: rotations, entangling phases, an expectation and its gradient."""
    r = _R(311)
    n, layers = 14, 3
    angles = _n(r, layers, n, 2)
    signs = np.array([bin(i & (i >> 1)).count("1") % 2 for i in range(2 ** n)])
    phase = jnp.asarray(1 - 2 * signs.astype(np.float32))

    def energy(angles):
        state = jnp.zeros(2 ** n, jnp.complex64).at[0].set(1)
        for layer in range(layers):
            for q in range(n):
                a, b = angles[layer, q] / 2
                ry = jnp.array([[jnp.cos(a), -jnp.sin(a)], [jnp.sin(a), jnp.cos(a)]])
                rz = jnp.array([[jnp.exp(-1j * b), 0], [0, jnp.exp(1j * b)]])
                state = jnp.einsum("ij,ajb->aib", rz @ ry, state.reshape(2 ** q, 2, -1)).reshape(-1)
            state = state * phase
        return (jnp.abs(state) ** 2 * phase).sum()
    return jax.value_and_grad(energy), (angles,), ()


def lyapunov_f64():
    """A discrete Lyapunov equation by doubling in float64, and the gradient of its trace."""
    r = _R(312)
    a, q = jnp.asarray(r.standard_normal((192, 192)) * 0.04), jnp.eye(192)

    def trace(a, q):
        for _ in range(6):
            q, a = q + a @ q @ a.T, a @ a
        return jnp.trace(q)
    return jax.value_and_grad(trace), (a, q.astype(jnp.float64)), ()


lyapunov_f64.x64 = True

PROGRAMS = {f.__name__: f for f in (kalman_filter, fft_convolution_grad, levenberg_step, beam_decoder, gnn_segments_grad, quantised_dense_int8,
                                    mobilenet_grad, selective_scan_grad, hmc_leapfrog, lstm_grad, rope_attention_bf16_grad, quantum_circuit_grad,
                                    lyapunov_f64)}
