"""Expressions written in Python and in C++ (tests/trace/pair_driver.cpp): JAX traces and computes the Python text, the front end the C++."""
import os
import pathlib
import random
import re
import subprocess

import equinox
import jax
import jax.flatten_util
import jax.image
import jax.nn as nn
import jax.numpy as jnp
import jax.random as jr
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
import pytest
from jax import lax  # noqa: F401  (the expressions name it)

import pair_functions
from seed import seed_of_sample

BUILD = pathlib.Path(os.environ.get("JAXSCOPE", "")).parent
DRIVER = BUILD / "tests" / "pair_driver"


def arguments():
    n = np.arange(12)
    x, y = jnp.float32(0.25 * n - 1.1).reshape(3, 4), jnp.float32(1.3 - 0.2 * n).reshape(3, 4)
    v, w = jnp.float32(0.5 * np.arange(4) + 0.1), jnp.float32(0.1 * np.arange(20) - 0.7).reshape(4, 5)
    b = jnp.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1]], bool)
    return x, y, v, w, jnp.array([2, 0, 1]), b, jr.key(7), jnp.array([-3, 4, 5, 9])


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """A tenth of the pairs by a printed seed, all with JAXSCOPE_FULL=1; one Python text may stand for several forms in C++."""
    asked = tmp_path_factory.mktemp("pairs") / "asked.txt"

    def driver():
        return subprocess.run([DRIVER], capture_output=True, text=True, check=True, timeout=300, env={**os.environ, "JAXSCOPE_PAIRS": str(asked)}).stdout

    names = re.findall(r"^== (.*)$", driver(), re.M)
    assert len(set(names)) > 1600
    chosen = names if os.environ.get("JAXSCOPE_FULL") else random.Random(seed_of_sample()).sample(sorted(set(names)), len(names) // 10)
    asked.write_text("\n".join(chosen) + "\n")
    out, found = driver(), []
    for part in out.split("== ")[1:]:
        python, _, rest = part.partition("\n")
        lines = rest.splitlines()
        if not lines:
            continue
        found.append((python, "\n".join(s for s in lines if not s.startswith(("-- ", "!! "))), [s for s in lines if s.startswith(("-- ", "!! "))]))
    assert {python for python, *_ in found} == set(chosen)
    return found


def evaluate(text):
    names = {**vars(pair_functions), "jax": jax, "jnp": jnp, "lax": lax, "nn": nn, "jr": jr, "jsp": jax.scipy, "eqx": equinox}
    return eval("lambda x, y, v, w, i, b, k, n: " + text, names)  # noqa: S307


def same_text(jaxpr):
    """JAX leaves NumPy's integers in some parameters, which also makes it break lines earlier."""
    text = re.sub(r"np\.int64\((\d+)\)", r"\1", jaxpr)
    return re.sub(r"\s+([\])])", r"\1", re.sub(r"([\[(])\s+", r"\1", re.sub(r"\s+", " ", text)))


def same_numbers(want, got, nudged=()):
    """`nudged`: what JAX says where the inputs differ in their last digit; a program that doubles such a difference at each turn may differ by as much."""
    for k, (a, line) in enumerate(zip(jax.tree.leaves(want), got, strict=True)):
        aval, *numbers = line[3:].split(" ")
        weak = "~" if getattr(jax.typeof(a), "weak_type", False) else ""
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            continue
        dtype = "float0" if a.dtype == jax.dtypes.float0 else a.dtype
        if aval != f"{weak}{dtype}[{','.join(map(str, a.shape))}]":
            return f"{aval} for {jax.typeof(a)}"
        if a.dtype == jax.dtypes.float0:
            continue
        exact, found = np.asarray(a, float).ravel(), np.array(numbers, float)
        spread = max((np.abs(np.asarray(jax.tree.leaves(n)[k], float).ravel() - exact) for n in nudged), key=np.sum, default=0)
        digits = {"bfloat16": 2.0**-6, "float16": 2.0**-9}.get(str(a.dtype), 2e-5)  # two of the last places of a short type
        if not np.all((np.abs(found - exact) <= max(1e-6, digits / 4 if digits > 1e-3 else 0) + digits * np.abs(exact) + 4 * spread) | (found == exact) | (np.isnan(found) & np.isnan(exact))):
            return f"{numbers} for {np.asarray(a).ravel()}"
    return None


def test_pairs_trace_and_compute_as_jax(cases):
    """A-26, I-01: same jaxpr, same types, same numbers."""
    args = arguments()
    wrong = []
    for python, text, values in cases:
        f = evaluate(python)
        # JAX leaves NumPy's integers in some parameters.
        want = str(jax.make_jaxpr(f)(*args))
        if same_text(want) != same_text(text):
            wrong.append(f"{python}\n--- JAX\n{want}\n--- C++\n{text}\n{values[:1]}")
        elif problem := same_numbers(f(*args), values):
            wrong.append(f"{python}: {problem}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong)


def texts(kind):
    out = subprocess.run([DRIVER, kind], capture_output=True, text=True, check=True, timeout=300).stdout
    for part in re.split(r"^== ", out, flags=re.M)[1:]:
        python, _, text = part.partition("\n")
        yield python, text.removesuffix("\n")


def sorted_classes(text):
    """JAX lists the classes of accepted dtypes as a set has them."""
    return re.sub(r"subtypes of (.*)\.", lambda m: "subtypes of " + ", ".join(sorted(m[1].replace("signedinteger", "integer").split(", "))) + ".", text)


def refused_by_jax(python):
    try:
        evaluate(python)(*arguments())
    except Exception as e:  # noqa: BLE001  (whatever JAX raises)
        # Of a key's implementation JAX prints its functions, which have addresses; errors point at their page.
        text = re.sub(r"key_shape=\(2,\), .*?name=", "key_shape=(2,), name=", str(e)).split("\n\nSee https")[0]
        return functions_aside(re.sub(r"np\.int64\((-?\d+)\)", r"\1", text)).rstrip("\n")
    return "JAX takes it"


def functions_aside(text):
    """Which functions differ is told by a name and a place, which are each language's own."""
    return re.sub(r"^((?:true|false)_fun|branch ?\d+) is .*:\d+$", r"\1 is a function", text, flags=re.M)


def test_what_jax_refuses_is_refused_in_its_words():
    """With the line of the call, which the driver compares."""
    found = {python: functions_aside(text) for python, text in texts("errors")}
    wrong = [f"{python}\n  JAX: {want}\n  C++: {text}" for python, text in found.items() if sorted_classes(want := refused_by_jax(python)) != sorted_classes(text)]
    assert len(found) > 120
    assert not wrong, f"{len(wrong)} of {len(found)}:\n" + "\n".join(wrong)


def as_equinox_has_it(python):
    try:
        tree = evaluate(python)(*arguments())
    except Exception as e:  # noqa: BLE001  (whatever it raises)
        return f"!! {e}"
    return tree if isinstance(tree, str) else equinox.tree_pformat(tree, short_arrays=False)


def test_functions_on_trees_are_equinoxs():
    found = dict(texts("trees"))
    wrong = [f"{python}\n--- Equinox\n{want}\n--- C++\n{text}" for python, text in found.items() if (want := as_equinox_has_it(python)) != text]
    assert len(found) > 70
    assert not wrong, f"{len(wrong)} of {len(found)}:\n" + "\n".join(wrong)
