"""Models, layers and training steps of yet other kinds, written before anything was tuned for them. Each builder returns (fn, args,
donate_argnums); XLA takes 1 to 100 ms."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

_R = np.random.RandomState


def _n(r, *s, scale=1.0, dtype=jnp.float32):
    return jnp.asarray((r.standard_normal(s) * scale).astype(np.float64 if dtype == jnp.float64 else np.float32)).astype(dtype)


def _norm(x, axis=-1):
    m = x.mean(axis, keepdims=True)
    return (x - m) * lax.rsqrt(((x - m) ** 2).mean(axis, keepdims=True) + 1e-5)


def vision_transformer_bf16_grad():
    """Patches by a strided convolution, a class token, one block, in bfloat16 with float32 parameters."""
    r = _R(700)
    p = dict(patch=_n(r, 8, 8, 3, 192, scale=0.05), token=_n(r, 1, 1, 192), place=_n(r, 1, 65, 192, scale=0.02), qkv=_n(r, 192, 3, 6, 32, scale=0.07),
             o=_n(r, 6, 32, 192, scale=0.07), up=_n(r, 192, 768, scale=0.07), down=_n(r, 768, 192, scale=0.04), head=_n(r, 192, 100, scale=0.07))

    def loss(p, images, labels):
        q = jax.tree.map(lambda a: a.astype(jnp.bfloat16), p)
        x = lax.conv_general_dilated(images.astype(jnp.bfloat16), q["patch"], (8, 8), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = x.reshape(x.shape[0], -1, 192)
        x = jnp.concatenate([jnp.broadcast_to(q["token"], (x.shape[0], 1, 192)), x], 1) + q["place"]
        a, b, c = jnp.einsum("bld,dkhe->kbhle", _norm(x), q["qkv"])
        w = nn.softmax(jnp.einsum("bhle,bhme->bhlm", a, b).astype(jnp.float32) / 32 ** 0.5).astype(jnp.bfloat16)
        x = x + jnp.einsum("bhlm,bhme,hed->bld", w, c, q["o"])
        x = x + nn.gelu(_norm(x) @ q["up"]) @ q["down"]
        logits = (x[:, 0] @ q["head"]).astype(jnp.float32)
        return -jnp.take_along_axis(nn.log_softmax(logits), labels[:, None], 1).mean()
    return jax.value_and_grad(loss), (p, _n(r, 16, 64, 64, 3), jnp.asarray(r.randint(0, 100, 16))), ()


def expert_capacity_grad():
    """Tokens sent to experts by one-hot masks with a capacity (cumulative sums over tokens), einsums in and out."""
    r = _R(701)
    t, e, c, d, h = 1024, 8, 160, 128, 256
    p = dict(gate=_n(r, d, e, scale=0.1), up=_n(r, e, d, h, scale=0.08), down=_n(r, e, h, d, scale=0.06))

    def loss(p, x):
        probs = nn.softmax(x @ p["gate"])
        first = nn.one_hot(probs.argmax(-1), e)
        place = (jnp.cumsum(first, 0) - first) * first
        kept = first * (place < c)
        mask = kept[..., None] * nn.one_hot(place.astype(jnp.int32), c)
        combine = (probs * first).sum(-1)[:, None, None] * mask
        z = jnp.einsum("tec,td->ecd", mask, x)
        z = jnp.einsum("ech,ehd->ecd", nn.silu(jnp.einsum("ecd,edh->ech", z, p["up"])), p["down"])
        y = jnp.einsum("tec,ecd->td", combine, z)
        balance = e * (first.mean(0) * probs.mean(0)).sum()
        return ((y - x[::-1]) ** 2).mean() + 0.01 * balance
    return jax.grad(loss), (p, _n(r, t, d)), ()


def unet_resize_grad():
    """Down by average pooling, up by bilinear resizing, skips concatenated, group norm."""
    r = _R(702)
    k = lambda i, o: _n(r, 3, 3, i, o, scale=(9 * i) ** -0.5)
    p = [k(3, 16), k(16, 32), k(32, 32), k(48, 16), k(16, 3)]
    conv = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def group(x):
        b, h, w, c = x.shape
        y = x.reshape(b, h, w, 4, c // 4)
        m, v = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
        return ((y - m) * lax.rsqrt(v + 1e-5)).reshape(x.shape)

    def loss(p, x):
        a = nn.silu(group(conv(x, p[0])))
        b = lax.reduce_window(a, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
        b = nn.silu(group(conv(b, p[1])))
        b = nn.silu(group(conv(b, p[2])))
        up = jax.image.resize(b, (b.shape[0], a.shape[1], a.shape[2], 32), "bilinear")
        y = nn.silu(group(conv(jnp.concatenate([a, up], -1), p[3])))
        return ((conv(y, p[4]) - x) ** 2).mean()
    return jax.grad(loss), (p, _n(r, 4, 64, 64, 3)), ()


def convnext_f16_grad():
    """Depthwise 7x7, layer norm, inverted bottleneck in float16 with a loss scale and finite checks."""
    r = _R(703)
    p = dict(dw=_n(r, 7, 7, 1, 64, scale=0.1, dtype=jnp.float16), up=_n(r, 64, 256, scale=0.1, dtype=jnp.float16),
             down=_n(r, 256, 64, scale=0.05, dtype=jnp.float16), gamma=jnp.full((64,), 0.1, jnp.float16))

    def loss(p, x):
        y = lax.conv_general_dilated(x, p["dw"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=64)
        y = _norm(y.astype(jnp.float32)).astype(jnp.float16)
        y = x + p["gamma"] * (nn.gelu(y @ p["up"]) @ p["down"])
        return (y.astype(jnp.float32) ** 2).mean() * 1024

    def step(p, x):
        g = jax.tree.map(lambda a: a.astype(jnp.float32) / 1024, jax.grad(loss)(p, x))
        fine = jnp.all(jnp.array([jnp.isfinite(a).all() for a in jax.tree.leaves(g)]))
        return jax.tree.map(lambda a, b: jnp.where(fine, a - (0.1 * b).astype(a.dtype), a), p, g), fine
    return step, (p, _n(r, 4, 28, 28, 64, dtype=jnp.float16)), ()


def clip_contrastive_grad():
    """Two towers, normalised, a matrix of similarities with log-softmax along both axes."""
    r = _R(704)
    p = dict(a=_n(r, 512, 256, scale=0.05), b=_n(r, 300, 256, scale=0.05), t=jnp.float32(2.6))

    def loss(p, x, y):
        u, v = jnp.tanh(x @ p["a"]), jnp.tanh(y @ p["b"])
        u, v = u / jnp.linalg.norm(u, axis=-1, keepdims=True), v / jnp.linalg.norm(v, axis=-1, keepdims=True)
        s = jnp.exp(p["t"]) * u @ v.T
        return -(jnp.diag(nn.log_softmax(s, 0)) + jnp.diag(nn.log_softmax(s, 1))).mean() / 2
    return jax.value_and_grad(loss), (p, _n(r, 1024, 512), _n(r, 1024, 300)), ()


def online_softmax_attention_grad():
    """Causal attention by blocks of keys with running maxima (a scan, its body checkpointed)."""
    r = _R(705)
    h, l, d, block = 8, 512, 64, 64

    def attend(q, k, v):
        rows = jnp.arange(l)

        @jax.checkpoint
        def body(carry, kv):
            m, s, acc, at = carry
            kb, vb = kv
            logits = jnp.einsum("hld,hmd->hlm", q, kb) / d ** 0.5
            logits = jnp.where(rows[:, None] >= at + jnp.arange(block), logits, -1e9)
            new = jnp.maximum(m, logits.max(-1))
            w = jnp.exp(logits - new[..., None])
            fix = jnp.exp(m - new)
            return (new, s * fix + w.sum(-1), acc * fix[..., None] + jnp.einsum("hlm,hmd->hld", w, vb), at + block), None
        split = lambda a: a.reshape(h, l // block, block, d).swapaxes(0, 1)
        start = (jnp.full((h, l), -1e9), jnp.zeros((h, l)), jnp.zeros((h, l, d)), 0)
        (_, s, acc, _), _ = lax.scan(body, start, (split(k), split(v)))
        return acc / s[..., None]
    loss = lambda q, k, v: (attend(q, k, v) ** 2).sum()
    return jax.grad(loss, (0, 1, 2)), tuple(_n(r, h, l, d) for _ in range(3)), ()


def graph_attention_grad():
    """Attention over edges: segment maxima and sums, two heads' messages gathered and scattered."""
    r = _R(706)
    n, e, d, h = 4000, 32000, 32, 4
    p = dict(w=_n(r, d, h, 16, scale=0.2), a=_n(r, h, 16, scale=0.2), b=_n(r, h, 16, scale=0.2))
    src, dst = jnp.asarray(r.randint(0, n, e)), jnp.asarray(np.sort(r.randint(0, n, e)))

    def loss(p, x, src, dst):
        z = jnp.einsum("nd,dhk->nhk", x, p["w"])
        score = nn.leaky_relu((z * p["a"]).sum(-1)[src] + (z * p["b"]).sum(-1)[dst], 0.2)
        top = jax.ops.segment_max(score, dst, n)
        w = jnp.exp(score - lax.stop_gradient(top)[dst])
        w = w / (jax.ops.segment_sum(w, dst, n)[dst] + 1e-9)
        y = jax.ops.segment_sum(w[..., None] * z[src], dst, n)
        return (nn.elu(y) ** 2).mean()
    return jax.grad(loss), (p, _n(r, n, d), src, dst), ()


def grouped_query_decode_f16():
    """One token decoded against a cache of float16 keys that is written at a place, 4 heads of keys for 16 of queries."""
    r = _R(707)
    b, t, hq, hk, d = 8, 1024, 16, 4, 64
    w = dict(q=_n(r, 512, hq, d, scale=0.05, dtype=jnp.float16), k=_n(r, 512, hk, d, scale=0.05, dtype=jnp.float16),
             v=_n(r, 512, hk, d, scale=0.05, dtype=jnp.float16), o=_n(r, hq, d, 512, scale=0.05, dtype=jnp.float16))

    def f(w, cache, x, at):
        ks, vs = cache
        q = jnp.einsum("bm,mhd->bhd", x, w["q"]).reshape(b, hk, hq // hk, d)
        ks = lax.dynamic_update_slice(ks, jnp.einsum("bm,mhd->bhd", x, w["k"])[:, None], (0, at, 0, 0))
        vs = lax.dynamic_update_slice(vs, jnp.einsum("bm,mhd->bhd", x, w["v"])[:, None], (0, at, 0, 0))
        s = jnp.einsum("bgqd,btgd->bgqt", q, ks).astype(jnp.float32) / d ** 0.5
        s = nn.softmax(jnp.where(jnp.arange(t) <= at, s, -1e9)).astype(jnp.float16)
        y = jnp.einsum("bgqt,btgd->bgqd", s, vs).reshape(b, hq, d)
        return (ks, vs), x + jnp.einsum("bhd,hdm->bm", y, w["o"])
    cache = tuple(_n(r, b, t, hk, d, dtype=jnp.float16) for _ in range(2))
    return f, (w, cache, _n(r, b, 512, dtype=jnp.float16), jnp.int32(700)), (1,)


def state_space_chunks_grad():
    """Structured state space duality: products within chunks under a lower triangle of decays, states carried between chunks."""
    r = _R(708)
    b, c, l, h, d, n = 2, 16, 32, 4, 32, 16

    def loss(x, a, B, C):
        cum = jnp.cumsum(a, -1)
        diff = cum[..., :, None] - cum[..., None, :]
        L = jnp.exp(jnp.where(jnp.tril(jnp.ones((l, l), bool)), diff, -jnp.inf))
        inside = jnp.einsum("bcln,bcsn,bhcls,bcshp->bclhp", C, B, L, x)
        decay = jnp.exp(cum[..., -1:] - cum)
        states = jnp.einsum("bcln,bhcl,bclhp->bchpn", B, decay, x)
        total = jnp.exp(cum[..., -1])

        def step(s, t):
            new, keep = t
            return s * keep[..., None, None] + new, s
        _, before = lax.scan(step, jnp.zeros((b, h, d, n)), (states.swapaxes(0, 1), jnp.moveaxis(total, 2, 0)))
        across = jnp.einsum("bcln,cbhpn,bhcl->bclhp", C, before, jnp.exp(cum))
        return ((inside + across) ** 2).mean()
    args = (_n(r, b, c, l, h, d), -jnp.abs(_n(r, b, h, c, l, scale=0.2)), _n(r, b, c, l, n), _n(r, b, c, l, n))
    return jax.grad(loss, (0, 1, 2, 3)), args, ()


def dropout_block_grad():
    """A block with dropout in three places; keys split, bits drawn anew by the transposed remat."""
    r = _R(709)
    p = dict(u=_n(r, 256, 1024, scale=0.05), d=_n(r, 1024, 256, scale=0.03), o=_n(r, 256, 256, scale=0.05))

    def drop(key, x, rate):
        return jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)

    @jax.checkpoint
    def block(p, x, key):
        a, b, c = jax.random.split(key, 3)
        x = x + drop(a, _norm(x) @ p["o"], 0.1)
        return x + drop(c, drop(b, nn.relu(_norm(x) @ p["u"]), 0.1) @ p["d"], 0.1)

    def loss(p, x, key):
        for k in jax.random.split(key, 2):
            x = block(p, x, k)
        return (x ** 2).mean()
    return jax.grad(loss), (p, _n(r, 512, 256), jax.random.key(3)), ()


def factorisation_machine_step():
    """Embedding bags of 39 fields, pairwise interactions, Adagrad on the touched rows alone."""
    r = _R(710)
    rows, k, b, f = 100000, 16, 2048, 39

    def loss(picked, bias, y):
        s = picked.sum(1)
        logit = bias.sum(1) + 0.5 * ((s ** 2) - (picked ** 2).sum(1)).sum(-1)
        return jnp.mean(jnp.maximum(logit, 0) - logit * y + jnp.log1p(jnp.exp(-jnp.abs(logit))))

    def step(table, acc, w, ids, y):
        g, gw = jax.grad(loss, (0, 1))(table[ids], w[ids], y)
        acc = acc.at[ids].add((g ** 2).mean(-1))
        table = table.at[ids].add(-0.05 * g * lax.rsqrt(acc[ids] + 1e-6)[..., None])
        return table, acc, w.at[ids].add(-0.05 * gw)
    args = (_n(r, rows, k, scale=0.05), jnp.zeros(rows), jnp.zeros(rows), jnp.asarray(r.randint(0, rows, (b, f))), jnp.asarray((r.rand(b) < 0.3).astype(np.float32)))
    return step, args, (0, 1, 2)


def crf_loss_grad():
    """A linear-chain CRF with a mask: the forward algorithm in logarithms, gold scores by gathers."""
    r = _R(711)
    b, t, k = 64, 100, 24

    def loss(emit, trans, tags, mask):
        def step(alpha, x):
            e, m = x
            new = nn.logsumexp(alpha[:, :, None] + trans, 1) + e
            return jnp.where(m[:, None], new, alpha), None
        alpha, _ = lax.scan(step, emit[0], (emit[1:], mask[1:]))
        gold = jnp.take_along_axis(emit, tags[..., None], 2)[..., 0]
        gold = (gold * mask).sum(0) + (trans[tags[:-1], tags[1:]] * mask[1:]).sum(0)
        return (nn.logsumexp(alpha, 1) - gold).mean()
    lengths = r.randint(40, 101, b)
    mask = jnp.asarray(np.arange(t)[:, None] < lengths)
    return jax.value_and_grad(loss, (0, 1)), (_n(r, t, b, k), _n(r, k, k), jnp.asarray(r.randint(0, k, (t, b))), mask), ()


def radiance_field_grad():
    """Positional encodings, a small MLP, transmittance by cumulative products along rays."""
    r = _R(712)
    p = [(_n(r, i, o, scale=i ** -0.5), jnp.zeros(o)) for i, o in ((63, 64), (64, 64), (64, 4))]

    def loss(p, origins, directions, depth, colours):
        x = origins[:, None] + directions[:, None] * depth[..., None]
        a = (x[..., None, :] * 2.0 ** jnp.arange(10)[:, None]).reshape(*x.shape[:-1], 30)
        h = jnp.concatenate([x, jnp.sin(a), jnp.cos(a)], -1)
        for w, b in p[:-1]:
            h = nn.relu(h @ w + b)
        out = h @ p[-1][0] + p[-1][1]
        rgb, sigma = nn.sigmoid(out[..., :3]), nn.softplus(out[..., 3])
        delta = jnp.diff(depth, append=depth[:, -1:] + 0.1)
        alpha = 1 - jnp.exp(-sigma * delta)
        through = jnp.cumprod(jnp.concatenate([jnp.ones_like(alpha[:, :1]), 1 - alpha[:, :-1] + 1e-10], 1), 1)
        return (((alpha * through)[..., None] * rgb).sum(1) - colours).__pow__(2).mean()
    rays = 512
    args = (p, _n(r, rays, 3, scale=0.1), _n(r, rays, 3), jnp.asarray(np.sort(r.uniform(1, 4, (rays, 48)), 1).astype(np.float32)), jnp.asarray(r.rand(rays, 3).astype(np.float32)))
    return jax.grad(loss), args, ()


def physics_informed_f64_grad():
    """Burgers' residual of a tanh network by derivatives of derivatives, float64."""
    r = _R(713)
    f64 = jnp.float64
    p = [(_n(r, i, o, scale=i ** -0.5, dtype=f64), jnp.zeros(o, f64)) for i, o in ((2, 40), (40, 40), (40, 1))]

    def u(p, t, x):
        h = jnp.stack([t, x])
        for w, b in p[:-1]:
            h = jnp.tanh(h @ w + b)
        return (h @ p[-1][0] + p[-1][1])[0]

    def residual(p, t, x):
        ut, ux = jax.grad(u, 1)(p, t, x), jax.grad(u, 2)(p, t, x)
        uxx = jax.grad(jax.grad(u, 2), 2)(p, t, x)
        return ut + u(p, t, x) * ux - 0.01 / np.pi * uxx

    def loss(p, t, x):
        return (jax.vmap(residual, (None, 0, 0))(p, t, x) ** 2).mean()
    return jax.grad(loss), (p, jnp.asarray(r.rand(600)), jnp.asarray(r.uniform(-1, 1, 600))), ()


def meta_learning_grad():
    """MAML on sines: gradients through three inner steps, over tasks by vmap."""
    r = _R(714)
    p = [(_n(r, i, o, scale=i ** -0.5), jnp.zeros(o)) for i, o in ((1, 40), (40, 40), (40, 1))]

    def predict(p, x):
        for w, b in p[:-1]:
            x = nn.relu(x @ w + b)
        return x @ p[-1][0] + p[-1][1]
    loss = lambda p, x, y: ((predict(p, x) - y) ** 2).mean()

    def adapted(p, x, y):
        for _ in range(3):
            p = jax.tree.map(lambda a, g: a - 0.01 * g, p, jax.grad(loss)(p, x, y))
        return p
    outer = lambda p, x, y, x2, y2: jax.vmap(lambda a, b, c, d: loss(adapted(p, a, b), c, d))(x, y, x2, y2).mean()
    xs = [_n(r, 64, 10, 1) for _ in range(4)]
    return jax.grad(outer), (p, *xs), ()


def tangent_kernel():
    """The neural tangent kernel of a small network: Jacobians by vmap(jacrev), all pairs."""
    r = _R(715)
    p = [(_n(r, i, o, scale=i ** -0.5), jnp.zeros(o)) for i, o in ((8, 64), (64, 64), (64, 2))]

    def apply(p, x):
        for w, b in p[:-1]:
            x = nn.gelu(x @ w + b)
        return x @ p[-1][0] + p[-1][1]

    def f(p, x, y):
        j = lambda z: jax.vmap(jax.jacrev(apply), (None, 0))(p, z)
        a, b = jax.tree.leaves(j(x)), jax.tree.leaves(j(y))
        return sum(jnp.einsum("iak,jbk->ijab", u.reshape(*u.shape[:2], -1), v.reshape(*v.shape[:2], -1)) for u, v in zip(a, b))
    return f, (p, _n(r, 128, 8), _n(r, 64, 8)), ()


def shampoo_step():
    """Preconditioners by eigh: inverse fourth roots of two factors, grafted to the gradient's norm."""
    r = _R(716)

    def step(w, l, rr, g):
        l, rr = 0.95 * l + 0.05 * g @ g.T, 0.95 * rr + 0.05 * g.T @ g

        def root(m):
            v, u = jnp.linalg.eigh(m + 1e-4 * jnp.eye(m.shape[0]))
            return (u * jnp.maximum(v, 1e-6) ** -0.25) @ u.T
        d = root(l) @ g @ root(rr)
        return w - 0.1 * d * jnp.linalg.norm(g) / (jnp.linalg.norm(d) + 1e-9), l, rr
    eye = lambda n: jnp.eye(n) * 0.1
    return step, (_n(r, 96, 64), eye(96), eye(64), _n(r, 96, 64)), (0, 1, 2)


def muon_bf16_step():
    """Newton-Schulz orthogonalisation of momenta in bfloat16, five iterations."""
    r = _R(717)

    def orth(g):
        x = g.astype(jnp.bfloat16)
        x = x / (jnp.linalg.norm(x.astype(jnp.float32)) + 1e-7).astype(jnp.bfloat16)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        return x.astype(jnp.float32)

    def step(w, m, g):
        m = jax.tree.map(lambda a, b: 0.95 * a + b, m, g)
        return jax.tree.map(lambda a, b, c: a * 0.999 - 0.02 * orth(c + 0.95 * b), w, m, g), m
    make = lambda s: {"a": _n(r, 256, 512, scale=s), "b": _n(r, 192, 768, scale=s)}
    return step, (make(0.05), make(0.1), make(0.1)), (0, 1)


def private_gradients():
    """Per-example gradients, clipped by their global norms, with noise (DP-SGD)."""
    r = _R(718)
    p = dict(k=_n(r, 5, 5, 1, 8, scale=0.2), w=_n(r, 8 * 12 * 12, 10, scale=0.03))

    def loss(p, x, y):
        h = lax.conv_general_dilated(x[None], p["k"], (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return -nn.log_softmax(nn.tanh(h).reshape(-1) @ p["w"])[y]

    def step(p, x, y, key):
        g = jax.vmap(jax.grad(loss), (None, 0, 0))(p, x, y)
        norms = jnp.sqrt(sum((a.reshape(a.shape[0], -1) ** 2).sum(1) for a in jax.tree.leaves(g)))
        scale = jnp.minimum(1, 1 / norms)
        keys = dict(zip(p, jax.random.split(key, len(p))))
        mean = {k: (jnp.einsum("b,b...->...", scale, g[k]) + 0.8 * jax.random.normal(keys[k], p[k].shape)) / x.shape[0] for k in p}
        return jax.tree.map(lambda a, b: a - 0.1 * b, p, mean)
    return step, (p, _n(r, 64, 28, 28, 1), jnp.asarray(r.randint(0, 10, 64)), jax.random.key(0)), ()


def audio_codec_f16():
    """Transposed convolutions with snake activations, weight norm, float16."""
    r = _R(719)
    f16 = jnp.float16
    ks = [_n(r, 8, 64, 32, scale=0.05, dtype=f16), _n(r, 8, 32, 16, scale=0.08, dtype=f16), _n(r, 7, 16, 1, scale=0.1, dtype=f16)]
    al = [jnp.ones(32, f16), jnp.ones(16, f16)]

    def f(ks, al, x):
        for k, a in zip(ks[:2], al):
            k = k / jnp.linalg.norm(k.astype(jnp.float32), axis=(0, 1), keepdims=True).astype(f16)
            x = lax.conv_transpose(x, k, (4,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))
            x = x + jnp.sin(a * x) ** 2 / a
        return jnp.tanh(lax.conv_general_dilated(x, ks[2], (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")))
    return f, (ks, al, _n(r, 2, 400, 64, dtype=f16)), ()


def equivariant_product_grad():
    """Tensor products of scalars, vectors and rank-2 tensors of edges, radial networks, sums over nodes."""
    r = _R(720)
    n, e, c = 800, 8000, 16
    p = dict(a=_n(r, 8, 64, scale=0.3), b=_n(r, 64, 4 * c, scale=0.1), mix=_n(r, c, c, scale=0.2))
    src, dst = jnp.asarray(r.randint(0, n, e)), jnp.asarray(r.randint(0, n, e))

    def energy(pos, p, s, v, src, dst):
        d = pos[dst] - pos[src] + 1e-3
        length = jnp.sqrt((d ** 2).sum(-1))
        unit = d / length[:, None]
        basis = jnp.exp(-((length[:, None] - jnp.arange(8) * 0.5) ** 2) * 4)
        w = (nn.silu(basis @ p["a"]) @ p["b"]).reshape(-1, 4, c)
        second = unit[:, :, None] * unit[:, None, :] - jnp.eye(3) / 3
        ss, vv = s[src], v[src]
        scalar = w[:, 0] * ss + w[:, 1] * jnp.einsum("eci,ei->ec", vv, unit)
        vector = w[:, 2, :, None] * ss[..., None] * unit[:, None] + w[:, 3, :, None] * jnp.einsum("eij,ecj->eci", second, vv)
        s2 = jax.ops.segment_sum(scalar, dst, n) @ p["mix"]
        v2 = jnp.einsum("nci,cd->ndi", jax.ops.segment_sum(vector, dst, n), p["mix"])
        return (nn.silu(s2) + (v2 ** 2).sum(-1)).sum()
    return jax.grad(energy, (0, 1)), (_n(r, n, 3), p, _n(r, n, c), _n(r, n, c, 3), src, dst), ()


for _f in (physics_informed_f64_grad,):
    _f.x64 = True
PROGRAMS = {f.__name__: f for f in [
    vision_transformer_bf16_grad, expert_capacity_grad, unet_resize_grad, convnext_f16_grad, clip_contrastive_grad,
    online_softmax_attention_grad, graph_attention_grad, grouped_query_decode_f16, state_space_chunks_grad, dropout_block_grad,
    factorisation_machine_step, crf_loss_grad, radiance_field_grad, physics_informed_f64_grad, meta_learning_grad, tangent_kernel,
    shampoo_step, muon_bf16_step, private_gradients, audio_codec_f16, equivariant_product_grad]}
