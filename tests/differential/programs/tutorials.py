"""What tutorials of JAX, Equinox and Optax show, written by somebody who knows those; tests/trace/programs/tutorials.cpp has them in C++."""
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax, nn
from jax.ad_checkpoint import checkpoint_name


# ---- language_model
def gru(p, h, x):
    z = nn.sigmoid(x @ p["wz"] + h @ p["uz"])
    r = nn.sigmoid(x @ p["wr"] + h @ p["ur"])
    n = jnp.tanh(x @ p["wn"] + (r * h) @ p["un"])
    return (1 - z) * n + z * h


def token_loss(p, tokens):
    x = p["embed"][tokens[:-1]]

    def step(h, e):
        h = gru(p, h, e)
        return h, h @ p["out"]

    _, logits = lax.scan(jax.checkpoint(step), jnp.zeros(6), x)
    logp = nn.log_softmax(logits, axis=-1)
    return -jnp.mean(jnp.take_along_axis(logp, tokens[1:, None], axis=-1))


def lm_step(p, tokens):
    value, grads = jax.value_and_grad(token_loss)(p, tokens)
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    return jax.tree.map(lambda a, g: a - 0.5 * scale * g, p, grads), value


def language_model(run):
    ks = jr.split(jr.key(1), 8)
    p = {n: 0.3 * jr.normal(k, (6, 6)) for n, k in zip(["wz", "uz", "wr", "ur", "wn", "un"], ks)}
    p["embed"], p["out"] = jr.normal(ks[6], (11, 6)), jr.normal(ks[7], (6, 11))
    run(lm_step, (0,), p, jnp.array([1, 4, 7, 2, 9, 10, 3]))
# ----


# ---- coupling_flow
def coupling(w, x, flip):
    a, b = jnp.split(x, 2, axis=-1)
    if flip:
        a, b = b, a
    st = jnp.tanh(a @ w[0]) @ w[1]
    s, t = jnp.split(st, 2, axis=-1)
    s = jnp.tanh(s)
    b = b * jnp.exp(s) + t
    out = jnp.concatenate([b, a] if flip else [a, b], axis=-1)
    return out, jnp.sum(s, axis=-1)


def flow_loss(layers, x):
    log_det = jnp.zeros(x.shape[0])
    for i, w in enumerate(layers):
        x, ld = coupling(w, x, i % 2 == 1)
        log_det += ld
    log_prob = -0.5 * jnp.sum(x**2, axis=-1) - 0.5 * x.shape[-1] * jnp.log(2 * jnp.pi)
    return -jnp.mean(log_prob + log_det)


def flow_step(layers, x):
    loss, g = jax.value_and_grad(flow_loss)(layers, x)
    return jax.tree.map(lambda p, d: p - 1e-2 * d, layers, g), loss


def coupling_flow(run):
    ks = jr.split(jr.key(2), 4)
    layers = [(jr.normal(ks[2 * i], (2, 8)) * 0.5, jr.normal(ks[2 * i + 1], (8, 4)) * 0.1) for i in range(2)]
    run(flow_step, (0,), layers, jr.normal(jr.key(3), (5, 4)))
# ----


# ---- neural_ode
def field(w, y):
    return jnp.tanh(y @ w["in"] + w["b"]) @ w["out"]


def rk4(w, y, dt):
    k1 = field(w, y)
    k2 = field(w, y + dt / 2 * k1)
    k3 = field(w, y + dt / 2 * k2)
    k4 = field(w, y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def trajectory_loss(w, y0, target):
    step = jax.checkpoint(lambda y, _: (rk4(w, y, 0.1), y), prevent_cse=False)
    y, path = lax.scan(step, y0, None, length=6)
    return jnp.mean((y - target) ** 2) + 1e-3 * jnp.mean(path**2)


def neural_ode(run):
    k = jr.split(jr.key(4), 2)
    w = {"in": jr.normal(k[0], (2, 7)), "b": jnp.zeros(7), "out": 0.1 * jr.normal(k[1], (7, 2))}
    run(jax.value_and_grad(trajectory_loss), (), w, jnp.ones((3, 2)), jnp.zeros((3, 2)))
# ----


# ---- low_rank
def adapted(frozen, lora, x):
    w = frozen["w"] + 0.5 * lora["a"] @ lora["b"]
    return jnp.maximum(x @ w + frozen["bias"], 0)


def adapter_loss(lora, frozen, x, labels):
    logits = adapted(lax.stop_gradient(frozen), lora, x)
    return jnp.mean(nn.logsumexp(logits, axis=-1) - jnp.sum(logits * nn.one_hot(labels, 5), axis=-1))


def adapter_step(lora, mu, frozen, x, labels):
    g = jax.grad(adapter_loss)(lora, frozen, x, labels)
    mu = jax.tree.map(lambda m, d: 0.9 * m + d, mu, g)
    return jax.tree.map(lambda p, m: p - 0.1 * m, lora, mu), mu


def low_rank(run):
    k = jr.split(jr.key(5), 4)
    frozen = {"w": jr.normal(k[0], (6, 5)), "bias": jnp.zeros(5)}
    lora = {"a": jr.normal(k[1], (6, 2)), "b": jnp.zeros((2, 5))}
    mu = jax.tree.map(jnp.zeros_like, lora)
    run(adapter_step, (0, 1), lora, mu, frozen, jr.normal(k[2], (4, 6)), jr.randint(k[3], (4,), 0, 5))
# ----


# ---- vision_block
def attend(p, x):
    q, k, v = jnp.split(checkpoint_name(x @ p["qkv"], "qkv").reshape(9, 2, -1), 3, axis=-1)
    scores = jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1])
    return jnp.einsum("hqk,khd->qhd", nn.softmax(scores), v).reshape(9, -1) @ p["proj"]


def norm(x, scale):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-6) * scale


def vision(p, x):
    x = x + attend(p, norm(x, p["ln1"]))
    h = checkpoint_name(nn.gelu(norm(x, p["ln2"]) @ p["up"]), "mlp")
    return x + h @ p["down"]


def vision_loss(p, images):
    policy = jax.checkpoint_policies.save_only_these_names("qkv", "mlp")
    patches = images.reshape(-1, 3, 4, 3, 4).transpose(0, 1, 3, 2, 4).reshape(-1, 9, 16)
    out = jax.vmap(jax.checkpoint(vision, policy=policy), in_axes=(None, 0))(p, patches @ p["patch"])
    return jnp.mean(jnp.square(out.mean(1)))


def vision_block(run):
    shapes = {"qkv": (8, 24), "proj": (8, 8), "up": (8, 16), "down": (16, 8), "patch": (16, 8)}
    p = {n: 0.2 * jr.normal(k, s) for (n, s), k in zip(shapes.items(), jr.split(jr.key(6), 5))}
    p |= {"ln1": jnp.ones(8), "ln2": jnp.ones(8)}
    run(jax.value_and_grad(vision_loss), (), p, jr.normal(jr.key(7), (2, 12, 12)))
# ----


# ---- decoding
def rotate(x, position):
    angle = position * 10000.0 ** (-jnp.arange(0, 4, 2) / 4)
    a, b = x[..., ::2], x[..., 1::2]
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)


def decode(w, cache, token, t):
    x = w["embed"][token]
    q, k, v = x @ w["q"], x @ w["k"], x @ w["v"]
    keys = lax.dynamic_update_slice(cache[0], rotate(k, t)[None], (t, 0))
    values = lax.dynamic_update_slice(cache[1], v[None], (t, 0))
    scores = jnp.where(jnp.arange(8) <= t, keys @ rotate(q, t) / 2.0, -jnp.inf)
    logits = (nn.softmax(scores) @ values) @ w["embed"].T
    return (keys, values), jnp.argmax(logits)


def generate(w, cache, token):
    def body(carry, t):
        cache, token = carry
        cache, token = decode(w, cache, token, t)
        return (cache, token), token

    (cache, _), tokens = lax.scan(body, (cache, token), jnp.arange(5))
    return cache, tokens


def decoding(run):
    k = jr.split(jr.key(10), 4)
    w = {n: jr.normal(s, (4, 4)) for n, s in zip("qkv", k)} | {"embed": jr.normal(k[3], (9, 4))}
    run(generate, (1,), w, (jnp.zeros((8, 4)), jnp.zeros((8, 4))), jnp.int32(3))
# ----


# ---- experts
def route(p, x):
    gates = nn.softmax(x @ p["router"])
    top, chosen = lax.top_k(gates, 2)
    top = top / top.sum(-1, keepdims=True)
    every = jnp.einsum("td,edf->tef", x, p["up"])
    out = jnp.einsum("tef,efd->ted", nn.silu(every), p["down"])
    mixed = jnp.take_along_axis(out, chosen[..., None], axis=1)
    load = jnp.mean(nn.one_hot(chosen[:, 0], 4), axis=0)
    return jnp.sum(mixed * top[..., None], axis=1), 4 * jnp.sum(load * gates.mean(0))


def expert_loss(p, x, y):
    out, balance = route(p, x)
    return jnp.mean((out - y) ** 2) + 0.01 * balance, balance


def experts(run):
    k = jr.split(jr.key(11), 5)
    p = {"router": jr.normal(k[0], (6, 4)), "up": jr.normal(k[1], (4, 6, 8)) / 3, "down": jr.normal(k[2], (4, 8, 6)) / 3}
    run(jax.value_and_grad(expert_loss, has_aux=True), (), p, jr.normal(k[3], (7, 6)), jr.normal(k[4], (7, 6)))
# ----
