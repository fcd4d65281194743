"""Random nested programs: jit, scan, cond, while, vmap, checkpoint with random policies, custom rules and named values inside each other.

`program(seed)` is the same function for the same seed. It takes two vectors and gives a scalar; everything that it nests takes a vector and gives one.
"""
import random
import re

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

SIZE = 4
W = jnp.linspace(-1.0, 1.0, SIZE * SIZE).reshape(SIZE, SIZE) / SIZE
CP = jax.checkpoint_policies
POLICIES = {
    "everything_saveable": CP.everything_saveable,
    "nothing_saveable": CP.nothing_saveable,
    "dots_saveable": CP.dots_saveable,
    "dots_with_no_batch_dims_saveable": CP.dots_with_no_batch_dims_saveable,
    "save_only_these_names(a)": CP.save_only_these_names("a"),
    "save_any_names_but_these(b)": CP.save_any_names_but_these("b"),
    "save_anything_except_these_names(a)": CP.save_anything_except_these_names("a"),
}
LEAVES = [
    lambda x, y: jnp.sin(x),
    lambda x, y: jnp.cos(x) * y,
    lambda x, y: jnp.tanh(x + y),
    lambda x, y: jnp.exp(x * 0.1),
    lambda x, y: x * x,
    lambda x, y: x - 0.5 * y,
    lambda x, y: W @ x,
    lambda x, y: x @ W + y,
    lambda x, y: jnp.where(x > y, x, y * 0.5),
    lambda x, y: jnp.maximum(x, y),
    lambda x, y: x / (1.0 + y * y),
    lambda x, y: jnp.cumsum(x) * 0.1,
    lambda x, y: lax.stop_gradient(x) * y,
    lambda x, y: jax.nn.relu(x) + y,
    lambda x, y: jax.nn.silu(x),
    lambda x, y: x[::-1] * y,
    lambda x, y: jnp.full_like(x, 2.0) * x.sum(),
]
NESTED = ["jit", "scan", "cond", "while", "vmap", "checkpoint", "custom_jvp", "custom_vjp", "named", "both"]


def leaf(r: random.Random):
    return r.choice(LEAVES)


def chain(r: random.Random, depth: int):
    """A few steps, one after the other, each of which may read what came before."""
    steps = [(piece(r, depth), r.random() < 0.4) for _ in range(r.randint(1, 3))]

    def run(x, y):
        before = y
        for step, mixes in steps:
            x, before = step(x, before if mixes else y), x
        return x
    return run


def piece(r: random.Random, depth: int):
    if depth == 0 or r.random() < 0.3:
        return leaf(r)
    return globals()["make_" + r.choice(NESTED)](r, depth)


def make_jit(r, depth):
    body, closes = chain(r, depth - 1), r.random() < 0.3
    f = jax.jit(body)
    return (lambda x, y: jax.jit(lambda x: body(x, y))(x)) if closes else (lambda x, y: f(x, y))


def make_scan(r, depth):
    body, length, reverse, stacks = chain(r, depth - 1), r.randint(1, 3), r.random() < 0.3, r.random() < 0.5

    def run(x, y):
        def step(c, a):
            new = body(c, a + y) * 0.5
            return new, (new * a if stacks else None)
        c, ys = lax.scan(step, x, jnp.stack([x * (i + 1) * 0.3 for i in range(length)]), reverse=reverse)
        return c + ys.sum(0) if stacks else c
    return run


def make_cond(r, depth):
    a, b, threshold = chain(r, depth - 1), chain(r, depth - 1), r.choice([-1.0, 0.0, 1.0])
    return lambda x, y: lax.cond(x.sum() > threshold, a, b, x, y)


def make_while(r, depth):
    """What no gradient goes through, as JAX differentiates no while loop backwards; fori_loop with known bounds is a scan."""
    body, times = chain(r, depth - 1), r.randint(1, 3)
    if r.random() < 0.5:
        return lambda x, y: lax.fori_loop(0, times, lambda i, c: body(c, y) * 0.5, x)

    def run(x, y):
        z = lax.stop_gradient(y)
        _, k = lax.while_loop(lambda s: s[0] < times, lambda s: (s[0] + 1, jnp.sin(s[1]) * z), (0, lax.stop_gradient(x)))
        return x * k
    return run


def make_vmap(r, depth):
    body, both = chain(r, depth - 1), r.random() < 0.5

    def run(x, y):
        xs = jnp.stack([x, x * 0.5])
        return jax.vmap(body, in_axes=(0, 0 if both else None))(xs, jnp.stack([y, -y]) if both else y).sum(0)
    return run


def make_checkpoint(r, depth):
    body, policy = chain(r, depth - 1), r.choice([None, *POLICIES.values()])
    f = jax.checkpoint(body, policy=policy, prevent_cse=r.random() < 0.7)
    return lambda x, y: f(x, y)


def make_custom_jvp(r, depth):
    body, slope = chain(r, depth - 1), leaf(r)
    f = jax.custom_jvp(body)

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), dx * slope(x, y) + dy
    return lambda x, y: f(x, y)


def make_custom_vjp(r, depth):
    body, slope = chain(r, depth - 1), leaf(r)
    f = jax.custom_vjp(body)
    f.defvjp(lambda x, y: (body(x, y), (x, y)), lambda saved, g: (g * slope(*saved), g * saved[0]))
    return lambda x, y: f(x, y)


def make_named(r, depth):
    body, name = chain(r, depth - 1), r.choice("ab")
    return lambda x, y: checkpoint_name(body(x, y), name)


def make_both(r, depth):
    a, b = chain(r, depth - 1), chain(r, depth - 1)
    return lambda x, y: a(x, y) * b(y, x)


def program(seed: int):
    r = random.Random(seed)
    body = chain(r, r.randint(1, 3))

    def fn(x, y):
        return (body(x, y) * 0.5).sum()
    return fn


TOKEN = re.compile(r"'[^']*'|name=[^\s\]]+|\{ lambda|[A-Za-z_][A-Za-z0-9_]*|\n|\s+|.")


def unshared(text: str) -> str:
    """The text with every `let NAME = { ... } in` put where NAME stands."""
    while text.startswith("let "):
        name, rest = re.match(r"let (\w+) = (.*)", text, re.S).groups()
        depth = end = 0
        for end, c in enumerate(rest):
            depth += (c == "{") - (c == "}")
            if depth == 0:
                break
        body, text = rest[:end + 1], rest[end + 1:].removeprefix(" in").lstrip()
        text = re.sub(rf"(jaxpr=|\(\s*|\n\s*){name}(?=[\s\])])", lambda m: m[1] + body, text)
    return text


def renamed(text: str) -> str:
    """The same program has the same text: variables numbered as they are bound, layout and sharing of jaxprs (`let`) taken out."""
    scopes, out, count, binding = [], [], 0, False
    tokens = [t for t in TOKEN.findall(unshared(text)) if not t.isspace()]
    for i, t in enumerate(tokens):
        following = tokens[i + 1] if i + 1 < len(tokens) else ""
        if t == "{ lambda":
            scopes.append({})
        elif t == "}" and scopes and "{" not in scopes[-1]:
            scopes.pop()
        elif t in "{}" and scopes:
            scopes[-1].pop("{") if t == "}" else scopes[-1].update({"{": "{"})
        elif scopes and following == ":" and re.fullmatch(r"[a-z]+|_", t) and t not in ("inf", "nan"):
            count += 1
            scopes[-1][t] = t = f"v{count}"
        elif scopes and t in scopes[-1] and following != "=" and tokens[i - 1] != "=" and not (t == "in" and following == "("):
            t = scopes[-1][t]
        out.append(t)
    return " ".join(out)


X = jnp.linspace(0.1, 0.9, SIZE)
Y = jnp.linspace(-0.7, 0.8, SIZE)
