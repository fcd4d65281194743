"""`jaxscope print` gives the text of make_jaxpr, from a capture and from that text itself."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from conftest import available, cut, load_module, names


def with_sorted_sets(text: str) -> str:
    """JAX prints the items of a frozenset in hash order."""
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: "frozenset({" + ", ".join(sorted(m[1].split(", "))) + "})", text)


@pytest.mark.parametrize("name", names())
def test_text_of_make_jaxpr(cli, tmp_path, name):
    if not available(name):
        pytest.skip("its libraries are not installed")
    p = load_module(name).program()
    if p.get("jit") == "eqx":
        pytest.skip("the program is fn over its array leaves")
    static = p.get("static_argnums") or ()
    jaxpr = jax.make_jaxpr(p["fn"], static_argnums=static)(*p["args"], **p.get("kwargs", {}))
    wanted = with_sorted_sets(cut(str(jaxpr)))
    assert cut(cli.json("print", cli.capture(name))["text"]) == wanted
    file = tmp_path / "program.jaxpr"
    file.write_text(wanted)
    assert cli.json("print", str(file))["text"] == wanted


def test_text_without_its_rules(cli, tmp_path):
    """A text holds neither custom rules nor the policies that are functions: it opens, prints and runs; autodiff says what is missing."""
    @jax.custom_jvp
    def relu(x):
        return jnp.maximum(x, 0.0)
    relu.defjvp(lambda p, t: (relu(*p), t[0] * (p[0] > 0)))

    @jax.custom_vjp
    def twice(x):
        return 2.0 * x
    twice.defvjp(lambda x: (twice(x), None), lambda _, ct: (2.0 * ct,))

    def policy(prim, *_, **__):
        return prim.name == "sin"

    def f(x):
        return jnp.sum(twice(relu(jax.checkpoint(lambda y: jnp.cos(jnp.sin(y)), policy=policy)(x))))

    x = np.array([1.0, -2.0, 3.0], np.float32)
    text = str(jax.make_jaxpr(f)(x))
    file = tmp_path / "f.jaxpr"
    file.write_text(text)
    inputs = tmp_path / "x.npz"
    np.savez(inputs, arg0=x)
    assert "policy=<function" in text and "jvp=" in text
    printed = cli.json("print", str(file))["text"]
    assert re.sub("0x[0-9a-fA-FX]+", "0x", printed) == re.sub("0x[0-9a-fA-FX]+", "0x", text)
    assert cli.json("run", str(file), "--inputs", str(inputs))["outputs"][0]["values"] == pytest.approx(float(f(x)), rel=1e-6)

    code, message = cli.fails("residuals", str(file))
    assert code == 2 and "expected an answer of the policy <function" in message and "jaxscope runs no Python" in message
    code, message = cli.fails("residuals", str(file), "--replace-policy", "nothing_saveable")
    assert code == 3 and "the program was captured or pasted without it" in message and "--rule relu=inline" in message
    rows = cli.json("residuals", str(file), "--replace-policy", "nothing_saveable", "--rule", "relu=inline", "--rule", "twice=inline")
    assert [r["aval"] for r in rows["residuals"]] and rows["total_bytes"] > 0
    code, message = cli.fails("residuals", str(file), "--rule", "tanh=inline")
    assert code == 2 and "such as relu, twice, found 'tanh'" in message


def odeint_gradient():
    from jax.experimental.ode import odeint
    return jax.grad(lambda y: odeint(lambda y, t: -y, y, jnp.linspace(0, 1, 3)).sum()), (1.0,)  # its jaxprs share variables


def linear_solve_gradient():
    return jax.grad(lambda b: jax.lax.custom_linear_solve(lambda x: 2 * x, b, lambda _, y: y / 2, symmetric=True).sum()), (jnp.ones(3),)


def pallas():
    from jax.experimental import pallas as pl

    def kernel(x, o):
        o[...] = x[...] * 2 + 1
        o[0] = x[1]
    spec = pl.BlockSpec((4,), lambda i: (i,))
    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8,), "float32"), interpret=True, grid=(2,), in_specs=[spec], out_specs=spec)
    return call, (jnp.ones(8),)


def explicitly_sharded():
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    x = jax.device_put(jnp.ones((4, 8)), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x", None)))
    return lambda x: jnp.sin(x) * 2, (x,)


@pytest.mark.parametrize("make", [odeint_gradient, linear_solve_gradient, pallas, explicitly_sharded])
def test_text_of_rarer_programs(cli, tmp_path, make):
    fn, args = make()
    jaxscope.capture(fn)(*args).save(str(tmp_path / "f.jaxscope"))
    wanted = cut(str(jax.make_jaxpr(fn)(*args)))
    assert cut(cli.json("print", str(tmp_path / "f.jaxscope"))["text"]) == wanted
    (tmp_path / "f.jaxpr").write_text(wanted)
    assert cli.json("print", str(tmp_path / "f.jaxpr"))["text"] == wanted


@pytest.mark.parametrize("options", [{"use_color": True}, {"source_info": True, "name_stack": True}, {"name_stack": True}])
def test_texts_with_more_in_them(cli, tmp_path, options):
    def f(x):
        with jax.named_scope("scope"):
            return jax.lax.cond(x.sum() > 0, lambda a: jnp.sin(a), lambda a: a * 2, x)
    jaxpr = jax.make_jaxpr(f)(jnp.ones(3))
    (tmp_path / "f.jaxpr").write_text(jaxpr.pretty_print(**options))
    assert cli.json("print", str(tmp_path / "f.jaxpr"))["text"] == str(jaxpr)
