"""Programs over eight forced host devices: captured, and run by JAX. A process of its own, as the number of devices is fixed when JAX starts.
`sharded_programs.py FOLDER hand SEED` writes NAME.jaxscope and then NAME.jax.npz (JAX's results) for each of those written by hand.
`sharded_programs.py FOLDER random FIRST LAST` does so for random ones, random-NUMBER-...
`sharded_programs.py FOLDER whole NUMBER...` writes random-NUMBER.whole.npz: what JAX computes of whole arrays, operation by operation, where nothing is compiled together."""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import numpy as np  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402

import jaxscope  # noqa: E402
from random_sharded import mesh_of, random_program, random_spec  # noqa: E402

# XLA's programs run once, and are small: what it takes to compile them well is longer than what it saves.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


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

    def groups(x):
        pairs = [[k, k + n // 2] for k in range(n // 2)]
        halves = [list(range(n // 2)), list(range(n // 2, n))[::-1]]
        uneven = [[0], list(range(1, n))]
        own = lax.psum(x, a, axis_index_groups=halves) + lax.pmax(x, a, axis_index_groups=pairs) + lax.psum(x, a, axis_index_groups=uneven)
        whole = lax.all_gather(x, a, tiled=True, axis_index_groups=pairs)
        part = lax.psum_scatter(jnp.tile(x, (n // 2, 1)) * (lax.axis_index(a) + 1), a, tiled=True, axis_index_groups=halves)
        return own, whole, part, lax.all_to_all(x, a, 0, 1, tiled=True, axis_index_groups=pairs)

    def own_ways(x):  # nobody meets in these loops and branches: each device goes its own way
        k = lax.axis_index(a)
        w = lax.while_loop(lambda c: c[0] < k + 1, lambda c: (c[0] + 1, c[1] * 1.5 + lax.axis_index(a)), (0, x))[1]
        grown = lambda v: lax.while_loop(lambda u: u.sum() < 50.0, lambda u: u * 1.1 + lax.axis_index(a), jnp.abs(v) + 1)
        s = lax.switch(k % 3, [lambda v: v * lax.axis_index(a), grown, lambda v: -v], x)
        c, ys = lax.scan(lambda c, r: (lax.cond(lax.axis_index(a) > 0, lambda c: c + r, lambda c: c - r, c), c.sum() * k), x[0], x)
        return w, s, c[None] + ys.sum(), lax.psum(w, a)

    def apart(x):  # devices meet along one axis, and go their own ways along the others
        x = jnp.abs(x) + 1 + (lax.axis_index(a) if a != b else 0)
        w = lax.while_loop(lambda c: lax.psum(c.sum(), b) < 900.0, lambda c: c * 1.1 + lax.pmean(c, b) * 0.1, x)
        d = lax.cond(lax.pmax(w.sum(), b) > 120, lambda v: lax.psum(v, b), lambda v: v * 2, w)
        return w, d

    def crossed(x):  # axes named in another order than the mesh's: JAX sorts who takes part in a permute, and nobody else
        names = mesh.axis_names[::-1]
        x = x * (lax.axis_index(names) + 1)
        ring = lambda v: lax.ppermute(v, names, [(i, (i + 3) % 8) for i in range(8)])
        some = lax.ppermute(x, names, [(1, 2), (5, 0)])
        moved = lax.all_to_all(jnp.tile(x, (8, 1)), names, 0, 1, tiled=True)
        d = jax.grad(lambda v: ((ring(jnp.sin(v)) * (lax.axis_index(names) + 1)) ** 2).sum())(x)
        return tuple(lax.all_gather(v, b) if a != b else v for v in (ring(x), some, d)), moved[:, :6]

    def every(x):  # a condition for each row, where devices meet
        def run(r):
            return lax.while_loop(lambda c: lax.psum(c.sum(), a) < 20.0, lambda c: c * 1.3 + lax.pmean(c, a) * 0.1 + 0.5, r)
        return lax.scan(lambda c, _: (jax.vmap(run)(c) * 0.2, None), jnp.abs(x), None, length=2)[0]

    def turned(x):  # all_to_all that isn't tiled, between different dimensions
        return lax.all_to_all(jnp.tile(x[:1], (n, 1))[:, None] * (k_of(x) + 1), a, 0, 1)

    def k_of(x):
        return jnp.arange(x.shape[1], dtype=x.dtype) + lax.axis_index(a)

    def over(f, specs):
        return jax.shard_map(f, mesh=mesh, in_specs=P(a), out_specs=specs, check_vma=False)

    def checked(x):
        return lax.psum((x * jnp.arange(3.0)).sum(), a), lax.pcast(lax.pmax(x.sum(), a), a, to="varying") + x

    split = P(a)
    gathered = P(None, a) if a != b else split
    return {"apart": over(apart, (split, split)), "crossed": over(crossed, ((gathered,) * 3, P(mesh.axis_names))), "every": over(every, split), "own_ways": over(own_ways, (split, split, split, P())), "turned": over(turned, split), "groups": over(groups, (split,) * 4), "sums": over(sums, (P(), P(), P(), P())), "gathers": over(gathers, (split, P(None, a), split)),
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

    def picked(x, w, v):  # every row has indices of its own
        y = wsc(x @ w, a)
        i = jnp.argsort(x, 1)[:, :2]
        loss = lambda y: (jax.nn.logsumexp(y, -1) - jnp.take_along_axis(y, i[:, :1], -1)[:, 0]).mean()
        put = [jax.vmap(lambda r, k, u, how=how: getattr(r.at[k], how)(u))(y, i, wsc(y[:, 2:4], a)) for how in ("set", "add", "multiply", "min", "max", "subtract")]
        odd = wsc(y[:7] + 1.0, a)  # what no number of devices cuts evenly
        return jax.value_and_grad(loss)(y), put, jnp.take_along_axis(odd, i[:7], -1), jax.vmap(lambda r, k: r.at[k].add(1.0))(odd, i[:7])

    def rows(x, w, v):  # of tables that devices have parts of, and what is added to tables by parts
        i = jnp.argsort(x[:, 0]) * 3 - 4  # some outside, on both sides
        table, odd = wsc(v, a), wsc(jnp.sin(v[:13] * 2.0), a)
        found = [t.at[i].get(mode=m, **({"fill_value": 7.0} if f else {})) for t in (table, odd) for m, f in (("fill", 0), ("fill", 1), ("clip", 0))]
        j = jnp.abs(i) % 13
        tokens = wsc(jnp.abs(i), a)
        grad = jax.grad(lambda t: (jnp.take(t, tokens, axis=0, mode="clip") ** 2).sum())
        return (found, table.at[j].get(mode="promise_in_bounds"), odd[j, j], odd[:, j], wsc((v * 9).astype(jnp.int32), a)[j], wsc(v, None, a)[j],
                grad(v), grad(table), v.at[tokens].add(wsc(x @ w, a), mode="drop"), (v * 9).astype(jnp.int32).at[tokens % 5].add(wsc((x @ w).astype(jnp.int32), a)))

    def written(x, w, v):  # to tables that devices have rows of, some of them outside, on both sides
        i = jnp.argsort(x[:, 0]) * 3 - 4
        table, u = wsc(v, a), x @ w
        put = [getattr(table.at[i], how)(u, mode=m) for how in ("add", "set", "multiply", "min", "max") for m in ("drop", "clip")]
        counts = wsc((v * 9).astype(jnp.int32), a).at[i].add((u * 5).astype(jnp.int32), mode="drop")
        rows = wsc(jnp.zeros((16, 16)), a).at[wsc(jnp.abs(i), b if b != a else None) % 16].add(u)
        return put, counts, rows, table.at[i, 2].add(1.0)

    def applied(x, w, v):  # a function of rows that devices have parts of: some met twice, some outside
        i = jnp.argsort(x[:, 0]) * 3 - 4
        table, odd = wsc(v, a), wsc(jnp.sin(v[:13] * 2.0), a)
        f = lambda u: u * 1.5 + 1
        put = [t.at[i].apply(f, mode=m) for t in (table, odd) for m in ("drop", "clip")]
        every = jax.vmap(lambda r, k: r.at[k].apply(f))(wsc(x, a, b if b != a else None), jnp.argsort(x, 1)[:, :3] // 2)
        return put, every, wsc(w, None, a).at[:, i % 5].apply(f), odd.at[i, i].apply(f), table.at[wsc(jnp.arange(0, 16, 2), a)].apply(f, unique_indices=True)

    def examples(x, w, v):  # each goes on for as long as it wants
        run = jax.vmap(lambda r: lax.while_loop(lambda c: c.sum() < 20.0, lambda c: c * 1.5 + 1, r))
        x = jnp.abs(x)
        count = jax.vmap(lambda r, n: lax.fori_loop(0, n, lambda i, c: c * 1.5 + i, r))
        alone = jax.vmap(jax.vmap(lambda r: lax.while_loop(lambda c: c < 9.0, lambda c: c * 2 + 0.25, r)))
        return run(wsc(x, a)), run(wsc(x * 2, None, a)), run(wsc(x[:7], a)), count(wsc(x, a), jnp.argsort(x[:, 0])), alone(wsc(x, a)), lax.scan(lambda c, _: (run(c) * 0.1, None), wsc(x, a), None, length=2)[0]

    def remat(x, w, v):
        f = jax.checkpoint(lambda p: jnp.sin(jnp.sin(x @ p) @ v))
        return jax.grad(lambda p: f(p).sum())(w)

    return {"mlp": mlp, "step": loss, "attention": attention, "norms": norms, "layers": layers, "uneven": uneven, "tables": tables,
            "remat": remat, "picked": picked, "rows": rows, "written": written, "applied": applied, "examples": examples}


def write(folder, name, fn, args, shardings=None, judge=None):
    """`judge`: what JAX computes instead, where it has no lowering for what stands in `fn`."""
    options = {} if shardings is None else {"out_shardings": shardings}
    jaxscope.capture(jax.jit(fn, **options) if options else fn, values="all")(*args).save(os.path.join(folder, name + ".jaxscope"))
    out = jax.tree.leaves(jax.jit(judge or fn, **options).lower(*args).compile(compiler_options=QUICK)(*args))
    np.savez(os.path.join(folder, name + ".jax.npz"), **{f"out{i}": np.asarray(v) for i, v in enumerate(out)})


def write_pbroadcast(folder, rng):
    """JAX lowers it for GPUs alone, and says what it is: a psum of zeros but for one device."""
    mesh = mesh_of("x2y4")

    def over(one):
        return jax.shard_map(lambda x: jnp.sin(one(x, 1)) + jax.grad(lambda u: one(u.sum(), 3) ** 2)(x), mesh=mesh, in_specs=P("y"), out_specs=P("y"), check_vma=False)

    def masked(x, source):
        return lax.psum(jnp.where(lax.axis_index("y") == source, x, 0), "y")
    args = (jax.device_put(array(rng, 16, 3), NamedSharding(mesh, P("y"))),)
    write(folder, "pbroadcast", over(lambda x, source: lax.pbroadcast(x, "y", source)), args, judge=over(masked))


def write_one_row(folder, rng):
    """JAX 0.10.2's XLA writes a row of a table that was cut by rows to every device's part (as it clamps the place): whole arrays judge."""
    mesh = mesh_of("x4y2")
    table = jax.device_put(array(rng, 16, 16), NamedSharding(mesh, P()))

    def written(t):
        return t.at[3].set(1.0), t.at[-1].add(t[0]), t.at[7].min(0.0), t.at[5].apply(lambda u: u * 1.5 + 1)
    write(folder, "one_row", lambda t: written(lax.with_sharding_constraint(t, NamedSharding(mesh, P("x")))), (table,), judge=written)


def write_unreduced(folder, rng):
    """Explicit types whose sums stay in parts until a reshard."""
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)

    def fn(a, b):
        parts = jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", None, unreduced={"y"}))
        return jnp.tanh(jax.sharding.reshard(parts, P("x", None)))
    with jax.set_mesh(mesh):
        write(folder, "unreduced", fn, (jax.device_put(array(rng, 8, 16), P("x", "y")), jax.device_put(array(rng, 16, 8), P("y", None))))


def write_typed(folder, rng):
    """Operations of explicit types that say how their results lie, in a loop too."""
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)

    def fn(a, ws):
        def layer(c, w):
            return jnp.einsum("bd,df->bf", c, w, out_sharding=P("x", "y")), None
        c, _ = lax.scan(layer, a, ws)
        return c, jnp.einsum("bd,df->bf", a, ws[0], out_sharding=P("x", "y")) + jnp.ones((16, 8), out_sharding=P("x", "y"))
    with jax.set_mesh(mesh):
        write(folder, "typed", fn, (jax.device_put(array(rng, 16, 8), P("x", "y")), jax.device_put(array(rng, 3, 8, 8), P(None, "y", None))))


def write_hosted(folder, rng):
    """Weights that lie in the host's memory, and what is put there in between."""
    mesh = mesh_of("x2y4")

    def lies(*spec, **kind):
        return NamedSharding(mesh, P(*spec), **kind)

    def fn(w, x):
        h = jnp.tanh(x @ jax.device_put(w, lies("y", "x")))
        away = jax.device_put(h, lies("y", memory_kind="pinned_host"))
        return h.sum(0), jax.device_put(away, jax.memory.Space.Device) * 2 + x
    given = (lies("y", "x", memory_kind="pinned_host"), lies("x"))
    args = tuple(jax.device_put(array(rng, 8, 8), s) for s in given)
    write(folder, "hosted", jax.jit(fn, in_shardings=given), args)


def write_masked(folder, rng):
    """A causal mask of attention: what `where` fills in is one number, and its gradient leaves zeros that nobody reads."""
    mesh = mesh_of("x4y2")

    def loss(w, x):
        h = jnp.einsum("btd,bsd->bts", x @ w, x)
        h = jnp.where(jnp.tril(jnp.ones(h.shape[1:], bool)), h, -1e9)
        return jnp.einsum("bts,bsd->btd", jax.nn.softmax(h, -1), x).mean()
    args = (array(rng, 4, 4), jax.device_put(array(rng, 8, 256, 4), NamedSharding(mesh, P("x"))))
    write(folder, "masked", jax.grad(loss), args)


def write_permuted(folder, rng):
    """As many parts before and behind, on other devices; some of them uneven."""
    mesh = mesh_of("x2y2z2")

    def lies(v, *spec):
        return lax.with_sharding_constraint(v, NamedSharding(mesh, P(*spec)))

    def fn(x):
        y = lies(lies(x, ("x", "y", "z")) * 2, ("z", "x", "y"))
        z = lies(lies(x, "x", ("y", "z")) + 1, "z", ("x", "y"))
        odd = lies(lies(x[:7] * 3, ("x", "y")) - 1, ("z", "x"))
        return lies(y + 1, ("z", "x", "y")), lies(lies(x - 2, "x") * x, "y"), z * 2, odd.sum(0)
    write(folder, "permuted", fn, (jax.device_put(array(rng, 8, 8), NamedSharding(mesh, P())),))


def write_copies(folder, rng):
    """Results that aren't the same everywhere, though `out_specs` says so: of copies that differ JAX takes the first device's."""
    mesh = mesh_of("x2y4")

    def body(x):
        return [x * (1 + lax.axis_index("y") + 10 * lax.axis_index("x"))] * 3
    fn = jax.shard_map(body, mesh=mesh, in_specs=P(), out_specs=[P(), P("y"), P(None, "x")], check_vma=False)
    write(folder, "copies", fn, (jax.device_put(array(rng, 4, 2), NamedSharding(mesh, P())),))


def write_nan(folder, rng):
    """XLA:CPU's maxima and minima over devices pass by what is no number."""
    mesh = mesh_of("x8")
    x = jnp.where(jnp.arange(24).reshape(8, 3) % 5 == 1, jnp.nan, array(rng, 8, 3)).at[:, 1].set(jnp.nan)

    def fn(x):
        body = lambda v: (lax.pmax(v, "x"), lax.pmin(v, "x"), lax.psum(v, "x"), lax.pmax(v.astype(jnp.bfloat16), "x").astype(jnp.float32), lax.pmax(v > 0, "x"))
        return jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=False)(x), x.max(0), x.min(0)
    write(folder, "nan", fn, (jax.device_put(x, NamedSharding(mesh, P("x"))),))


def write_narrow(folder, rng):
    """Sums of narrow floats over devices are rounded once (256 + 7 is 264 in bf16, not 256), those of f16 after every device."""
    mesh = mesh_of("x8")

    def over(f, ins, outs):
        return jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False)

    def sums(x):
        halves = [[0, 1, 2, 3], [7, 6, 5, 4]]
        return (lax.psum(x, "x"), lax.pmean(x, "x"), lax.psum_scatter(jnp.tile(x, 8), "x", tiled=True), lax.psum(x, "x", axis_index_groups=halves),
                lax.pmax(x, "x"), jax.vmap(lambda v: lax.psum(v, ("x", "mapped")), axis_name="mapped")(jnp.stack([x, x])))

    def fn(x):
        narrow = [x.astype(d) for d in (jnp.bfloat16, jnp.float16, jnp.float8_e4m3fn, jnp.float8_e5m2)]
        split, whole = P("x"), P()
        found = [over(sums, split, (whole, whole, split, split, whole, whole))(v) for v in narrow]
        a, w = (lax.with_sharding_constraint(v.reshape(shape), NamedSharding(mesh, spec)) for v, shape, spec in
                ((narrow[0], (1, 8), P(None, "x")), (jnp.ones_like(narrow[0]), (8, 1), P("x"))))
        grad = jax.grad(lambda u: (lax.with_sharding_constraint(narrow[0], NamedSharding(mesh, split)) * u).sum().astype(jnp.float32))(jnp.bfloat16(1))
        return jax.tree.map(lambda v: v.astype(jnp.float32), (found, a @ w, grad))
    write(folder, "narrow", fn, (jax.device_put(jnp.asarray([256.0] + [1.0] * 7, jnp.float32), NamedSharding(mesh, P("x"))),))
    write(folder, "narrow-random", lambda x: fn(x)[0], (jax.device_put(array(rng, 8), NamedSharding(mesh, P("x"))),))


def write_constrained(folder, rng):
    """What a constraint says goes for what it is said of, in loops too; some dimensions it leaves open."""
    mesh = mesh_of("x4y2")

    def lies(v, *spec):
        return lax.with_sharding_constraint(v, NamedSharding(mesh, P(*spec)))

    def fn(unsaid, odd, rows, batch):
        turn = lambda c, _: (lies(jnp.tanh(c), P.UNCONSTRAINED, "y"), None)
        return (lies(jnp.sin(unsaid) + 1, "x", "y"), lies(jnp.cos(odd), "x").max(1), lies(rows * 2, P.UNCONSTRAINED, "y"),
                jax.vmap(lambda r: lies(jnp.sin(r), None, "y"))(batch), lax.scan(turn, rows, None, length=2)[0])
    cut = NamedSharding(mesh, P("x"))
    write(folder, "constrained", fn, (array(rng, 16, 8), array(rng, 17, 3), jax.device_put(array(rng, 8, 4), cut), jax.device_put(array(rng, 4, 6, 4), cut)))

    def parallel(x, a, b):  # along the sequence, but for the products
        return lies(jax.nn.relu(lies(x, "x", None) @ a) @ b, "x", "y")
    args = [jax.device_put(array(rng, *s), NamedSharding(mesh, p)) for s, p in (((4, 8, 16), P("x", "y")), ((16, 32), P(None, "y")), ((32, 16), P("y")))]
    write(folder, "sequence", parallel, args)


def write_grouped(folder, rng):
    """Convolutions of groups and their gradients: images and groups are cut, windows aren't."""
    mesh = mesh_of("x2y4")

    def loss(w, v, x):
        layout = dict(window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        y = jnp.tanh(lax.conv_general_dilated(x, w, feature_group_count=8, **layout))
        return (lax.conv_general_dilated(y, v, feature_group_count=4, **layout) ** 2).mean()
    lies = [NamedSharding(mesh, P(None, None, None, "y"))] * 2 + [NamedSharding(mesh, P("x", None, None, "y"))]
    args = tuple(jax.device_put(array(rng, *s), p) for s, p in zip(((3, 3, 1, 8), (3, 3, 2, 12), (4, 5, 5, 8)), lies))
    write(folder, "grouped", jax.value_and_grad(loss, (0, 1, 2)), args)
    odd = mesh_of("x8")  # more devices than groups
    write(folder, "grouped-odd", jax.value_and_grad(loss, (0, 1, 2)), tuple(jax.device_put(a, NamedSharding(odd, P())) for a in args[:2]) +
          (jax.device_put(args[2], NamedSharding(odd, P(None, None, None, "x"))),))


def by_hand(folder, seed):
    rng = np.random.default_rng(seed)
    for m in ("x8", "x2y4"):
        mesh = mesh_of(m)
        for name, fn in collectives(mesh).items():
            write(folder, f"map-{m}-{name}", fn, (jax.device_put(array(rng, 16, 3), NamedSharding(mesh, P(mesh.axis_names[0]))),))
    write_pbroadcast(folder, rng)
    write_one_row(folder, rng)
    write_unreduced(folder, rng)
    write_hosted(folder, rng)
    write_masked(folder, rng)
    write_permuted(folder, rng)
    write_copies(folder, rng)
    write_nan(folder, rng)
    write_narrow(folder, rng)
    write_grouped(folder, rng)
    write_constrained(folder, rng)
    write_typed(folder, rng)
    write(folder, "pmap-one", jax.pmap(lambda x: (x + lax.psum(1, "i"), lax.axis_index("i")), axis_name="i"), (array(rng, 1, 4),))
    write(folder, "pmap", jax.pmap(lambda x, y: (x + lax.psum(y, "i"), lax.axis_index("i")), axis_name="i", in_axes=(0, None)),
          (array(rng, 8, 4), array(rng, 4)))
    for i, name in enumerate(functions(mesh_of("x8"))):
        m = ("x8", "x2y4", "x4y2", "x2y2z2")[i % 4]
        write_shardable(folder, f"jit-{m}-{name}", functions(mesh_of(m))[name], mesh_of(m), rng)


def write_shardable(folder, name, fn, mesh, rng):
    """On shardings by chance; others where XLA's partitioner makes a program that its own verifier refuses."""
    shapes = ((8, 8), (8, 16), (16, 16))
    while True:
        specs = [random_spec(rng, s, mesh) for s in shapes]
        try:
            return write(folder, name, fn, tuple(jax.device_put(array(rng, *s), NamedSharding(mesh, p)) for s, p in zip(shapes, specs)))
        except jax.errors.JaxRuntimeError as refused:
            if "Failed after spmd-partitioning" not in str(refused):
                raise
            print(f"{name}: XLA refuses what it made of {specs}")


def at_random(folder, first, last):
    for number in range(first, last):
        m, fn, args, kinds, shardings = random_program(number)
        write(folder, f"random-{number}-{m}-{'-'.join(kinds)}".replace(" ", "")[:150], fn, args, shardings)


def whole(folder, number):
    _, fn, args, _, _ = random_program(number, whole=True)
    out = jax.tree.leaves(fn(*[jnp.asarray(np.asarray(a)) for a in args]))
    np.savez(os.path.join(folder, f"random-{number}.whole.npz"), **{f"out{i}": np.asarray(v) for i, v in enumerate(out)})


if __name__ == "__main__":
    to, what, *numbers = sys.argv[1:]
    numbers = [int(n) for n in numbers]
    if what == "whole":
        for n in numbers:
            whole(to, n)
    else:
        {"hand": by_hand, "random": at_random}[what](to, *numbers)
