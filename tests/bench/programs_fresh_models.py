"""The other half of programs_fresh.py: genes, graphs, graphics, control and unusual layers."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from programs_fresh import _R, _n


def _adam(p, g, m, v, t, rate):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
    fit = lambda p, m, v: p - rate * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
    return jax.tree.map(fit, p, m, v), m, v


def _moments(p):
    """Of a training under way: the first steps of Adam are all signs."""
    return jax.tree.map(jnp.zeros_like, p), jax.tree.map(lambda x: jnp.full_like(x, 1e-3), p)


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
    smith_waterman, felsenstein_pruning_grad, connected_components, gaussian_splatting_grad, sphere_tracing, morton_hierarchy,
    hash_grid_step, ppo_update, pendulum_evolution, vq_autoencoder_step, spline_flow_grad, diffusion_unet_bf16_step,
    nf4_adapter_step, delta_rule_grad, shifted_window_bf16_grad]}
