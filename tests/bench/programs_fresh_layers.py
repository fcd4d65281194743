"""More of programs_fresh.py: unusual layers and their training."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from programs_fresh import _R, _n
from programs_fresh_models import _adam, _moments


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
    vq_autoencoder_step, spline_flow_grad, diffusion_unet_bf16_step, nf4_adapter_step, delta_rule_grad, shifted_window_bf16_grad]}
