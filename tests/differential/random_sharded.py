"""Random programs over several devices: what they compute, over which mesh, and how their inputs, results and some values between lie. All from
one number. Sizes inside need not divide; those of inputs and results do, as JAX asks."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

MESHES = {"x8": ((8,), ("x",)), "x2y4": ((2, 4), ("x", "y")), "x4y2": ((4, 2), ("x", "y")), "x2y2z2": ((2, 2, 2), ("x", "y", "z")), "x4": ((4,), ("x",)),
          "x3y2": ((3, 2), ("x", "y"))}


def mesh_of(name):
    shape, names = MESHES[name]
    return Mesh(np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape), names)


def random_spec(rng, shape, mesh, even=True):
    """Axes of the mesh over dimensions, as many as fit."""
    names = list(mesh.axis_names)
    rng.shuffle(names)
    spec = [[] for _ in shape]
    for name in names[: rng.integers(0, len(names) + 1)]:
        d = int(rng.integers(len(shape)))
        parts = int(np.prod([mesh.shape[n] for n in spec[d]])) * mesh.shape[name]
        if not even or shape[d] % parts == 0:
            spec[d].append(name)
    return P(*[tuple(d) if len(d) > 1 else d[0] if d else None for d in spec])


class Steps:
    """What a program does, chosen before it is traced: each step takes values and gives one."""

    def __init__(self, rng, mesh, whole):
        self.rng, self.mesh, self.whole = rng, mesh, whole

    def _one(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def elementwise(self):
        f = self._one(jnp.tanh, jnp.sin, lambda v: v * jax.nn.sigmoid(v), jax.nn.relu, jax.nn.gelu, lambda v: jnp.sqrt(jnp.abs(v) + 0.5), lambda v: jnp.where(v > 0, v, v * 0.3))
        return lambda v, w: f(v)

    def two(self):
        f = self._one(lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a - 0.5 * b, jnp.maximum)
        axis = int(self.rng.integers(2))
        return lambda v, w: f(v, w) if v.shape == w.shape else f(v, jnp.tanh(w).mean(axis, keepdims=True)[:1, :1])

    def product(self):
        kind = int(self.rng.integers(3))

        def step(v, w):
            if kind == 0 and v.shape[1] == w.shape[1]:
                return v @ w.T / v.shape[1]
            if kind == 1 and v.shape[0] == w.shape[0]:
                return v.T @ w / v.shape[0]
            return v @ v.T / v.shape[1]
        return step

    def batched_product(self):
        return lambda v, w: jnp.einsum("abc,adc->abd", v.reshape(-1, 2, v.shape[1]), v.reshape(-1, 2, v.shape[1])).reshape(v.shape[0], 2) if v.shape[0] % 2 == 0 else v

    def shape(self):
        kind = int(self.rng.integers(6))
        return lambda v, w: (v.T, v.reshape(v.shape[1], v.shape[0]), v[::-1], jnp.roll(v, 1, 0), jnp.concatenate([v, v[:2] * 2]), jnp.pad(v, ((1, 0), (0, 1))))[kind]

    def part(self):
        kind = int(self.rng.integers(4))
        return lambda v, w: (v[1:], v[:, :-1], v[::2], v[-3:, :])[kind] if min(v.shape) > 4 else v

    def reduction(self):
        f = self._one(lambda v, a: v.sum(a, keepdims=True) * 0.1, lambda v, a: v.max(a, keepdims=True), lambda v, a: v.mean(a, keepdims=True), lambda v, a: v.min(a, keepdims=True))
        axis = int(self.rng.integers(2))
        return lambda v, w: v + f(v, axis)

    def normalised(self):
        axis = int(self.rng.integers(2))
        f = self._one(lambda v: jax.nn.softmax(v, axis), lambda v: (v - v.mean(axis, keepdims=True)) * lax.rsqrt(v.var(axis, keepdims=True) + 0.1), lambda v: v - jax.nn.logsumexp(v, axis, keepdims=True))
        return lambda v, w: f(v)

    def along(self):
        axis = int(self.rng.integers(2))
        f = self._one(lambda v: jnp.sort(v, axis), lambda v: jnp.cumsum(v * 0.2, axis), lambda v: lax.cummax(v, axis), lambda v: lax.cumsum(v * 0.2, axis, reverse=True))
        return lambda v, w: f(v)

    def indexed(self):
        kind = int(self.rng.integers(5))
        at = self.rng.integers(0, 3, 5)

        def step(v, w):
            rows = jnp.asarray(at) % v.shape[0]
            if kind == 0:
                return v[rows]
            if kind == 1:
                return v.at[rows].add(0.5)
            if kind == 2:
                return jnp.take_along_axis(v, jnp.broadcast_to(rows[:, None], (5, v.shape[1])), 0)
            start = (jnp.abs(w.sum()) * 0).astype("int32") + 1
            if kind == 3 and min(v.shape) > 4:
                return lax.dynamic_slice(v, (start, 0), (v.shape[0] - 2, v.shape[1]))
            # Not of the array's own rows: XLA's CPU compiler writes over some of them before it reads them (JAX 0.10.2; its eager result is ours).
            return lax.dynamic_update_slice(v, jnp.full((2, v.shape[1]), 0.5) * jnp.tanh(w.mean()), (start, 0))
        return step

    def loop(self):
        kind = int(self.rng.integers(4))
        n = int(self.rng.integers(2, 4))

        def step(v, w):
            if kind == 0:
                return lax.scan(lambda c, _: (jnp.tanh(c) + 0.1 * c.mean(), None), v, None, length=n)[0]
            if kind == 1:
                return lax.scan(lambda c, r: (c * 0.5 + r, jnp.sin(c)), v[0], v)[1]
            if kind == 2:
                return lax.fori_loop(0, n, lambda i, c: c * 0.9 + i * 0.01, v)
            return lax.cond(w.sum() > 0, lambda u: jnp.sin(u), lambda u: u * 0.5, v)
        return step

    def examples(self):
        """A loop for each row, that ends when it wants; a function of rows, some of them twice. JAX goes through neither backwards."""
        kind = int(self.rng.integers(2))
        at = self.rng.integers(0, 4, 5)

        def step(v, w):
            fixed = lax.stop_gradient(v)
            if kind == 0:  # how often is a matter of whole numbers, not of rounding
                run = lambda r, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 0.9 + 0.1 * c[1].mean()), (0, r))[1]
                return v * 0.5 + jax.vmap(run)(fixed, jnp.arange(v.shape[0]) % 4)
            return v * 0.5 + fixed.at[jnp.asarray(at) % v.shape[0]].apply(lambda u: u * 0.5 + 0.1)
        return step

    def region(self):
        f = self._one(lambda v: jax.checkpoint(lambda u: jnp.sin(jnp.sin(u) * u.mean(0)))(v), lambda v: jax.jit(lambda u: u * 2 + u.mean())(v),
                      lambda v: jax.vmap(lambda r: r * r.sum())(v), lambda v: _with_rule(v))
        return lambda v, w: f(v)

    def convolution(self):
        kernel = jnp.asarray(self.rng.standard_normal((3, 3, 1, 2)) * 0.3, jnp.float32)
        stride = self._one(1, 2)
        return lambda v, w: lax.conv_general_dilated(v[None, :, :, None], kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")).sum(-1)[0]

    def noise(self):
        seed = int(self.rng.integers(100))
        return lambda v, w: v + 0.1 * jax.random.normal(jax.random.key(seed), v.shape)

    def constraint(self):
        """The shape is known when it is traced; a spec that divides in one dimension may leave parts uneven in the other."""
        seed = int(self.rng.integers(1 << 30))

        def step(v, w):
            if self.whole:
                return v
            spec = random_spec(np.random.default_rng(seed), v.shape, self.mesh, even=False)
            return lax.with_sharding_constraint(v, NamedSharding(self.mesh, spec))
        return step


@jax.custom_jvp
def _with_rule(v):
    return jnp.sin(v) * v


@_with_rule.defjvp
def _(primals, tangents):
    return _with_rule(primals[0]), tangents[0] * jnp.cos(primals[0])


def _bounded(step):
    """Sines of large values differ by the rounding of what they are of. (No value may saturate: which one is the largest would be a matter of rounding.)"""
    return lambda v, w: jnp.arcsinh(step(v, w))


GROWING = ("two", "product", "batched_product", "region")
KINDS = ("elementwise", "two", "product", "batched_product", "shape", "part", "reduction", "normalised", "along", "indexed", "loop", "examples", "region", "convolution", "noise",
         "constraint", "constraint")
SIZES = (4, 6, 8, 12, 16)


def by_the_partitioner(rng, mesh, whole=False):
    """A function, its arguments, its kinds of steps, and the shardings of its results (none: left to the partitioner)."""
    shapes = [(int(rng.choice(SIZES)), int(rng.choice(SIZES))) for _ in range(2)]
    args = [jax.device_put(jnp.asarray(rng.standard_normal(s), jnp.float32), NamedSharding(mesh, random_spec(rng, s, mesh))) for s in shapes]
    kinds = [str(rng.choice(KINDS)) for _ in range(int(rng.integers(3, 7)))]
    made = Steps(rng, mesh, whole)
    steps = [(getattr(made, k)(), int(rng.integers(8)), int(rng.integers(8))) for k in kinds]
    steps = [(_bounded(step) if k in GROWING else step, a, b) for k, (step, a, b) in zip(kinds, steps)]

    def forward(*xs):
        values = list(xs)
        for step, a, b in steps:
            values.append(step(values[max(len(values) - 1 - a % 3, 0)], values[b % len(values)]))
        return values[-2:]

    if rng.random() < 0.3:
        def fn(*xs):
            return jax.value_and_grad(lambda *x: sum((v * v).mean() for v in forward(*x)), tuple(range(len(xs))))(*xs)
        kinds = kinds + ["gradient"]
    else:
        fn = forward
    out = None
    if rng.random() < 0.3:
        out = jax.tree.map(lambda a: NamedSharding(mesh, random_spec(rng, a.shape, mesh)) if a.shape else NamedSharding(mesh, P()), jax.eval_shape(fn, *args))
    return fn, args, kinds, out


def by_shard_map(rng, mesh, whole=False):
    """A body of collectives over axes of the mesh, some of them left to the partitioner."""
    names = list(mesh.axis_names)
    manual = set(names if rng.random() < 0.6 else [n for n in names if rng.random() < 0.7] or names[:1])
    axis = str(rng.choice(sorted(manual)))
    n = mesh.shape[axis]
    rows = 8 * 3 * int(rng.choice((1, 2)))
    x = jax.device_put(jnp.asarray(rng.standard_normal((rows, 6)), jnp.float32), NamedSharding(mesh, P(axis)))
    groups = [[k for k in range(n) if k % 2 == r] for r in range(2)] if n % 2 == 0 and n > 2 and rng.random() < 0.5 else None
    shift = int(rng.integers(1, n))
    kinds = [str(k) for k in rng.choice(("psum", "pmax", "gather", "scatter", "ring", "exchange", "index", "plain", "loop"), int(rng.integers(2, 5)))]
    members = n if groups is None else n // 2

    def body(v):
        for kind in kinds:
            if kind == "psum":
                v = v + 0.1 * lax.psum(v, axis, axis_index_groups=groups)
            elif kind == "pmax":
                v = v - 0.5 * lax.pmax(v.max(0, keepdims=True), axis, axis_index_groups=groups)  # half: what cancels shows nothing but rounding
            elif kind == "gather":
                v = v * lax.all_gather(v, axis, tiled=True, axis_index_groups=groups).mean(0)
            elif kind == "scatter":
                v = v + lax.psum_scatter(jnp.tile(v, (members, 1)), axis, tiled=True, axis_index_groups=groups)
            elif kind == "ring":
                v = v + lax.ppermute(v, axis, [(i, (i + shift) % n) for i in range(n)])
            elif kind == "exchange":
                v = v + lax.all_to_all(jnp.tile(v, (members, 1)), axis, 0, 1, tiled=True, axis_index_groups=groups)[:, :6]
            elif kind == "index":
                v = v * (1 + lax.axis_index(axis) * 0.1)
            elif kind == "loop":
                v = lax.scan(lambda c, _: (jnp.tanh(c + lax.pmean(c, axis)), None), v, None, length=2)[0]
            else:
                v = jnp.sin(v @ jnp.ones((6, 6)) * 0.3)
        return v
    fn = jax.shard_map(body, mesh=mesh, in_specs=P(axis), out_specs=P(axis), axis_names=manual, check_vma=False)
    return (lambda v: fn(jnp.cos(v)) * 2), [x], kinds + [f"over {sorted(manual)}"], None


def random_program(seed, whole=False):
    """(mesh's name, function, arguments, what it is made of, shardings of its results). `whole`: without constraints, which JAX refuses of uneven sizes where nothing
    is compiled."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(MESHES)))
    make = by_shard_map if rng.random() < 0.25 else by_the_partitioner
    return (name, *make(rng, mesh_of(name), whole))
