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


@pytest.fixture(scope="module")
def cases():
    out = subprocess.run([DRIVER], capture_output=True, text=True, check=True, timeout=300).stdout
    found = {}
    for part in out.split("== ")[1:]:
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
