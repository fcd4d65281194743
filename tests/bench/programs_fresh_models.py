"""More of programs_fresh.py: genes, graphs, graphics and control; unusual layers are in programs_fresh_layers.py."""
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


PROGRAMS = {f.__name__: f for f in [
    smith_waterman, felsenstein_pruning_grad, connected_components, gaussian_splatting_grad, sphere_tracing, morton_hierarchy,
    hash_grid_step, ppo_update, pendulum_evolution]}
