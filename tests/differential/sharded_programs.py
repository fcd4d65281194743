"""Programs over eight forced host devices: captured, and run by JAX. A process of its own, as the number of devices is fixed when JAX starts.
`sharded_programs.py FOLDER SEED COUNT` writes NAME.jaxscope and NAME.npz (JAX's results) for each."""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import numpy as np  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import jaxscope  # noqa: E402

MESHES = {"x8": ((8,), ("x",)), "x2y4": ((2, 4), ("x", "y")), "x4y2": ((4, 2), ("x", "y")), "x2y2z2": ((2, 2, 2), ("x", "y", "z"))}


def mesh_of(name):
    shape, names = MESHES[name]
    return Mesh(np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape), names)


def array(rng, *shape):
    return jnp.asarray(rng.standard_normal(shape).astype(np.float32))


# ---- Inside of shard_map: every collective

def collectives(mesh):
    a, b = mesh.axis_names[0], mesh.axis_names[-1]
    n = mesh.shape[a]

    def sums(x):
        return lax.psum(x, a), lax.pmax(x, a), lax.pmin(x, (a, b) if a != b else a), lax.pmean(x, a)

    def gathers(x):
        whole = lax.all_gather(x, a, tiled=True)
        return lax.psum_scatter(whole, a, tiled=True), lax.all_gather(x, a), lax.psum_scatter(lax.all_gather(x, a), a)

    def moves(x):
        ring = lax.ppermute(x, a, [(i, (i + 1) % n) for i in range(n)])
        some = lax.ppermute(x, a, [(0, n - 1)])
        return ring, some, lax.all_to_all(jnp.tile(x, (n, 1)), a, 0, 1, tiled=True), x * (lax.axis_index(a) + 1)

    def loops(x):
        def step(c, _):
            c = jnp.tanh(c + lax.pmean(c, a))
            return c, lax.psum(c.sum(), a)
        c, ys = lax.scan(step, x, None, length=3)
        w = lax.while_loop(lambda s: lax.pmax(jnp.abs(s).max(), a) > 1e-2, lambda s: s * 0.5, c)
        d = lax.cond(lax.psum(1, a) > 1, lambda v: lax.psum(v, a), lambda v: v, x)
        return c, ys[None], w, d

    def over(f, specs):
        return jax.shard_map(f, mesh=mesh, in_specs=P(a), out_specs=specs, check_vma=False)

    def checked(x):
        return lax.psum((x * jnp.arange(3.0)).sum(), a), lax.pcast(lax.pmax(x.sum(), a), a, to="varying") + x

    split = P(a)
    return {"sums": over(sums, (P(), P(), P(), P())), "gathers": over(gathers, (split, P(None, a), split)),
            "checked": jax.shard_map(checked, mesh=mesh, in_specs=split, out_specs=(P(), split)), "moves": over(moves, (split, split, split, split)), "loops": over(loops, (split, P(), split, P()))}


# ---- Shardings of inputs, constraints, and what the partitioner makes of them

def functions(mesh):
    def wsc(v, *spec):
        return lax.with_sharding_constraint(v, NamedSharding(mesh, P(*spec)))

    a, b = mesh.axis_names[0], mesh.axis_names[-1]

    def mlp(x, w, v):
        return jnp.tanh(x @ w) @ v

    def loss(x, w, v):
        g = jax.grad(lambda p: jnp.mean((jnp.tanh(x @ p[0]) @ p[1]) ** 2))((w, v))
        return jax.tree.map(lambda p, d: p - 0.1 * d, (w, v), g)

    def attention(x, w, v):
        h = wsc((x @ w).reshape(8, 2, 8), a)
        s = jax.nn.softmax(jnp.einsum("bhd,chd->hbc", h, h), -1)
        return jnp.einsum("hbc,chd->bhd", s, h).reshape(8, 16) @ v

    def norms(x, w, v):
        y = wsc(x @ w, None, a)
        y = (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
        return y.max(0), jnp.argmax(y, 1), jnp.cumsum(y, 0), jnp.sort(y, 1), y.T @ v[:8]

    def layers(x, w, v):
        ws = jnp.stack([w[:, :8], v[:8, :8], w[:, 8:]])
        return lax.scan(lambda c, m: (jnp.sin(c @ m), c.sum()), x, ws)

    def uneven(x, w, v):
        y = wsc(jnp.exp(x[:7, :5]), a, b if b != a else None)
        return y @ y.T, y.sum(), y.max(0), y.min()

    def tables(x, w, v):
        i = jnp.argsort(x[:, 0])
        return w[i], jnp.take_along_axis(v, i[None, :] % 8, 1), lax.dynamic_slice(v, (2, 0), (4, 16)), v.at[i].add(1.0)

    def remat(x, w, v):
        f = jax.checkpoint(lambda p: jnp.sin(jnp.sin(x @ p) @ v))
        return jax.grad(lambda p: f(p).sum())(w)

    return {"mlp": mlp, "step": loss, "attention": attention, "norms": norms, "layers": layers, "uneven": uneven, "tables": tables,
            "remat": remat}


def random_spec(rng, shape, mesh):
    names = list(mesh.axis_names)
    rng.shuffle(names)
    spec = [[] for _ in shape]
    for name in names[: rng.integers(0, len(names) + 1)]:
        d = int(rng.integers(len(shape)))
        parts = int(np.prod([mesh.shape[n] for n in spec[d]])) * mesh.shape[name]
        if shape[d] % parts == 0:
            spec[d].append(name)
    return P(*[tuple(d) if d else None for d in spec])


def write(folder, name, fn, args):
    jaxscope.capture(fn, values="all")(*args).save(os.path.join(folder, name + ".jaxscope"))
    out = jax.tree.leaves(jax.jit(fn)(*args))
    np.savez(os.path.join(folder, name + ".jax.npz"), **{f"out{i}": np.asarray(v) for i, v in enumerate(out)})


def main(folder, seed, count):
    rng = np.random.default_rng(seed)
    for m in ("x8", "x2y4"):
        mesh = mesh_of(m)
        for name, fn in collectives(mesh).items():
            write(folder, f"map-{m}-{name}", fn, (jax.device_put(array(rng, 16, 3), NamedSharding(mesh, P(mesh.axis_names[0]))),))
    write(folder, "pmap", jax.pmap(lambda x, y: (x + lax.psum(y, "i"), lax.axis_index("i")), axis_name="i", in_axes=(0, None)),
          (array(rng, 8, 4), array(rng, 4)))
    kinds = list(functions(mesh_of("x8")))
    for i in range(count):
        m = str(rng.choice(list(MESHES)))
        mesh = mesh_of(m)
        name = kinds[i % len(kinds)]
        shapes = ((8, 8), (8, 16), (16, 16))
        args = tuple(jax.device_put(array(rng, *s), NamedSharding(mesh, random_spec(rng, s, mesh))) for s in shapes)
        write(folder, f"jit-{i}-{m}-{name}", functions(mesh)[name], args)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
