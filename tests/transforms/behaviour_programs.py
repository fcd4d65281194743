"""The functions of the behaviours C to G whose effect shows in a jaxpr: id, function, arguments, what is compared."""
import collections

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name

cp = jax.checkpoint_policies
CASES = []


def case(ident, *args, checks=("residuals",), **options):
    """`checks`: residuals, grad (census of make_jaxpr(grad)), pullback (of vjp's second half), linear (of linearize's), eqns (of make_jaxpr)."""
    def add(fn):
        CASES.append({"id": ident, "fn": fn, "args": args, "checks": checks, "options": options})
        return fn
    return add


@case("C-02", 1., checks=("residuals", "grad"))
def nested_sines(x): return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x)


@case("C-19", jnp.ones(3))
def closed_over_array(x):
    c = jnp.arange(3.)
    return jax.checkpoint(lambda x: jnp.sin(x * c))(x)


@case("C-26", 2, 1.)
def integer_argument(i, x): return jax.checkpoint(lambda i, x: jnp.sin(x) * i)(i, x)


@case("D-01", 1.)
def everything(x): return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)) * x, policy=cp.everything_saveable)(x)


@case("D-02", jnp.ones(2), jnp.ones((2, 3)), jnp.ones(3))
def nothing(x, w, b): return jax.checkpoint(lambda x, w, b: jnp.sin(x @ w) + b, policy=cp.nothing_saveable)(x, w, b)


@case("D-04", jnp.ones((2, 2)), jnp.ones((3, 2, 2)), jnp.ones((1, 1, 2, 2)))
def no_batch_dims(a, b, k):
    def f(a, b, k):
        y = jnp.sin(a @ a); z = jnp.sin(jnp.einsum('bij,bjk->bik', b, b)); c = jnp.sin(lax.conv(k, k, (1, 1), 'VALID'))
        return y.sum() + z.sum() + c.sum()
    return jax.checkpoint(f, policy=cp.dots_with_no_batch_dims_saveable)(a, b, k)


@case("D-05", jnp.ones((3, 4, 4)))
def batched_product(x): return jax.vmap(jax.checkpoint(lambda x: jnp.sin(x @ x), policy=cp.dots_with_no_batch_dims_saveable))(x)


@case("D-05b", jnp.ones((3, 4, 4)), jnp.ones((4, 4)))
def batched_by_constant(x, w): return jax.vmap(jax.checkpoint(lambda x: jnp.sin(x @ w), policy=cp.dots_with_no_batch_dims_saveable))(x)


def two_names(x):
    a = checkpoint_name(jnp.sin(x), 'a')
    b = checkpoint_name(jnp.sin(a), 'b')
    return jnp.sin(jnp.sin(b))


for i, names in enumerate([(), ('a',), ('b',), ('a', 'b'), ('zzz',)]):
    case(f"D-07{'abcde'[i]}", 1.)(lambda x, names=names: jax.checkpoint(two_names, policy=cp.save_only_these_names(*names))(x))
for i, names in enumerate([(), ('a',), ('a', 'b')]):
    case(f"D-08{'abc'[i]}", 1.)(lambda x, names=names: jax.checkpoint(two_names, policy=cp.save_any_names_but_these(*names))(x))


@case("D-10", jnp.ones((2, 2)))
def both_policies(x):
    p = cp.save_from_both_policies(cp.dots_saveable, cp.save_only_these_names('b'))
    return jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(x @ x), 'b') @ x), policy=p)(x)


@case("D-17a", 1., checks=("residuals", "pullback"))
def cut_nothing(x): return jax.checkpoint(lambda x: jnp.sin(jnp.sin(jnp.sin(checkpoint_name(jnp.sin(jnp.sin(x)), 'm')))), policy=cp.save_only_these_names())(x)


@case("D-17b", 1., checks=("residuals", "pullback"))
def cut_at_name(x): return jax.checkpoint(lambda x: jnp.sin(jnp.sin(jnp.sin(checkpoint_name(jnp.sin(jnp.sin(x)), 'm')))), policy=cp.save_only_these_names('m'))(x)


@case("D-19", 1.)
def policy_looks_into_jit(x): return jax.checkpoint(lambda x: jax.jit(lambda y: jnp.sin(jnp.sin(y)))(x), policy=cp.everything_saveable)(x)


for i, p in enumerate([cp.nothing_saveable, cp.dots_saveable, cp.everything_saveable]):
    case(f"D-20{'abc'[i]}", jnp.ones((2, 2)))(
        lambda x, p=p: jax.checkpoint(lambda x: lax.scan(lambda c, _: (jnp.sin(c @ c), None), x, None, length=5)[0], policy=p)(x))
for i, p in enumerate([cp.nothing_saveable, cp.everything_saveable]):
    case(f"D-22{'ab'[i]}", jnp.ones(3))(
        lambda x, p=p: jax.checkpoint(lambda x: lax.cond(x.sum() > 0, lambda x: jnp.sin(jnp.sin(x)), lambda x: x * 2., x), policy=p)(x))


@case("D-23", jnp.ones((2, 2)), checks=("residuals", "grad"))
def offloaded_product(x): return jax.checkpoint(lambda x: jnp.sin(x @ x).sum(), policy=cp.offload_dot_with_no_batch_dims('device', 'pinned_host'))(x)


@case("D-26", jnp.ones(4))
def offloaded_in_scan(x):
    p = cp.save_and_offload_only_these_names(names_which_can_be_saved=[], names_which_can_be_offloaded=['z'], offload_src='device', offload_dst='pinned_host')
    return jax.checkpoint(lambda x: lax.scan(lambda c, _: (jnp.sin(checkpoint_name(jnp.sin(c), 'z')), None), x, None, length=3)[0], policy=p)(x)


@jax.custom_vjp
def own_vjp(x): return jnp.sin(x)


own_vjp.defvjp(lambda x: (own_vjp(x), jnp.cos(x)), lambda c, g: (c * g,))
for i, p in enumerate([cp.nothing_saveable, cp.everything_saveable]):
    case(f"D-29{'ab'[i]}", 1.)(lambda x, p=p: jax.checkpoint(lambda x: own_vjp(own_vjp(x)), policy=p)(x))

Pt = collections.namedtuple('Pt', 'u v')


@case("E-01", {'w': [2.]}, Pt(3., jnp.ones(2)))
def tree_arguments(p, x): return jnp.sin(p['w'][0] * x.u) * x.v


@case("E-04", jnp.ones(2))
def named_value(x): return jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.cos(x), 'h')), policy=cp.save_only_these_names('h'))(x)


@case("E-05", 1.)
def named_twice(x):
    f = lambda x: checkpoint_name(jnp.exp(x), 'e')
    return f(x) * f(x)


@case("E-07", jnp.ones(2))
def constants(x): return x * np.array([3., 4.], 'float32') * jnp.float32(2.) * 5.


@case("E-08", 1., 2.)
def order_of_rows(x, y): return jnp.cos(jnp.sin(x) * y) * jnp.ones(2) * np.array([1., 2.], 'float32')


@case("E-10", jnp.ones(3))
def linear_function(x): return 2. * x + jnp.flip(x) - x.sum()


@case("E-13", jnp.ones((2, 5)), jnp.ones((2, 5)))
def cross_entropy(l, y): return -(jax.nn.log_softmax(l) * y).sum()


@case("E-14", jnp.ones((3, 3)), jnp.ones(3))
def scan_residuals(w, x): return lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=4)[0]


@case("E-16", jnp.ones((2, 2)), jnp.ones((3, 2)))
def two_blocks(w, x):
    def block(w, x): return jnp.sin(jnp.sin(x @ w))
    return jax.checkpoint(block)(w, jax.checkpoint(block)(w, x)).sum()


@case("E-17", 1., checks=("residuals", "grad"))
def looks_through_reduce_precision(x): return jax.checkpoint(lambda x: jnp.sin(jnp.exp(x)), policy=cp.everything_saveable)(x)


@case("E-19", 2., 3)
def integer_is_no_obstacle(x, i): return jnp.sin(x) * i


@case("E-20", 1.)
def two_levels(x):
    inner = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=cp.everything_saveable)
    return jax.checkpoint(lambda x: jnp.cos(inner(x) * 2.))(x) * x


@case("F-05", 1., checks=("residuals", "linear"))
def staged_equation(x): return jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(x), 'r')), policy=cp.save_only_these_names('r'))(x)


@case("F-07", 1., checks=("residuals", "pullback"))
def unused_residual(x): return jax.checkpoint(lambda x: (lambda a: a + x * 2.)(jnp.exp(x)), policy=cp.everything_saveable)(x)


@case("F-08", 1., checks=("residuals", "grad"))
def residual_is_output(x): return jax.checkpoint(jnp.exp, policy=cp.everything_saveable)(x)


@case("F-10a", jnp.ones((2, 2)))
def mask_inside(x): return jax.checkpoint(lambda x: jnp.tril(x))(x)


@case("F-10b", jnp.ones((2, 2)))
def iota_inside(x): return jax.checkpoint(lambda x: jnp.sin(x) * jnp.arange(4.).reshape(2, 2))(x)


@case("F-11", 1., checks=("residuals", "pullback"))
def nested_remat(x): return jax.checkpoint(lambda x: jnp.sin(jax.checkpoint(jnp.sin)(x)))(x)


@case("F-13", 1., checks=("residuals", "grad"))
def jit_inside_remat(x): return jax.checkpoint(lambda x: jax.jit(lambda y: jnp.sin(jnp.sin(y)), inline=False)(x), policy=cp.everything_saveable)(x)


@case("F-14", 3.)
def one_residual_for_three_calls(x):
    def f(x):
        y = checkpoint_name(jnp.cos(jnp.arange(3.)), 'y')
        g = lambda x: jax.jit(lambda x: x * y)(x)
        return g(g(g(x)))
    return jax.checkpoint(f, policy=cp.save_only_these_names('y'))(x)


@case("F-16", 1., checks=("residuals", "pullback"))
def remat_inside_scan(x): return lax.scan(lambda c, _: (jax.checkpoint(lambda c: jnp.sin(jnp.sin(c)))(c), None), x, None, length=3)[0]


def three_layers(W): return lambda x: jnp.sin(jnp.sin(jnp.sin(x @ W) @ W) @ W)


@case("F-17a", jnp.ones((4, 4)), checks=("residuals", "pullback"))
def dots_in_scan(W):
    f = jax.checkpoint(three_layers(W), policy=cp.dots_saveable)
    return lax.scan(lambda x, _: (f(x), None), jnp.ones(4), None, length=2)[0]


@case("F-17b", jnp.ones((4, 4)), checks=("residuals", "pullback"))
def dots_around_scan(W):
    return jax.checkpoint(lambda W: lax.scan(lambda x, _: (three_layers(W)(x), None), jnp.ones(4), None, length=2)[0], policy=cp.dots_saveable)(W)


@case("F-19", 1., checks=("refused",))
def while_loop(x): return jax.checkpoint(lambda x: lax.while_loop(lambda x: x < 9., lambda x: x * 2., x))(x)


@case("F-20", 4., checks=("residuals", "linear"))
def cond_inside(x): return jax.checkpoint(lambda x: lax.cond(x > 0, lambda c: jnp.sin(jnp.sin(c)), lambda c: c, x))(x)


@jax.custom_jvp
def own_jvp(x): return jnp.sin(x)


own_jvp.defjvp(lambda p, t: (own_jvp(p[0]), 5. * jnp.cos(p[0]) * t[0]))


@case("F-22", 1., checks=("residuals", "grad"))
def custom_jvp_inside(x): return jax.checkpoint(lambda x: own_jvp(own_jvp(x)))(x)


@case("F-23", 1., checks=("residuals", "grad"))
def custom_vjp_inside(x): return jax.checkpoint(own_vjp)(x)


@case("F-25", 1., jnp.float32(2.), checks=("residuals", "grad"))
def ignored_output(x, y): return jax.checkpoint(lambda x, y: (jnp.sin(x), jnp.sin(y)))(x, y)[0]


@case("F-26", 1., 2., checks=("residuals", "grad"), wrt=[0])
def independent_body(x, c): return jax.checkpoint(lambda c: jnp.sin(c))(c)


@case("F-40", jnp.bfloat16(1), checks=("residuals", "grad"))
def reduce_precision_bf16(x): return jax.checkpoint(lambda x: jnp.sin(jnp.exp(x)), policy=cp.everything_saveable)(x)


@case("F-41", jnp.ones(3), jnp.ones(3), wrt=[1])
def invariant_residual(w, x): return lax.scan(lambda c, _: (c * jnp.sin(w), None), x, None, length=4)[0]


@case("G-08", 1.)
def same_name_twice(x):
    return jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(checkpoint_name(jnp.sin(x), 'h')), 'h')), policy=cp.save_only_these_names('h'))(x)


@case("G-10", 1.)
def named_argument(x): return jax.checkpoint(lambda x: jnp.sin(checkpoint_name(x, 'in')), policy=cp.save_only_these_names('in'))(x)


def trap(x):
    y = jnp.sin(x)
    checkpoint_name(y, 'h')
    return jnp.sin(y)


@case("G-11a", 1., checks=("residuals", "pullback"))
def named_but_not_used(x): return jax.checkpoint(trap, policy=cp.save_only_these_names('h'))(x)


@case("G-11b", 1., checks=("residuals", "pullback"))
def named_and_used(x): return jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(x), 'h')), policy=cp.save_only_these_names('h'))(x)


for i, names in enumerate([(), ('h',)]):
    case(f"G-13{'ab'[i]}", 1.)(lambda x, names=names: jax.checkpoint(
        lambda x: jax.jit(lambda x: lax.scan(lambda c, _: (checkpoint_name(jnp.sin(c), 'h') * 2., None), jnp.sin(x), None, length=3)[0])(jnp.sin(x)) ** 2,
        policy=cp.save_only_these_names(*names))(x))
