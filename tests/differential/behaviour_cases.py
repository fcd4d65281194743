"""Small programs for test_behaviours.py: each shows what the observation of that id says, or a variation of it.

A case is (ids, function, arguments, what is compared). What is compared, where nothing else is said: the text, the residual rows, forward
mode, vmap, the two halves of linearize, and the gradient of the sum of the outputs.
"""
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name

policies = jax.checkpoint_policies
remat = jax.checkpoint
CASES = []
ALL = ("print", "residuals", "jvp", "vmap", "split", "grad")
VEC = np.array([0.5, 1.5, 2.5], np.float32)
MAT = np.arange(9, dtype=np.float32).reshape(3, 3) / 9


def case(ids, *args, only=ALL, without=(), under=()):
    """`under`: policies laid over the whole function, as the command line spells them and as Python does."""
    def add(fn):
        CASES.append((ids, fn, args, tuple(o for o in only if o not in without), under))
        return fn
    return add


def two_layers(x):
    return jnp.tanh(jnp.exp(x))


# ---- C: the API
case("C-01 C-02", 0.3)(remat(lambda x: jnp.exp(x) - 0.5))
case("C-04", 0.3)(lambda x: remat(lambda n, y: jnp.tanh(y) ** n, static_argnums=(0,))(3, x))
case("C-04", 0.3)(lambda x: remat(lambda y, up: jnp.exp(y) if up else jnp.log(y), static_argnums=-1)(x, False))
case("C-16", VEC)(remat(lambda x: (jax.debug.print("at {}", x), jnp.tanh(x))[1]))
case("C-16", VEC, without=("vmap",))(remat(lambda x: (jax.debug.print("at {}", x, ordered=True), jnp.tanh(x))[1]))
case("C-17", 0.3)(lambda x: remat(lambda y, *, scale: jnp.exp(y) * scale["s"])(x, scale={"s": x * x}))
_table = np.array([1.0, 4.0, 9.0], np.float32)
case("C-19", VEC)(remat(lambda x: jnp.exp(x) * _table))
case("C-20", VEC, VEC)(remat(lambda x, y: jnp.exp(x) * jnp.tanh(y), prevent_cse=False))
case("C-20", VEC, VEC)(remat(lambda x, y: jnp.exp(x) * jnp.tanh(y), prevent_cse=(False, True)))
case("C-22", 0.3)(lambda x: jnp.exp(remat(lambda y: jnp.exp(remat(jnp.tanh)(jnp.tanh(y))))(jnp.log(x))))
case("C-26", 3, VEC, without=("split",))(remat(lambda n, x: jnp.tanh(x) * n))

# ---- D: policies
for _p in (policies.everything_saveable, policies.nothing_saveable, policies.dots_saveable, policies.dots_with_no_batch_dims_saveable):
    case("D-01 D-02 D-04", MAT, VEC)(remat(lambda w, x: jnp.tanh(x @ w) + jnp.exp(x).sum(), policy=_p))


@case("D-04", MAT, np.ones((2, 3, 3), np.float32), np.ones((1, 1, 4, 4), np.float32),
      under=[("dots_saveable", policies.dots_saveable), ("dots_with_no_batch_dims_saveable", policies.dots_with_no_batch_dims_saveable)])
def three_products(a, b, k):
    plain = jnp.exp(a @ a).sum()
    batched = jnp.exp(jnp.matmul(b, b)).sum()
    return plain + batched + jnp.exp(lax.conv(k, k, (1, 1), "SAME")).sum()


case("D-05", np.ones((2, 3, 3), np.float32))(jax.vmap(remat(lambda x: jnp.exp(x @ x), policy=policies.dots_with_no_batch_dims_saveable)))
case("D-05", np.ones((2, 3, 3), np.float32))(jax.vmap(remat(lambda x: jnp.exp(x @ MAT), policy=policies.dots_with_no_batch_dims_saveable)))


def named_chain(x):
    first = checkpoint_name(jnp.exp(x), "first")
    second = checkpoint_name(jnp.tanh(first), "second")
    return jnp.log(second) * second


case("D-07 D-08 D-28", VEC, under=[("save_only_these_names(first)", policies.save_only_these_names("first")),
                                   ("save_only_these_names(second, other)", policies.save_only_these_names("second", "other")),
                                   ("save_only_these_names()", policies.save_only_these_names()),
                                   ("save_any_names_but_these(second)", policies.save_any_names_but_these("second")),
                                   ("save_anything_except_these_names(first)", policies.save_anything_except_these_names("first")),
                                   ("save_from_both_policies(dots_saveable, save_only_these_names(second))",
                                    policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("second")))])(named_chain)
case("D-10", MAT)(remat(lambda x: jnp.exp(checkpoint_name(jnp.tanh(x @ x), "b") @ x),
                        policy=policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("b"))))
case("D-16", 0.3)(remat(lambda x: jnp.cos(jnp.cos(x)), policy=lambda p, *_, **__: p.name == "sin"))
case("D-17", 0.3)(remat(lambda x: jnp.exp(jnp.tanh(checkpoint_name(jnp.exp(jnp.tanh(x)), "middle"))), policy=policies.save_only_these_names("middle")))
case("D-19 F-13", VEC)(remat(lambda x: jax.jit(lambda y: jnp.cos(jnp.exp(y)))(x), policy=lambda p, *_, **__: p.name == "exp"))


@case("D-20", MAT, under=[("dots_saveable", policies.dots_saveable), ("everything_saveable", policies.everything_saveable), ("nothing_saveable", None)])
def power_loop(x):
    return lax.scan(lambda c, _: (jnp.tanh(c @ c), None), x, None, length=3)[0]


@case("D-22", VEC, under=[("everything_saveable", policies.everything_saveable), ("nothing_saveable", None)])
def branches(x):
    return lax.cond(x[0] > 0.2, two_layers, lambda y: y - 1.0, x)


for _p in (policies.nothing_saveable, policies.everything_saveable):
    case("D-20", MAT)(remat(power_loop, policy=_p))
    case("D-22", VEC)(remat(branches, policy=_p))
case("D-23 D-25", MAT)(remat(lambda x: jnp.tanh(x @ x), policy=policies.offload_dot_with_no_batch_dims("device", "pinned_host")))
case("D-26", VEC)(remat(lambda x: lax.scan(lambda c, _: (jnp.tanh(checkpoint_name(jnp.exp(c), "far")), None), x, None, length=2)[0],
                        policy=policies.save_and_offload_only_these_names(names_which_can_be_saved=[], names_which_can_be_offloaded=["far"],
                                                                          offload_src="device", offload_dst="pinned_host")))


@jax.custom_vjp
def half_exp(x):
    return jnp.exp(x)


half_exp.defvjp(lambda x: (half_exp(x), jnp.exp(x / 2)), lambda r, g: (r * g,))


@jax.custom_jvp
def slow_tanh(x):
    return jnp.tanh(x)


slow_tanh.defjvp(lambda p, t: (slow_tanh(*p), 0.5 * t[0] * jnp.cosh(p[0])))
for _p in (policies.nothing_saveable, policies.everything_saveable):
    case("D-29 F-23", VEC)(remat(lambda x: half_exp(half_exp(x)), policy=_p))
    case("F-22", VEC)(remat(lambda x: slow_tanh(slow_tanh(x)), policy=_p))
case("D-29", VEC)(lambda x: half_exp(half_exp(x)))
case("F-22", VEC)(lambda x: slow_tanh(slow_tanh(x) * 2.0))

# ---- E: residual rows
Point = namedtuple("Point", "across down")
case("E-01", {"w": [2.0, 3.0]}, Point(1.0, VEC))(lambda p, at: jnp.exp(p["w"][1] * at.across) * at.down)


@case("E-02", 1.0, 2.0, 3.0)
def variadic(first, *others):
    return first * others[0] * others[1]


case("E-04", VEC)(remat(lambda x: jnp.exp(checkpoint_name(jnp.tanh(x), "t")), policy=policies.save_only_these_names("t")))
case("E-05", VEC)(lambda x: checkpoint_name(jnp.tanh(x), "t") * checkpoint_name(jnp.exp(x), "e"))
_scale = jnp.float32(3.0)
case("E-07 E-08", VEC)(lambda x: jnp.exp(x) * _table * _scale * 7.0)
case("E-08", 0.3, 0.4)(lambda x, y: jnp.exp(jnp.tanh(x) * y) * jnp.full(2, 2.0) * np.array([1.0, 5.0], np.float32))
case("E-10", VEC)(lambda x: 3.0 * x - jnp.flip(x) + x.sum())
case("E-11", VEC, jnp.bfloat16(2), jnp.array([2, 0]), without=("grad", "split"))(
    lambda x, b, at: jnp.where(x > 1, jnp.exp(x), x[at].sum()).sum().astype("bfloat16") * b * b)
case("E-13", MAT, MAT)(lambda logits, target: -(jax.nn.log_softmax(logits) * target).mean())
case("E-14", MAT, VEC)(lambda w, x: lax.scan(lambda c, _: (jnp.exp(c @ w), None), x, None, length=3)[0])


def layer(w, x):
    return jnp.exp(jnp.tanh(x @ w))


case("E-16", MAT, MAT, under=[("everything_saveable", policies.everything_saveable)])(lambda w, x: remat(layer)(w, remat(layer)(w, x)))
case("E-17 F-40", VEC)(remat(lambda x: jnp.tanh(jnp.exp(x)), policy=policies.everything_saveable))
case("E-19", 0.3, 4, without=("split",))(lambda x, n: jnp.exp(x) * n)
_inner = remat(two_layers, policy=policies.everything_saveable)
case("E-20 F-11", 0.3, under=[("everything_saveable", policies.everything_saveable), ("nothing_saveable", None)])(
    lambda x: remat(lambda y: jnp.log(_inner(y) + 3.0))(x) * x)

# ---- F: the rules of the remat primitive
case("F-02", 0.3, VEC)(remat(lambda x, y: (x * 3.0, y.astype("bfloat16"), y > 1)))
case("F-04 F-25", 0.3, 0.4)(remat(lambda x, y: (jnp.exp(x), jnp.tanh(y))))
case("F-25", 0.3, 0.4)(lambda x, y: remat(lambda x, y: (jnp.exp(x), jnp.tanh(y)))(x, y)[1])
case("F-05", 0.3)(remat(lambda x: jnp.exp(checkpoint_name(jnp.tanh(x), "r")), policy=policies.save_only_these_names("r")))
case("F-07", 0.3)(remat(lambda x: jnp.tanh(x) - x * 3.0, policy=policies.everything_saveable))
case("F-08", 0.3)(remat(jnp.tanh, policy=policies.everything_saveable))
case("F-10", MAT)(remat(lambda x: jnp.triu(x) * jnp.exp(x)))
case("F-10", VEC)(remat(lambda x: jnp.exp(x) * jnp.arange(3.0)))
case("F-11", 0.3)(remat(lambda x: jnp.exp(remat(jnp.tanh)(x))))
case("F-13", VEC)(remat(lambda x: jax.jit(two_layers, inline=False)(x), policy=policies.everything_saveable))


@case("F-14", 3.0)
@lambda f: remat(f, policy=policies.save_only_these_names("y"))
def three_calls(x):
    y = checkpoint_name(jnp.exp(jnp.arange(3.0)), "y")
    times = jax.jit(lambda v: v * y)
    return times(times(times(x)))


case("F-16", 0.3)(lambda x: lax.scan(lambda c, _: (remat(two_layers)(c), None), x, None, length=2)[0])
case("F-17", MAT)(lambda w: lax.scan(lambda c, _: (remat(lambda c: jnp.tanh(jnp.exp(c @ w) @ w), policy=policies.dots_saveable)(c), None), VEC, None, length=2)[0])
case("F-17", MAT)(remat(lambda w: lax.scan(lambda c, _: (jnp.tanh(jnp.exp(c @ w) @ w), None), VEC, None, length=2)[0], policy=policies.dots_saveable))
case("F-19", 0.3)(remat(lambda x: lax.while_loop(lambda c: c < 5.0, lambda c: c * 3.0, x)))
case("F-19", 0.3)(remat(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c), x)))
case("F-20", 0.3)(remat(lambda x: lax.cond(x > 0, jnp.exp, jnp.exp, x)))
case("F-20", 0.3)(remat(lambda x: lax.cond(x > 0, two_layers, lambda c: c, x)))
case("F-26", 0.3, 0.4)(lambda x, c: remat(lambda c: jnp.exp(c))(c))
case("F-28", VEC)(lambda x: jax.vmap(remat(lambda y: jnp.exp(lax.psum(y, "i"))), axis_name="i")(x))
case("F-31", 0.3)(remat(lambda x: jax.jit(lambda: 5.0)() * x))
case("F-37 F-38", VEC, 2, without=("split",))(lambda x, n: lax.optimization_barrier((jnp.exp(x), n)))
case("F-40", jnp.bfloat16(1))(remat(lambda x: jnp.tanh(jnp.exp(x)), policy=policies.everything_saveable))
case("F-41", VEC, VEC)(lambda w, x: lax.scan(lambda c, _: (c * jnp.exp(w), None), x, None, length=3)[0])
case("F-43 F-44", 0.3, 0.4)(lambda x, y: (jnp.exp(x), jnp.tanh(jnp.exp(x)) * y))
case("F-47", 0.1, 0.2, 0.3)(lambda a, b, c: lax.scan(lambda s, _: ((s[0] - s[1], s[1] * 3, jnp.tanh(s[2])), s[0]), (a, b, c), None, length=2))

# ---- G: names
case("G-02", 0.3)(lambda x: checkpoint_name(x * 3.0, "n"))
case("G-04", MAT)(jax.vmap(lambda x: checkpoint_name(x, "n"), in_axes=1, out_axes=1))
case("G-05", 0.3)(lambda x: checkpoint_name({"p": x, "q": [x * 3]}, "n"))
case("G-08", 0.3)(remat(lambda x: jnp.exp(checkpoint_name(jnp.exp(checkpoint_name(jnp.exp(x), "n")), "n")), policy=policies.save_only_these_names("n")))
case("G-10", 0.3)(remat(lambda x: jnp.tanh(checkpoint_name(x, "in")), policy=policies.save_only_these_names("in")))


@case("G-11", 0.3)
@lambda f: remat(f, policy=policies.save_only_these_names("n"))
def named_beside(x):
    y = jnp.tanh(x)
    checkpoint_name(y, "n")
    return jnp.exp(y)


@case("G-13", 0.3, under=[("save_only_these_names(h)", policies.save_only_these_names("h")), ("nothing_saveable", None)])
def name_in_loop_in_jit(x):
    body = lambda c, _: (checkpoint_name(jnp.tanh(c), "h") * 3.0, None)
    return jax.jit(lambda y: lax.scan(body, jnp.exp(y), None, length=2)[0])(x) ** 2


# ---- I
for _p in (policies.everything_saveable, policies.dots_saveable, policies.nothing_saveable):
    case("I-04", [MAT, MAT], VEC)(remat(lambda ws, x: jnp.exp(jnp.exp(x @ ws[0]) @ ws[1]), policy=_p))
_key = jax.random.key(3)
case("I-10", VEC)(lambda x: remat(lambda x, k: jnp.exp(x * jax.random.normal(k, (3,))))(x, _key))
case("I-11", MAT, VEC)(remat(lambda w, x: jnp.where(jax.random.bernoulli(_key, 0.5, x.shape), jnp.exp(x @ w), 0.0)))
