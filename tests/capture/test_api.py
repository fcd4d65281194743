"""`jaxscope.capture` from inside Python: what of a program reaches the capture."""
import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import print_saved_residuals
from wellformed import check, marked_calls

import jaxscope
from jaxscope import compat

S = jax.ShapeDtypeStruct
NEW = jax.__version__ == "0.10.2"


def document(captured):
    d = json.loads(captured.to_json())
    assert "warnings" not in d, d["warnings"]
    check(d)
    return d


def equations(d, number=None):
    j = d["jaxprs"][d["program"]["jaxpr"] if number is None else number]
    return [d["strings"][e[0]] for e in j["eqns"]]


def params(d, primitive):
    return [d["params"][e[3]] for j in d["jaxprs"] for e in j["eqns"] if d["strings"][e[0]] == primitive]


def test_arguments_names_and_donation():
    def step(state, batch, *rest, lr, flag=True):
        return state["w"] * lr + batch + rest[0]
    d = document(jaxscope.capture(step, donate_argnums=(0,), donate_argnames="lr", static_argnames="flag", name="it")(
        {"w": jnp.ones(3), "unused": jnp.ones(2)}, jnp.ones(3), 4.0, lr=jnp.float32(2), flag=False))
    p = d["program"]
    assert p["in_paths"] == ["state['unused']", "state['w']", "batch", "rest[0]", "lr"]
    assert p["donated"] == [True, True, False, False, True]
    assert p["kept"] == [False, True, True, True, True]
    assert p["static"] == [{"path": "flag", "text": "False"}] and d["name"] == "it"
    assert p["arg_of_input"] == [0, 0, 1, 2, 3] and p["arg_names"][:4] == ["state", "batch", "rest[0]", "lr"]


def test_weak_types_literals_and_dropped_results():
    d = document(jaxscope.capture(lambda x: (jnp.sin(x) * 2.5, jnp.nan, x > -jnp.inf))(1.0))
    j = d["jaxprs"][d["program"]["jaxpr"]]
    assert d["avals"][j["invars"][0]] == ["float32", [], {"weak": True}]
    assert {json.dumps(l[1]) for l in d["literals"]} >= {"2.5", '"nan"', '"-inf"'}


def test_values_by_size(tmp_path):
    small, large = jnp.arange(4.0), jnp.zeros((600, 600))
    f = lambda a, b: a.sum() + b.sum()
    keep = lambda values: document(jaxscope.capture(f, values=values)(small, large))
    d = keep("small")
    at = d["program"]["values"]
    assert d["arrays"][at[0]]["values"] == [0.0, 1.0, 2.0, 3.0] and at[1] is None
    assert keep("none")["program"]["values"] == [None, None]
    captured = jaxscope.capture(f, values="all")(small, large)
    path = tmp_path / "a.jaxscope"
    captured.save(str(path))
    d = document(captured)
    member = d["arrays"][d["program"]["values"][1]]["npz"]
    with np.load(tmp_path / "a.npz") as z:
        assert z[member].shape == (600, 600)


def test_dtypes_that_numpy_lacks(tmp_path):
    x = jnp.arange(1000, dtype=jnp.bfloat16)
    captured = jaxscope.capture(lambda x: x + 1, values="all")(x)
    captured.save(str(tmp_path / "b.jaxscope"), compress=False)
    with np.load(tmp_path / "b.npz") as z:
        raw = z["c0"]
    assert raw.dtype == np.uint16 and (raw.view(x.dtype) == np.asarray(x)).all()


def test_constants_and_keys():
    table = np.arange(5)
    d = document(jaxscope.capture(lambda k, i: jax.random.normal(k, (3,)) * jnp.asarray(table)[i])(jax.random.key(3), 2))
    assert d["avals"][d["jaxprs"][d["program"]["jaxpr"]]["invars"][0]] == ["key<fry>", []]
    assert d["arrays"][d["program"]["values"][0]]["values"] == [0, 3]
    j = d["jaxprs"][d["program"]["jaxpr"]]
    assert [d["arrays"][c]["values"] for c in j["consts"]] == [[0, 1, 2, 3, 4]] or not j["consts"]


def test_shapes_without_arrays():
    """Two billion parameters, nothing allocated."""
    p = [S((16384, 16384), jnp.float32)] * 8

    def step(p, x):
        return jax.grad(lambda p: jnp.mean(sum(jnp.tanh(x @ w) for w in p)))(p)
    d = document(jaxscope.capture(step, donate_argnums=0)(p, S((4, 16384), jnp.float32)))
    assert d["program"]["values"] == [None] * 9 and d["regions"][0]["mark"] == 0


def test_shared_jaxprs_are_one_entry():
    inner = jax.jit(lambda x: jnp.sin(x) + 1)
    d = document(jaxscope.capture(lambda x: inner(inner(inner(x))))(jnp.ones(3)))
    assert len(d["jaxprs"]) == 2


@pytest.mark.parametrize("policy, want", [
    ("everything_saveable", []), ("nothing_saveable", []), ("dots_saveable", []), ("dots_with_no_batch_dims_saveable", []),
    ("save_only_these_names", ["a", "b"]), ("save_any_names_but_these", ["a", "b"]),
])
def test_policies_by_name(policy, want):
    p = getattr(jax.checkpoint_policies, policy)
    p = p(*want[::-1]) if want else p
    d = document(jaxscope.capture(jax.checkpoint(jnp.sin, policy=p))(1.0))
    (found,) = [q for q in d["params"] if "policy" in q]
    assert found["policy"]["policy"] == policy and found["policy"]["args"] == want


def test_policies_that_are_closures():
    cp = jax.checkpoint_policies
    offload = cp.save_and_offload_only_these_names(names_which_can_be_saved=["a"], names_which_can_be_offloaded=["c", "b"],
                                                   offload_src="device", offload_dst="pinned_host")
    describe = lambda p: next(q["policy"] for q in document(jaxscope.capture(jax.checkpoint(jnp.sin, policy=p))(1.0))["params"] if "policy" in q)
    assert describe(offload)["args"] == [["a"], ["b", "c"], "device", "pinned_host"] or describe(offload)["args"][0] == {"list": ["a"]}
    assert describe(cp.offload_dot_with_no_batch_dims("device", "pinned_host"))["args"] == ["device", "pinned_host"]
    both = describe(cp.save_from_both_policies(cp.dots_saveable, cp.save_only_these_names("x")))
    assert [a["policy"] for a in both["args"]] == ["dots_saveable", "save_only_these_names"]


def test_a_policy_of_the_users_own():
    def mine(prim, *avals, **params):
        if prim.name == "exp":
            raise RuntimeError("undecided")
        return prim.name == "dot_general"
    f = jax.checkpoint(lambda w, x: jnp.sum(jnp.exp(jnp.sin(x @ w))), policy=mine)
    d = document(jaxscope.capture(f)(jnp.ones((3, 3)), jnp.ones((2, 3))))
    (found,) = [q["policy"] for q in d["params"] if "policy" in q]
    said = {row[0]: row[3] for row in found["verdicts"]}
    assert found["policy"] is None
    assert said["dot_general"] == "save" and said["sin"] == "recompute" and said["exp"] == "unknown"
    assert "cos" in said  # of the jvp: that is what the policy gets asked about


def test_custom_rules_are_recursive_tables():
    d = document(jaxscope.capture(lambda x: jax.nn.relu(jax.nn.relu(x)))(jnp.ones(3)))
    (rule,) = d["custom_rules"]
    inside = [q for e in d["jaxprs"][rule["jaxpr"]]["eqns"] for q in [d["params"][e[3]]]]
    assert rule["kind"] == "custom_jvp" and any('"rule": 0' in json.dumps(q) for q in inside + d["params"])


def test_custom_vjp_with_static_arguments():
    from functools import partial

    @partial(jax.custom_vjp, nondiff_argnums=(1,))
    def f(x, n, y):
        return x ** n * y
    f.defvjp(lambda x, n, y: (f(x, n, y), (x, y)), lambda n, res, g: (g * n * res[0] ** (n - 1) * res[1], None))
    d = document(jaxscope.capture(lambda x, y: f(x, 3, y))(jnp.ones(2), jnp.ones(2)))
    kinds = {r["kind"]: r for r in d["custom_rules"]}
    assert kinds["custom_vjp_bwd"]["out_zeros"] == [False, True] and kinds["custom_vjp_bwd"]["static"] == "(3)"
    forward = d["jaxprs"][kinds["custom_vjp_fwd"]["jaxpr"]]
    assert len(forward["invars"]) == 2


def test_rules_with_symbolic_zeros_by_pattern():
    zero = jax.custom_derivatives.SymbolicZero

    @jax.custom_jvp
    def f(x, y):
        return x * y

    def rule(p, t):
        return f(*p), sum(a * b for a, b in ((t[0], p[1]), (t[1], p[0])) if type(a) is not zero)
    f.defjvp(rule, symbolic_zeros=True)
    d = document(jaxscope.capture(lambda x, y: jax.grad(lambda x: jnp.sum(f(x, y)))(x))(jnp.ones(2), jnp.ones(2)))
    assert [(r["perturbed"], r.get("variant_of")) for r in d["custom_rules"][:1]] == [([True, True], None)]
    assert sorted((r["perturbed"], r.get("variant_of")) for r in d["custom_rules"][1:]) == [([False, True], 0), ([True, False], 0)]


def test_a_rule_that_fails_says_why():
    @jax.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def rule(p, t):
        raise NotImplementedError("not this one")
    d = document(jaxscope.capture(f)(jnp.ones(2)))
    assert d["custom_rules"][0]["jaxpr"] is None and "not this one" in d["custom_rules"][0]["why"]


def test_custom_vmap_rules_by_case():
    @jax.custom_batching.custom_vmap
    def f(x, y):
        return x * y, y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        return (jnp.sin(x) * y / axis_size, y), tuple(in_batched)
    program = lambda x, y: f(x, y)
    d = document(jaxscope.capture(program)(jnp.ones(3), jnp.ones(3)))
    first, *others = d["custom_rules"]
    assert first["kind"] == "custom_vmap" and first["function"].endswith("rule") and first["axis_size"] == 8
    assert first["in_batched"] == [True, True] and first["out_batched"] == [True, True] and "variant_of" not in first
    inside = d["jaxprs"][first["jaxpr"]]
    assert [d["avals"][a] for a in inside["invars"]] == [["float32", [8, 3]]] * 2 and equations(d, first["jaxpr"])[:2] == ["sin", "mul"]
    assert {(*r["in_batched"], r["variant_of"]) for r in others} == {(True, False, 0), (False, True, 0), (False, False, 0)}
    (p,) = params(d, "custom_vmap_call")
    assert p["rule"]["rule"] == 0
    d = document(jaxscope.capture(program, axis_sizes=(5, 6))(jnp.ones(3), jnp.ones(3)))
    assert {r["axis_size"] for r in d["custom_rules"]} == {5, 6}


@pytest.mark.skipif(compat.VERSION < (0, 6), reason="JAX can't trace such a rule apart")
def test_rules_that_close_over_the_program():
    def program(x, y):
        @jax.custom_vjp
        def f(a):
            return a * y
        f.defvjp(lambda a: (f(a), ()), lambda _, g: (g * y,))
        return f(x)
    d = document(jaxscope.capture(program)(jnp.ones(3), jnp.ones(3)))
    assert sorted({(r["kind"], *r["closed_over"], len(d["jaxprs"][r["jaxpr"]]["invars"])) for r in d["custom_rules"]}) == [
        ("custom_vjp_bwd", 0, 2), ("custom_vjp_fwd", 0, 2)]


def test_rules_that_close_over_what_the_function_does_not_read():
    def program(x, y):
        @jax.custom_jvp
        def f(a):
            return a
        f.defjvp(lambda p, t: (f(*p), t[0] * y))
        return f(x)
    (rule,) = document(jaxscope.capture(program)(jnp.ones(3), jnp.ones(3)))["custom_rules"]
    assert rule["jaxpr"] is None and "pass it as an argument" in rule["why"]


def test_rules_too_deep_say_how_to_get_them():
    def g(n):
        @jax.custom_jvp
        def f(x):
            return x * n
        f.defjvp(lambda p, t: (f(*p), g(n + 1)(t[0])))
        return f
    d = document(jaxscope.capture(g(0), rule_depth=2)(jnp.ones(2)))
    assert [r["jaxpr"] is None for r in d["custom_rules"]] == [False, False, True]
    assert "--rule-depth" in d["custom_rules"][-1]["why"]


def test_effects_and_contexts():
    d = document(jaxscope.capture(lambda x: (jax.debug.print("{x}", x=x), x + 1)[1])(1.0))
    j = d["jaxprs"][d["program"]["jaxpr"]]
    assert any(len(e) == 7 for e in j["eqns"]) and j["effects"]


@pytest.mark.skipif(not hasattr(jax, "new_ref"), reason="this JAX has no jax.new_ref")
def test_references_are_discharged():
    def f(x):
        r = jax.new_ref(x)
        r[0] = 2.0 * r[1]
        return r[...]
    d = document(jaxscope.capture(f)(jnp.ones(3)))
    assert not any(isinstance(a, dict) for a in d["avals"])


@pytest.mark.skipif(not NEW, reason="jax_remat3 is new")
def test_remat3_keeps_its_body_and_policy():
    jax.config.update("jax_remat3", True)
    try:
        d = document(jaxscope.capture(jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)), policy=jax.checkpoint_policies.dots_saveable))(1.0))
    finally:
        jax.config.update("jax_remat3", False)
    (prim,) = [q["_prim"] for q in params(d, "call_hi_primitive")]
    fields = dict(prim["fields"])
    assert d["flags"]["jax_remat3"] and fields["policy"]["policy"] == "dots_saveable"
    assert equations(d, fields["jaxpr"].get("closed_jaxpr", fields["jaxpr"].get("jaxpr"))) == ["cos", "sin"]


def test_integer_inputs_have_no_cotangent():
    d = document(jaxscope.capture(jax.grad(lambda t: jnp.sum(t[0] * t[1]), allow_int=True))((jnp.ones(3), jnp.arange(3))))
    ((eqn, body),) = marked_calls(d)["jaxscope_backward_0"]
    assert d["regions"][0]["wrt_inputs"] == [True, True] and len(eqn[2]) == 1 and len(body["outvars"]) == 1


def test_differentiate_is_recorded():
    d = document(jaxscope.capture(lambda a, b: (a * b, b), differentiate=1, has_aux=True)(1.0, 2.0))
    assert d["program"]["differentiate"] == [1] and d["program"]["has_aux"] and d["regions"] == [] and d["marked"] is None


def test_jax_is_left_as_it_was():
    before = compat.ad.linearize
    jaxscope.capture(lambda x: jax.grad(jnp.sin)(x))(1.0)
    assert compat.ad.linearize is before and before.__module__ == "jax._src.interpreters.ad"
    assert float(jax.grad(lambda x: jax.grad(jnp.sin)(x))(1.0)) == pytest.approx(-np.sin(1.0))


def test_jax_names_the_users_lines_afterwards(capsys):
    """JAX keeps `logaddexp` and its rule as they were traced first, which the capture does where no user's line stands above."""
    def fn(x):
        return jnp.logaddexp(x, 0.0).sum()
    jaxscope.capture(fn)(jnp.ones(3))
    print_saved_residuals(jax.checkpoint(fn, policy=jax.checkpoint_policies.everything_saveable), jnp.ones(3))
    places = [line.split(" from ")[1] for line in capsys.readouterr().out.splitlines() if " exp " in line]
    assert places and all("test_api.py" in place for place in places)


def test_compile_facts():
    def step(w, x):
        return w - x, x.sum()
    d = document(jaxscope.capture(step, donate_argnums=(0, 1), compile=True)(jnp.ones(64), jnp.ones(64)))
    said = d["xla"]["memory_analysis"]
    assert said["alias_size_in_bytes"] == 256
    # XLA's own figure leaves its temporaries out on the CPU.
    assert said["peak_memory_in_bytes"] == said["argument_size_in_bytes"] + said["output_size_in_bytes"] - 256 + said["temp_size_in_bytes"]
    assert d["xla"]["device"] == "cpu" and d["xla"]["version"] == jax.lib.__version__ and d["xla"]["compile_seconds"] > 0
    assert d["xla"]["input_output_alias"] == [[0, 0]]
    assert any("donated" in w for w in d["program"]["donate_warnings"])


def test_plain_json_where_there_is_no_zstd(tmp_path, monkeypatch):
    from jaxscope.document import output
    monkeypatch.setattr(output, "_compressor", lambda: None)
    path = tmp_path / "a.jaxscope"
    jaxscope.capture(jnp.sin)(1.0).save(str(path))
    assert json.loads(path.read_text())["format"] == "jaxscope.capture"


def test_nothing_is_left_of_a_failed_save(tmp_path):
    captured = jaxscope.capture(jnp.sin)(1.0)
    captured.document["bad"] = object()
    with pytest.raises(TypeError):
        captured.save(str(tmp_path / "a.jaxscope"))
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, sys
from jaxscope.document import output
with output.atomic(sys.argv[1]) as f:
    f.write(b"x" * 100000)
    f.flush()
    os.kill(os.getpid(), 9)
"""


def test_nothing_is_left_of_a_save_that_is_killed(tmp_path):
    (tmp_path / "a.jaxscope").write_text("old")
    env = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(jaxscope.__file__)))
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.jaxscope")], env=env, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["a.jaxscope"] and (tmp_path / "a.jaxscope").read_text() == "old"


@pytest.mark.parametrize("nameless", [True, False])
def test_files_with_and_without_a_name_while_they_are_written(tmp_path, monkeypatch, nameless):
    from jaxscope.document import output
    seen = []
    if not nameless:
        monkeypatch.setattr(output, "_nameless", lambda folder: None)
    mask = os.umask(0o027)
    try:
        with output.atomic(str(tmp_path / "a")) as f:
            f.write(b"whole")
            seen = list(tmp_path.iterdir())
        with pytest.raises(RuntimeError), output.atomic(str(tmp_path / "a")) as f:
            f.write(b"half")
            raise RuntimeError
    finally:
        os.umask(mask)
    assert len(seen) == (not nameless) and [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"whole" and os.stat(tmp_path / "a").st_mode & 0o777 == 0o640


@pytest.mark.parametrize("text, why", [(b"", "nothing stands in it"), (b"\0" * 64, "zero bytes alone stand in it")])
def test_empty_captures(tmp_path, text, why):
    (tmp_path / "a.jaxscope").write_bytes(text)
    with pytest.raises(jaxscope.CaptureError, match=why):
        jaxscope.load(str(tmp_path / "a.jaxscope"))


def test_wrong_options():
    with pytest.raises(TypeError, match="donate_argnum'"):
        jaxscope.capture(jnp.sin, donate_argnum=0)
    with pytest.raises(jaxscope.CaptureError, match="expected all, small or none"):
        jaxscope.capture(jnp.sin, values="some")(1.0)
    with pytest.raises(jaxscope.CaptureError, match="argument 3"):
        jaxscope.capture(jnp.sin, differentiate=3)(1.0)


@pytest.mark.skipif(jax.__version_info__ >= (0, 10), reason="this version's parameters are those that captures hold")
def test_older_versions_rebuild_nothing(tmp_path):
    jaxscope.capture(jnp.sin)(np.ones(3, np.float32)).save(tmp_path / "sin.jaxscope")
    with pytest.raises(Exception, match=f"captures are written with the parameters of JAX 0.10; this is JAX {jax.__version__}"):
        jaxscope.load(tmp_path / "sin.jaxscope")
