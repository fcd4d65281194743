"""Programs with effects in Python and in C++ (tests/trace/effects_driver.cpp): same jaxpr, same lines in the same order, the same refusals."""
import os
import pathlib
import re
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback

DRIVER = pathlib.Path(os.environ.get("JAXSCOPE", "")).parent / "tests" / "effects_driver"
X = jnp.array([[0.5, 1.5, -2.0], [1e-9, 3.0, 0.25]], jnp.float32)
V = jnp.array([0.5, 1.5, -2.0], jnp.float32)


def printed(a):
    jax.debug.print("at {}", a)
    return jnp.sin(a)


def printed_in_order(a):
    jax.debug.print("v={}", a, ordered=True)
    return jnp.sin(a)


def halved(f, a):
    f(a)
    return a * 0.5


def looked_at(a):
    jax.debug.callback(lambda p: print(f"look {p}"), a)
    return jnp.sin(a)


def told(a):
    print(f"called {np.shape(a)}")
    return np.sin(a)


def pure(a):
    return jax.pure_callback(told, a, a)


def io(a):
    return io_callback(told, a, a)


def io_in_order(a):
    return io_callback(told, a, a, ordered=True)


def of_two(a, b, method):
    return jax.pure_callback(lambda p, q: told(p) + np.asarray(q), a, a, b, vmap_method=method)


def ruled(factor):
    @jax.custom_jvp
    def f(a):
        return jnp.sin(a) * factor

    @f.defjvp
    def rule(primals, tangents):
        return jnp.sin(primals[0]) * factor, tangents[0] * factor

    return f


@pytest.fixture(scope="module")
def out():
    return subprocess.run([DRIVER], capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.fixture(scope="module")
def cases(out):
    found = {}
    for part in re.split("^== ", out.partition("=d ")[0], flags=re.MULTILINE)[1:]:
        python, _, rest = part.partition("\n")
        found[python] = rest
    return found


def same_text(jaxpr):
    text = re.sub(r"np\.int64\((\d+)\)", r"\1", jaxpr)
    text = re.sub(r"<function [^>]*(<lambda>|<locals>|[^>])* at 0x\w+>", "<function>", text)
    return re.sub(r"\s+", "", text)


def by_jax(f, capsys) -> tuple:
    """Its jaxpr and what it writes, or what it is refused with."""
    try:
        text = str(jax.make_jaxpr(f)(X, V, jnp.float32(2.5)))
        capsys.readouterr()
        for g in (f, jax.jit(f)):
            jax.block_until_ready(g(X, V, jnp.float32(2.5)))
            jax.effects_barrier()
        return text, capsys.readouterr().out
    except Exception as e:  # noqa: BLE001  (whatever JAX raises)
        kind = "KeyError: " if isinstance(e, KeyError) else ""
        return None, kind + re.split(r"\[?<", str(e))[0]


def test_effects_are_traced_run_and_refused_as_in_jax(cases, capsys):
    """C-16 and the items beside it: print and callbacks, eagerly and in jit, vmap, scan, while, cond, grad, checkpoint."""
    wrong = []
    for python, found in cases.items():
        f = eval("lambda x, v, s: " + python, {**globals()})  # noqa: S307
        text, said = by_jax(f, capsys)
        if text is None:
            got = found.partition("!! ")[2].strip()
            if not got.startswith(said.strip()):
                wrong.append(f"{python}\n--- JAX refuses\n{said}\n--- C++\n{found}")
            continue
        jaxpr, _, lines = found.partition("\n--\n")
        if same_text(text) != same_text(jaxpr):
            wrong.append(f"{python}\n--- JAX\n{text}\n--- C++\n{jaxpr}")
        elif said != lines:
            wrong.append(f"{python}\n--- JAX writes\n{said}\n--- C++\n{lines}")
    assert len(cases) > 40
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong)


def what_happens(f) -> str:
    try:
        f()
        return "nothing"
    except RuntimeError as e:
        return str(e)


def traces(f, *args) -> bool:
    return what_happens(lambda: jax.make_jaxpr(f)(*args)) == "nothing"


def test_deleted_arrays_are_refused_where_jax_does(out):
    """B-02: traced as constants; refused where something is computed of them, or lowered."""
    x, v, wrong, parts = jnp.ones((2, 3)), jnp.ones(3), [], out.split("=d ")[1:]
    for part in parts:
        python, _, found = part.partition("\n")
        d, s = jnp.full(3, 2.0), jnp.array([1.0])[0]
        d.delete(), s.delete()
        f = eval("lambda x, v: " + python, {**globals(), "d": d, "s": s})  # noqa: S307
        text = [f"{jax.make_jaxpr(f)(x, v)}\n--\n"] if traces(f, x, v) else []
        ways = (lambda: jax.make_jaxpr(f)(x, v), lambda: f(x, v), lambda: jax.jit(f)(x, v), lambda: jax.jit(f).lower(x, v))
        expected = "".join(text + [what_happens(way) + "\n" for way in ways])
        if same_text(expected) != same_text(found).replace("<unnamedfunction>", "<lambda>"):
            wrong.append(f"{python}\n--- JAX\n{expected}\n--- C++\n{found}")
    assert len(parts) > 20
    assert not wrong, f"{len(wrong)} of {len(parts)}:\n" + "\n".join(wrong)
