"""Random loops of little work: scans, while loops and branches in each other over small carries of several types, which are written to and read from at computed places."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


class Loops:
    """One program from a seed: `fn(*args)` runs an outer scan over the state."""

    def __init__(self, seed: int):
        self.r = np.random.RandomState(seed)
        self.n = int(self.r.choice([1, 2, 3, 4, 5, 8, 16, 20]))
        self.length, self.reverse = int(self.r.choice([1, 2, 3, 24, 25])), bool(self.r.rand() < 0.3)
        self.dtype = self.r.choice(["float32", "float32", "float64", "bfloat16"])
        self.steps = [self.step(0) for _ in range(self.r.randint(2, 7))]
        numbers = [self.r.standard_normal(shape) * 0.5 for shape in ((), (self.n,), (self.n, 3), (self.length, self.n))]
        a, v, m, self.xs = (jnp.asarray(x).astype(self.dtype) for x in numbers)
        self.state = {"a": a, "v": v, "m": m, "k": jnp.int32(self.r.randint(9)), "u": jnp.asarray(self.r.randint(0, 256, 6), jnp.uint8), "t": jnp.bool_(True),
                      "w": jnp.asarray(self.r.standard_normal(70)).astype(self.dtype)}
        self.args = (self.state, self.xs)

    def fn(self, state, xs):
        def turn(s, x):
            s = {**s, "v": jnp.tanh(s["v"] + x)}
            for step in self.steps:
                s = step(s)
            return s, (s["a"], s["u"] if self.n % 2 else s["v"], s["k"])
        return lax.scan(turn, state, xs, reverse=self.reverse)

    def step(self, depth: int):
        """A function of the state to the state."""
        simple = [self.move, self.write, self.update, self.multiply, self.count, self.bytes, self.extreme, self.read]
        nested = [self.branches, self.inner_scan, self.inner_while] if depth < 2 else []
        return self.r.choice(simple + nested + nested)(depth)

    def move(self, _):
        f = [jnp.sin, jnp.tanh, lambda x: x * 0.5 + 0.25, lambda x: jnp.exp(-x * x), lambda x: jnp.abs(x) - 0.5][self.r.randint(5)]
        return lambda s: {**s, "a": f(s["a"]), "v": f(s["v"]) * 0.9}

    def write(self, _):
        mode, kind = self.r.choice(["clip", "drop"]), self.r.choice(["set", "add", "max", "multiply"])
        name = self.r.choice(["v", "w", "m"])
        def run(s):
            at = s["k"] % (s[name].shape[0] + 3) - 1
            return {**s, name: jnp.clip(getattr(s[name].at[at], kind)(s["a"], mode=mode), -2, 2)}
        return run

    def update(self, _):
        length = int(self.r.randint(1, 4))
        return lambda s: {**s, "w": lax.dynamic_update_slice(s["w"], s["w"][:length] * 0.5 + s["a"], (s["k"] * 3 - 4,))}

    def multiply(self, _):
        def by_columns(s):
            return {**s, "v": jnp.tanh(s["m"] @ jnp.tanh(s["v"] @ s["m"]))}
        def outer(s):
            return {**s, "m": s["m"] * 0.5 + jnp.outer(s["v"], s["w"][:3]) * 0.25, "a": jnp.tanh(s["v"] @ s["v"])}
        return self.r.choice([by_columns, outer])

    def count(self, _):
        by, to = int(self.r.randint(2, 9)), int(self.r.randint(5, 40))
        return lambda s: {**s, "k": (s["k"] * by + 3) % to, "t": ~s["t"]}

    def bytes(self, _):
        by = int(self.r.randint(1, 6))
        return lambda s: {**s, "u": jnp.roll(s["u"], by) ^ s["k"].astype(jnp.uint8) + jnp.where(s["t"], s["u"], s["u"] >> 3)}

    def extreme(self, _):
        return lambda s: {**s, "k": jnp.argmax(s["u"]).astype(jnp.int32) + 2 * jnp.argmin(s["u"].astype(jnp.int32) * 7 % 11).astype(jnp.int32)}

    def read(self, _):
        def run(s):
            return {**s, "a": jnp.tanh(s["w"][s["k"] % 70] + s["v"][s["k"] % self.n]), "v": jnp.where(s["t"], s["v"], lax.dynamic_index_in_dim(s["m"], s["k"], 1, False))}
        return run

    def branches(self, depth):
        steps = [self.step(depth + 1) for _ in range(self.r.randint(2, 4))]
        if len(steps) == 2:
            return lambda s: lax.cond(s["t"], *steps, s)
        return lambda s: lax.switch(s["k"] - 1, steps, s)

    def inner_scan(self, depth):
        step, reverse = self.step(depth + 1), bool(self.r.rand() < 0.5)
        def run(s):
            s, seen = lax.scan(lambda s, x: (step({**s, "a": jnp.tanh(s["a"] + x)}), s["a"]), s, s["m"][0], reverse=reverse)
            return {**s, "m": s["m"].at[0].set(seen)}
        return run

    def inner_while(self, depth):
        step, most = self.step(depth + 1), int(self.r.randint(1, 6))
        def run(s):
            return lax.while_loop(lambda c: c[0] < c[1]["k"] % most, lambda c: (c[0] + 1, {**step(c[1]), "k": c[1]["k"]}), (jnp.int32(0), s))[1]
        return run


