"""Losses over shard_map on eight forced host devices, hand-written and random: captured, and what JAX makes of them. A process of its own, as the number of devices
is fixed when JAX starts. `shard_map_programs.py FOLDER SEED COUNT` writes NAME.jaxscope, NAME.jax.npz (value and gradients) and NAME.json (texts, residual rows)."""
import functools
import json
import os
import random
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import numpy as np  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.ad_checkpoint import checkpoint_name, checkpoint_policies  # noqa: E402
from jax._src.ad_checkpoint import saved_residuals  # noqa: E402
from jax._src.lax.parallel import all_gather_invariant  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import jaxscope  # noqa: E402
from conftest import cut as cut_paths  # noqa: E402
from test_behaviours import Texts, cut  # noqa: E402

GRID = Mesh(np.array(jax.devices()).reshape(4, 2), ("rows", "cols"))
LINE = Mesh(np.array(jax.devices()), ("line",))
OTHER = Mesh(np.array(jax.devices()).reshape(2, 4), ("first", "second"))
W = jnp.asarray(np.random.default_rng(0).standard_normal((3, 3)), jnp.float32)
A = jnp.asarray(np.random.default_rng(1).standard_normal((16, 3)), jnp.float32)
SIZE = 3  # of vmap's axis


def mapped(body, ins, outs, checked, mesh=GRID):
    return jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=checked)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(x, k):
    return jnp.sin(x) * k


scaled.defvjp(lambda x, k: (scaled(x, k), x), lambda k, x, ct: (ct * jnp.cos(x) * k,))


@jax.custom_vjp
def measured(h, a):
    return h * a.sum()


measured.defvjp(lambda h, a: (measured(h, a), (h, a)), lambda r, ct: (ct * r[1].sum(), jnp.full_like(r[1], (ct * r[0]).sum())))


@jax.custom_jvp
def cosine(x):
    return jnp.cos(x)


cosine.defjvp(lambda x, dx: (cosine(x[0]), -jnp.sin(x[0]) * dx[0]))


@jax.custom_jvp
def averaged(x):
    return lax.pmean(x * x, "rows")


@jax.custom_jvp
def centred(x):
    return x - x.mean()


averaged.defjvp(lambda x, dx: (averaged(x[0]), lax.pmean(x[0] * dx[0] * 2, "rows")))
centred.defjvp(lambda x, dx: (centred(x[0]), (dx[0] - dx[0].mean()) / 2.0))


# ---- By hand, each with types that say what varies and without them

def by_hand(checked):
    own = P("rows") if checked else P("rows", None)

    def numbers(w, a):  # residuals that are numbers leave as arrays of one element
        def body(w, a):
            h = jnp.tanh(a @ w)
            return lax.psum((h * jnp.sin(h.sum())).sum() * 2.0, "rows")
        return mapped(body, (P(), P("rows")), P(), checked)(w, a)

    def inside(w, a):
        u, n = mapped(lambda w, a: (jnp.sin(a @ w), a.sum()[None]), (P(), P("rows")), (own, P("rows")), checked)(w, a)
        return (u ** 3).sum() * n.sum()

    def remat_inside(w, a):
        def body(w, a):
            h = jax.checkpoint(lambda w, a: jnp.sin(checkpoint_name(jnp.tanh(a @ w), "h")))(w, a)
            return lax.pmean(h.sum(), "rows")
        return mapped(body, (P(), P("rows")), P(), checked)(w, a)

    def remat_around(w, a):
        both = ("rows", "cols")
        g = mapped(lambda w, a: (jax.jit(lambda w, a: jnp.cos(checkpoint_name(a @ w, "h")) * 3)(w, a), a * 2, a.sum()[None]), (P(), P(both)), (P(both), P(both), P(both)), checked)
        u, v, n = jax.checkpoint(lambda w, a: g(w, jnp.sin(a)))(w, a)
        return jnp.sin(u).sum() * v.sum() + n.sum()

    def loops(w, a):
        def body(w, a):
            def step(c, _):
                c = jnp.tanh(c @ w @ w.T)
                return c, lax.psum(c.sum(), "rows")
            c, ys = lax.scan(step, a, None, length=3)
            d = lax.cond(lax.psum(1, "rows") > 1, jnp.sin, lambda v: v * v, c)
            top = lax.pmax(lax.stop_gradient(d.max()), "rows")
            return lax.psum(jnp.exp(d - top).sum(), "rows") + ys.sum()
        return mapped(body, (P(), P("rows")), P(), checked)(w, a)

    def moves(w, a):
        def body(w, a):
            ring = lax.ppermute(a, "rows", [(k, (k + 1) % 4) for k in range(3)])
            whole = lax.all_gather(a, "rows", tiled=True)
            part = lax.psum_scatter(whole * 1.5, "rows", tiled=True) + lax.all_gather(a, "rows")[0]
            turned = lax.all_to_all(jnp.tile(a, (4, 1)), "rows", 0, 1, tiled=True)
            same = lax.all_to_all(a.reshape(4, 3), "rows", 0, 0)
            down, up = lax.all_to_all(jnp.sin(a)[:, None], "rows", 0, 1), lax.all_to_all(jnp.sin(a).sum(1)[None], "rows", 1, 0)
            return ((ring + part * lax.axis_index("rows")) @ w).sum(keepdims=True) * turned.sum() + same.sum() + (down ** 2).sum() + (up ** 2).sum()
        return mapped(body, (P(), P("rows")), P("rows", None), checked)(w, a).sum()

    def gathered_for_all(w, a):  # what is the same on all devices is cut again where it is transposed
        def body(w, a):
            h = all_gather_invariant(a @ w, ("rows", "cols"), axis=1, tiled=True) if checked else lax.all_gather(a @ w, ("rows", "cols"), axis=1, tiled=True)
            return (jnp.sin(h) * all_gather_invariant(a, "rows").sum() if checked else h)[:, :3]
        return mapped(body, (P(), P(("rows", "cols"))), P(("rows", "cols")), checked)(w, a).sum()

    def rules(w, a):
        u, v, n = mapped(lambda w, a: (jax.nn.relu(a @ w), jax.nn.softmax(a, axis=-1), jax.nn.silu(w).sum()), (P(), P("rows")), (P("rows"), P("rows"), P()), checked)(w, a)
        return jax.nn.logsumexp(u) + (v * v).sum() + n

    def own_rules(w, a):  # custom_vjp and custom_jvp, whose rules are traced where the body's types say what varies
        def body(w, a):
            h = scaled(jnp.tanh(a @ w), 1.5)
            return lax.psum((measured(h, a) * jax.checkpoint(cosine)(h)).sum(), "rows")
        return mapped(body, (P(), P("rows")), P(), checked)(w, a)

    def averaging(w, a):  # numbers in a rule of custom_jvp leave the body, too
        return jnp.sin(mapped(lambda w, a: averaged(a @ w) * centred(a), (P(), P("rows")), P("rows"), checked)(w, a)).sum()

    def gradients_inside(w, a):  # numbers that derivatives bring along aren't the user's
        def body(w, a):
            slopes = jax.grad(lambda w: jnp.mean((a @ w) ** 2) + jnp.sum(jnp.sqrt(1.5 + jnp.square(w)) * 3.0))(w)
            return lax.pmean(slopes, "rows") + lax.pmean(jax.jvp(lambda w: jnp.tanh(w * 2.5) / 0.5, (w,), (w,))[1], "rows")
        return jnp.sum(mapped(body, (P(), P("rows")), P(), checked)(w, a) ** 3)

    def sorting(w, a):
        def body(w, a):
            return lax.psum((jnp.sort(a @ w, axis=1) * a).sum(), "rows")
        return mapped(body, (P(), P("rows")), P(), checked)(w, a)

    def grid(w, a):
        def body(w, a):
            w = w + 0.1 * lax.axis_index("cols")
            return a @ w, (a * lax.psum(w.sum(), "cols")).sum(0)
        u, v = mapped(body, (P(), P("rows")), (P("rows", "cols"), P("rows")), checked)(w, a)
        return jnp.sin(u).sum() + (v * v).sum()

    def differentiated_inside(w, a):  # the gradient is taken by each device, and then that of the step again
        def body(w, a):
            return lax.pmean(jax.grad(lambda w: jnp.tanh(a @ w).sum())(w), "rows")
        return (mapped(body, (P(), P("rows")), P(), checked)(w, a) ** 2).sum()

    def twice(w, a):
        f = mapped(lambda w, a: jnp.tanh(a @ w), (P(), P("rows")), P("rows"), checked)
        return f(w, f(w.T, a)).sum()

    def some_axes(w, a):  # the other axes are the partitioner's
        f = jax.shard_map(lambda w, a: lax.psum(jnp.tanh(a @ w) * a.sum(), "rows") * 2, mesh=GRID, in_specs=(P(), P("rows")), out_specs=P(), axis_names={"rows"}, check_vma=checked)
        return jnp.sin(f(w, a)).sum()

    def one_in_another(w, a):
        def outer(w, a):
            inner = jax.shard_map(lambda w, a: lax.psum(jnp.sin(a @ w).sum() * a, "cols"), in_specs=(P(), P("cols")), out_specs=P(), axis_names={"cols"}, check_vma=checked)
            return inner(w, a) * a.sum()
        return jax.shard_map(outer, mesh=GRID, in_specs=(P(), P("rows")), out_specs=P("rows"), axis_names={"rows"}, check_vma=checked)(w, a).sum()

    def cut_further(w, a):  # the partitioner cuts what a device of `rows` has along `cols`, in a loop, too
        def body(w, a):
            def step(c, _):
                c = jnp.tanh(c @ w)
                return c, lax.psum(c.sum(), "rows")
            c, ys = lax.scan(step, a, None, length=3)
            return c * ys.sum() + lax.ppermute(a, "rows", [(k, (k + 1) % 4) for k in range(4)])
        f = jax.shard_map(body, mesh=GRID, in_specs=(P(), P("rows")), out_specs=P("rows"), axis_names={"rows"}, check_vma=checked)
        return (f(w, lax.with_sharding_constraint(a, NamedSharding(GRID, P(("rows", "cols"))))) ** 2).sum() * 0.01

    def exchanged_in_some(w, a):  # what is exchanged along `rows` stays cut along `cols`
        def body(w, a):
            wide = lax.all_gather(a, "rows", axis=1, tiled=True)
            part = lax.psum_scatter(wide * 1.5, "rows", scatter_dimension=1, tiled=True)
            turned = lax.all_to_all(jnp.sin(wide), "rows", 1, 1, tiled=True)
            return (part + lax.all_gather(a, "rows").sum(0)) @ w * turned.sum()
        f = jax.shard_map(body, mesh=GRID, in_specs=(P(), P("rows")), out_specs=P("rows"), axis_names={"rows"}, check_vma=checked)
        return f(w, lax.with_sharding_constraint(a, NamedSharding(GRID, P(("rows", "cols"))))).sum() * 0.01

    def two_meshes(w, a):
        h = mapped(lambda w, a: jnp.tanh(a @ w) * lax.axis_index("line"), (P(), P("line")), P("line"), checked, LINE)(w, a)
        g = mapped(lambda h: h * lax.psum(h.sum(), "rows") + lax.axis_index("cols"), P("rows"), P("rows", None) if checked else P(("rows",)), False)(h)
        return 0.01 * (lax.with_sharding_constraint(g, NamedSharding(LINE, P("line"))) ** 2).sum()

    def crossing_meshes(w, a):  # no axis of the one is an axis of the other
        h = mapped(lambda w, a: a @ w * lax.pmean(a.sum(), ("first", "second")), (P(), P(("first", "second"))), P(("first", "second")), checked, OTHER)(w, a)
        return mapped(lambda h: lax.psum(jnp.sin(h).sum(), "rows") * h.sum(), P("rows"), P(), False)(h)

    chosen = [numbers, inside, remat_inside, remat_around, loops, moves, gathered_for_all, rules, own_rules, averaging, gradients_inside, sorting, grid, twice]
    return {f"{f.__name__}-{'checked' if checked else 'unchecked'}": f for f in chosen + ([differentiated_inside, some_axes, one_in_another, cut_further, exchanged_in_some, two_meshes, crossing_meshes] if checked else [])}


# ---- Random ones

def random_loss(seed):
    rng = random.Random(seed)
    checked, mesh = rng.random() < 0.6, rng.choice([GRID, LINE])
    axis, n = mesh.axis_names[0], mesh.devices.shape[0]
    steps = [lambda h, w: jnp.sin(h @ w), lambda h, w: h * 1.5 - w[0], lambda h, w: h + lax.psum(h.mean(), axis), lambda h, w: h - lax.pmean(h, axis) * 0.5,
             lambda h, w: lax.ppermute(h, axis, [(k, (k + 1) % n) for k in range(n)]), lambda h, w: h * (lax.axis_index(axis) + 1) * 0.3,
             lambda h, w: lax.psum_scatter(lax.all_gather(jnp.tanh(h), axis, tiled=True), axis, tiled=True) * 0.2,
             lambda h, w: lax.all_to_all(jnp.tile(h, (n, 1)), axis, 0, 1, tiled=True)[:, :3], lambda h, w: jax.jit(lambda h, w: jnp.cos(h) @ w)(h, w),
             lambda h, w: jax.checkpoint(lambda h, w: jnp.sin(jnp.sin(h) @ w))(h, w), lambda h, w: lax.scan(lambda c, _: (jnp.tanh(c @ w), None), h, None, length=2)[0],
             lambda h, w: jax.nn.softmax(h, -1), lambda h, w: jax.nn.relu(h) + h, lambda h, w: lax.cond(h.sum() > 0, jnp.sin, lambda v: v * 0.5, h),
             lambda h, w: jax.vmap(lambda r: r @ w + r.sum())(h), lambda h, w: h * jnp.sin(0.01 * lax.psum(w.sum() * h.sum(), axis))]
    picked = [rng.choice(steps) for _ in range(rng.randint(2, 5))]
    scalar, around = rng.random() < 0.5, rng.randrange(4)

    def body(w, a):
        h = a
        for step in picked:
            h = step(h, w)
        return lax.psum((h * h).sum() * 0.5, axis) if scalar else h

    def loss(w, a):
        f = mapped(body, (P(), P(axis)), P() if scalar else P(axis), checked, mesh)
        f = [lambda f: f, jax.checkpoint, jax.jit, lambda f: jax.checkpoint(f, policy=checkpoint_policies.dots_saveable)][around](f)
        return jnp.sin(0.01 * f(w, jnp.sin(a))).sum()
    return loss


# ---- What JAX makes of them

def text_of(f, *args):
    return Texts().of(jax.make_jaxpr(f)(*args)).rstrip()


def rows_of(f, policy):
    wrapped = jax.checkpoint(f, policy=policy) if policy is not None else f
    return [[a.str_short(short_dtypes=True), cut(cut_paths(s))] for a, s in saved_residuals(lambda w, a: wrapped(w, a), W, A) if s != "from a literal"]


def write(folder, name, fn):
    jaxscope.capture(fn, values="all")(W, A).save(os.path.join(folder, name + ".jaxscope"))
    if fn.__name__ != "one_in_another":  # whose gradient XLA refuses: a residual is cut by an axis that is manual outside
        value, grads = jax.jit(jax.value_and_grad(fn, argnums=(0, 1)))(W, A)
        np.savez(os.path.join(folder, name + ".jax.npz"), value=value, dw=grads[0], da=grads[1])
    texts = {"grad:0,1": text_of(jax.grad(fn, argnums=(0, 1)), W, A), "jvp": text_of(lambda w, a, dw, da: jax.jvp(fn, (w, a), (dw, da)), W, A, W, A),
             f"vmap@{SIZE}": text_of(jax.vmap(fn), jnp.stack([W] * SIZE), jnp.stack([A] * SIZE))}
    policies = {"": None, "dots_saveable": checkpoint_policies.dots_saveable, "everything_saveable": checkpoint_policies.everything_saveable,
                "save_only_these_names(h)": checkpoint_policies.save_only_these_names("h")}
    with open(os.path.join(folder, name + ".json"), "w") as f:
        json.dump({"texts": texts, "residuals": {p: rows_of(fn, q) for p, q in policies.items()}}, f)


def resharded(w, a):
    h = jax.reshard(jnp.sin(a), P("rows", "cols"))
    h = jax.reshard(h * 2.0 + h, P(None, "cols"))
    return (jnp.cos(h) * h).sum() + (w * w).sum()


def write_explicit(folder):
    """Types that carry shardings; of four columns, which two devices cut."""
    global A
    with jax.set_mesh(jax.make_mesh((4, 2), ("rows", "cols"))):
        A, before = jax.device_put(jnp.concatenate([A, A[:, :1]], 1), P("rows", None)), A
        write(folder, "resharded", resharded)
        A = before


def write_refused(folder):
    """What JAX doesn't differentiate, and its words."""
    def turned(a):  # its transpose has dimensions in another order where one of more than one element lies between
        return lax.all_to_all(jnp.sin(a), "rows", 0, 1)

    def largest(a):
        return jnp.sin(lax.pmax(a, "rows"))
    for body, outs in ((turned, P("rows")), (largest, P())):
        fn = lambda a, body=body, outs=outs: mapped(body, P("rows"), outs, True)(a).sum()
        jaxscope.capture(fn, values="all")(A).save(os.path.join(folder, f"refused-{body.__name__}.jaxscope"))
        try:
            jax.grad(fn)(A)
        except Exception as e:
            with open(os.path.join(folder, f"refused-{body.__name__}.txt"), "w") as f:
                f.write(str(e))


def main(folder, seed, count):
    write_explicit(folder)
    write_refused(folder)
    for checked in (True, False):
        for name, fn in by_hand(checked).items():
            write(folder, name, fn)
    for k in range(count):
        write(folder, f"random-{seed + k}", random_loss(seed + k))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
