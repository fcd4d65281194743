"""The type checker against JAX 0.10.2: for equations that JAX's harnesses trace, what each primitive's rule derives is what JAX derives, for the
equation as it is and with each parameter and each operand changed; what JAX refuses is refused.

A sample by printed seed; JAXSCOPE_FULL=1 takes all harnesses.
"""
import dataclasses
import json
import os
import pathlib
import random
import subprocess

import jax
import numpy as np
import pytest
from conftest import missing
from jax._src import core, dtypes
from seed import seed_of_sample

from jaxscope import api

harnesses = pytest.importorskip("jax._src.internal_test_util.test_harnesses")
pytestmark = pytest.mark.skipif(jax.__version__ != "0.10.2", reason="older versions derive some types otherwise")

# Calls: bound with their jaxprs they are traced anew, and what JAX checks of them is the jaxpr, not the call.
CALLS = {"custom_jvp_call", "custom_vjp_call", "custom_lin", "jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint",
         "custom_linear_solve", "run_state"}


def same(a, b):
    return type(a) is type(b) and a == b


def near(value):
    """Values other than `value`, some of another kind."""
    if value is None:
        out = [np.dtype("float32"), np.dtype("int32"), np.dtype("int8"), 1, 7, True, "x", ()]
    elif isinstance(value, bool):
        out = [not value, None, 1, 7, "x"]
    elif isinstance(value, int):
        out = [value + 1, value - 1, -1, -value - 1, 0, 1, 2, 63, 2**31, 2**62, 2**63 - 1, -2**63, 1.5, None, True, "x", (value,)]
    elif isinstance(value, float):
        out = [0.0, -value, 2.0, float("nan"), float("inf"), None, "x"]
    elif isinstance(value, str):
        out = ["x", "", None, 3]
    elif isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        out = [np.dtype(d) for d in ("float32", "int32", "bool", "complex64", "bfloat16", "uint8", "float64")] + [None, 3]
    elif isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        out = [(), None, 3, "x", tuple(value) + (0,), tuple(value) + (1,), tuple(reversed(value))]
    else:
        out = [None, 3]
    return [v for v in out if not same(v, value)]


def fields_of(value):
    """Steps into a value, and how to make it again."""
    if hasattr(value, "_fields"):
        return list(value._fields), lambda name: getattr(value, name), lambda name, v: value._replace(**{name: v})
    if type(value).__name__ in ("GatherDimensionNumbers", "ScatterDimensionNumbers"):
        return [f.name for f in dataclasses.fields(value)], lambda n: getattr(value, n), lambda n, v: dataclasses.replace(value, **{n: v})
    if isinstance(value, (tuple, list)):
        def put(k, v):
            items = list(value)
            items[k] = v
            return type(value)(items)
        return list(range(len(value))), lambda k: value[k], put
    return [], None, None


def as_json(v):
    if isinstance(v, np.dtype):
        return {"dtype": v.name}
    if isinstance(v, type) and issubclass(v, np.generic):
        return {"dtype": np.dtype(v).name}
    if isinstance(v, (tuple, list)) and not hasattr(v, "_fields"):
        items = [as_json(x) for x in v]
        return NotImplemented if NotImplemented in items else items
    if isinstance(v, float):
        return {"float": str(v)}
    return v if v is None or isinstance(v, (bool, int, str)) else NotImplemented


def changes(value, path):
    """(path, what, JSON of the new value, the new whole value), at every place of `value`."""
    for v in near(value):
        if (j := as_json(v)) is not NotImplemented:
            yield path, "set", j, v
    steps, get, put = fields_of(value)
    for s in steps:
        for p, what, j, v in changes(get(s), [*path, s]):
            if what == "set" or len(p) > len(path) + 1:
                yield p, what, j, put(s, v)
        if isinstance(s, int):
            for what, items in (("drop", [*value[:s], *value[s + 1:]]), ("again", [*value[:s + 1], *value[s:]])):
                yield [*path, s], what, None, type(value)(items)


def mutations(eqn):
    avals = [v.aval for v in eqn.invars]
    for name, value in eqn.params.items():
        yield {"param": [name], "do": "drop"}, avals, {k: v for k, v in eqn.params.items() if k != name}
        for path, what, j, v in changes(value, [name]):
            yield {"param": path, "do": what, "value": j}, avals, {**eqn.params, name: v}
    for k, a in enumerate(avals):
        yield {"input": k, "do": "drop"}, avals[:k] + avals[k + 1:], eqn.params
        yield {"input": k, "do": "again"}, avals[:k + 1] + avals[k:], eqn.params
        if not isinstance(a, core.ShapedArray) or dtypes.issubdtype(a.dtype, dtypes.extended):
            continue
        shapes = [a.shape + (1,), a.shape[1:], tuple(reversed(a.shape)), a.shape + (3,), (5,) + a.shape]
        for d in range(len(a.shape)):
            for size in (a.shape[d] + 1, a.shape[d] - 1, 0, 1, 7, 2**40):
                shapes.append((*a.shape[:d], size, *a.shape[d + 1:]))
        for shape in shapes:
            if min(shape, default=0) >= 0 and shape != a.shape:
                changed = core.ShapedArray(shape, a.dtype, weak_type=a.weak_type)
                yield {"input": k, "do": "set", "shape": list(shape)}, [*avals[:k], changed, *avals[k + 1:]], eqn.params
        for dtype in ("float32", "int32", "bool", "complex64", "bfloat16", "uint8", "uint32", "float16", "int8"):
            if a.dtype != np.dtype(dtype):
                changed = core.ShapedArray(a.shape, np.dtype(dtype))
                yield {"input": k, "do": "set", "dtype": dtype}, [*avals[:k], changed, *avals[k + 1:]], eqn.params


def text_of(aval):
    if not hasattr(aval, "shape"):
        return str(aval)
    return f"{dtypes.short_dtype_name(aval.dtype)}[{','.join(map(str, aval.shape))}]"


def jaxs_answer(primitive, avals, params):
    try:
        out, _ = primitive.abstract_eval(*avals, **params)
        return " ".join(text_of(a) for a in (out if primitive.multiple_results else [out]))
    except Exception as e:
        return f"! {type(e).__name__}: {e}"[:200]


def equations():
    """One of each primitive, parameters and types that the harnesses trace."""
    cases = list(harnesses.all_harnesses)
    if not os.environ.get("JAXSCOPE_FULL"):
        cases = random.Random(seed_of_sample()).sample(cases, 300)
    found = {}
    for h in cases:
        try:
            closed = jax.make_jaxpr(h.dyn_fun)(*h.dyn_args_maker(np.random.RandomState(0)))
        except Exception:
            continue
        todo = [closed.jaxpr]
        while todo:
            j = todo.pop()
            for e in j.eqns:
                below = list(core.jaxprs_in_params(e.params))
                todo += below
                avals = [v.aval for v in e.invars]
                if not below and e.primitive.name not in CALLS and all(isinstance(a, core.ShapedArray) for a in avals):
                    found.setdefault((e.primitive.name, str(e.params), " ".join(map(text_of, avals))), e)
    return list(found.values())


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Their capture, as one program, and its equations as JAX has them."""
    eqns = equations()
    inputs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type) for e in eqns for v in e.invars]

    def f(*args):
        args = list(args)
        for e in eqns:
            taken, args = args[:len(e.invars)], args[len(e.invars):]
            e.primitive.bind(*taken, **e.params)
        return jax.numpy.zeros(3)
    path = tmp_path_factory.mktemp("types") / "a.jaxscope"
    path.write_text(api.capture(f)(*inputs).to_json())
    return path, jax.make_jaxpr(f)(*inputs).jaxpr.eqns


@pytest.fixture(scope="session")
def driver(binary):
    path = pathlib.Path(binary).parent / "tests" / "type_driver"
    if not path.exists():
        missing("no type_driver beside jaxscope")
    return str(path)


def ask(driver, path, requests):
    lines = [json.dumps({"file": str(path)}), *map(json.dumps, requests)]
    done = subprocess.run([driver], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=600)
    answers = done.stdout.splitlines()
    assert done.returncode == 0 and len(answers) == len(requests), (done.returncode, requests[len(answers)], done.stderr[-500:])
    return answers


# Whose operands jaxscope looks at more closely than JAX's rules do; lowering refuses these later, or an assertion of JAX's API before.
STRICTER = {"reshape", "rng_bit_generator", "select_and_scatter_add", "select_and_gather_add", "random_gamma", "dynamic_slice", "cumlogsumexp", "sort"}
# What jaxscope doesn't look at: shardings and other facts for XLA that change no type.
UNREAD = {"sharding", "out_sharding", "impl", "update_jaxpr", "update_consts"}


def tolerated(kind, name, change, ours, theirs):
    if kind == "refused":  # a bool for an integer, a negative stride: no program of JAX's has that parameter
        return "param" in change or name in STRICTER or "a size below 2^63" in ours
    if "param" in change and change["param"][0] in UNREAD:
        return True
    # Older versions of JAX don't have all of the parameters.
    return kind == "accepted" and change.get("do") == "drop" and "required" in theirs


def differences(driver, traced, limit=None):
    """(kind, primitive, change, operands, our answer, JAX's) where they differ without one of the reasons above."""
    path, eqns = traced
    rng = random.Random(0)
    asked, theirs = [], []
    for i, e in enumerate(eqns):
        cases = [({}, [v.aval for v in e.invars], e.params), *mutations(e)]
        if limit and len(cases) > limit:
            cases = cases[:1] + rng.sample(cases[1:], limit)
        for change, avals, params in cases:
            asked.append({"eqn": i, **change})
            theirs.append((e.primitive.name, avals, jaxs_answer(e.primitive, avals, params)))
    print(len(asked), "changes of", len(eqns), "equations")
    for request, (name, avals, jax_says), ours in zip(asked, theirs, ask(driver, path, asked), strict=True):
        refused, jax_refuses = ours.startswith("!"), jax_says.startswith("!")
        if ours.startswith("?") or (refused and jax_refuses) or ours == jax_says:
            continue
        kind = "accepted" if jax_refuses else "refused" if refused else "otherwise"
        if not tolerated(kind, name, request, ours, jax_says):
            yield kind, name, request, " ".join(map(text_of, avals)), ours, jax_says


def test_rules_derive_what_jax_derives(driver, traced):
    found = [" ".join(map(str, d)) for d in differences(driver, traced, None if os.environ.get("JAXSCOPE_FULL") else 200)]
    assert not found, f"{len(found)}:\n" + "\n".join(found[:30])
