"""Primitives as libraries make them: tags, rules in Python, evaluations that trace and some that don't. Name -> (function, arguments)."""
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

X = np.float32([0.5, 1.5, 2.5, 3.5])

# A tag: identity, whose transposition is another tag; its lowering hands the operand on.
tag_p = Primitive("test_tag")
tag_p.def_abstract_eval(lambda a, *, label: a)
tag_p.def_impl(lambda a, *, label: a)
mlir.register_lowering(tag_p, lambda ctx, a, *, label: [a])
ad.deflinear2(tag_p, lambda ct, a, *, label: [tag_p.bind(ct, label=label + "_back")])
batching.primitive_batchers[tag_p] = lambda xs, dims, *, label: (tag_p.bind(xs[0], label=label), dims[0])


def tag(x, label="a"):
    return tag_p.bind(x, label=label)


# Two results, a derivative that knows which tangents are zero, linear in its second operand.
def _scaled(a, b, *, by):
    return [jnp.sin(a) * b * by, jnp.sum(a ** 2)]


scaled_p = Primitive("test_scaled")
scaled_p.multiple_results = True
scaled_p.def_abstract_eval(lambda a, b, *, by: [a, a.update(shape=())])
scaled_p.def_impl(_scaled)
mlir.register_lowering(scaled_p, mlir.lower_fun(_scaled, multiple_results=True))


def _scaled_jvp(primals, tangents, *, by):
    (a, b), (da, db) = primals, tangents
    out = scaled_p.bind(a, b, by=by)
    first = jnp.zeros_like(a) if isinstance(da, ad.Zero) else jnp.cos(a) * b * by * da
    first = first if isinstance(db, ad.Zero) else first + jnp.sin(a) * db * by
    second = ad.Zero(jax.typeof(out[1]).to_tangent_aval()) if isinstance(da, ad.Zero) else jnp.sum(2 * a * da)
    return out, [first, second]


ad.primitive_jvps[scaled_p] = _scaled_jvp


def _scaled_batch(args, dims, *, by):
    out = jax.vmap(lambda a, b: _scaled(a, b, by=by), in_axes=dims)(*args)
    return out, [0, 0]


batching.primitive_batchers[scaled_p] = _scaled_batch


def scaled(x, y, by=2):
    first, second = scaled_p.bind(x, y, by=by)
    return jnp.sum(first) + second


# Foreign code: a lowering of its own, nothing to trace.
foreign_p = Primitive("test_foreign")
foreign_p.def_abstract_eval(lambda a: a)
mlir.register_lowering(foreign_p, lambda ctx, a: mlir.custom_call("test_kernel", result_types=[a.type], operands=[a]).results)
ad.primitive_jvps[foreign_p] = lambda p, t: (foreign_p.bind(*p), t[0] * 2)


# Linear in its first operand, which its transposition says; the others are the rule's numbers and tables.
def _weighted(x, table, power):
    return x * table * (power + 2.0)


weighted_p = Primitive("test_weighted")
weighted_p.def_abstract_eval(lambda x, table, power: x)
mlir.register_lowering(weighted_p, mlir.lower_fun(_weighted, multiple_results=False))
ad.primitive_jvps[weighted_p] = lambda p, t: (weighted_p.bind(*p), weighted_p.bind(t[0], *p[1:]))
ad.primitive_transposes[weighted_p] = lambda ct, x, table, power: (weighted_p.bind(ct, table, power), None, None)


def weighted(x):
    return weighted_p.bind(jnp.sin(x), jnp.asarray(X), jnp.asarray(3, jnp.int32))


def loop(kind):
    def f(x):
        final = eqxi.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1]) * x), (0, x), max_steps=4, kind=kind)
        return jnp.sum(final[1])
    return f


def loop_in_loop(x):
    """The outer loop's backward rule differentiates the inner one, whose rule stands two jaxprs deep."""
    inner = loop("checkpointed")
    return eqxi.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, jnp.tanh(inner(0.1 * x * s[1]))), (0, jnp.sum(x) * 0.1), max_steps=4, kind="checkpointed")[1]


def buffered(x):
    body = lambda s: (s[0] + 1, s[1].at[s[0]].set(jnp.sin(x[s[0]])))
    return jnp.sum(eqxi.while_loop(lambda s: s[0] < 3, body, (0, jnp.zeros(4)), max_steps=4, kind="bounded", buffers=lambda s: s[1])[1])


CASES = {
    "tag": (lambda x: jnp.sum(tag(jnp.sin(x)) ** 2), (X,)),
    "tag_in_scan": (lambda x: jnp.sum(jax.lax.scan(lambda c, y: (tag(c * y), jnp.sin(c)), jnp.float32(1), x)[1]), (X,)),
    "tag_under_vmap": (lambda x: jnp.sum(jax.vmap(lambda y: tag(y) ** 2)(x)), (X,)),
    "scaled": (scaled, (X, X + 1)),
    "scaled_in_jit": (lambda x, y: jax.jit(scaled)(x, y) * 2, (X, X + 1)),
    "scaled_in_cond": (lambda x, y: jax.lax.cond(x[0] > 0, scaled, lambda x, y: jnp.sum(x), x, y), (X, X + 1)),
    "scaled_in_checkpoint": (lambda x, y: jax.checkpoint(lambda x, y: scaled(jnp.cos(x), y))(x, y), (X, X + 1)),
    "weighted": (lambda x: jnp.sum(weighted(x)), (X,)),
    "weighted_in_jit": (lambda x: jnp.sum(jax.jit(lambda x: jax.jit(weighted)(x) * 2)(x)), (X,)),
    "weighted_in_scan": (lambda x: jnp.sum(jax.lax.scan(lambda c, _: (weighted(c), None), x, None, length=2)[0]), (X,)),
    "checkpointed_loop": (loop("checkpointed"), (X,)),
    "checkpointed_loop_in_vmap": (lambda x: jnp.sum(jax.vmap(loop("checkpointed"))(jnp.stack([x, x * 2]))), (X,)),
    "loop_in_loop_in_vmap": (lambda x: jnp.sum(jax.vmap(loop_in_loop)(jnp.stack([x, x * 2]))), (X,)),
    "bounded_loop": (loop("bounded"), (X,)),
    "buffered_loop": (buffered, (X,)),
    "check": (lambda x: jnp.sum(eqx.error_if(x, x < 0, "negative") ** 2), (X,)),
}
