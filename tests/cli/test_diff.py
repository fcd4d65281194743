"""`jaxscope diff`: what is told of two programs that differ in a known way, and of reports of an earlier day."""
import json

import pytest

A = """{ lambda ; a:f32[3,4] b:f32[4]. let
    c:f32[3] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
    d:f32[3] = sin c
    e:f32[3] = mul d 2.0:f32[]
    f:f32[] = reduce_sum[axes=(0,)] e
  in (f,) }
"""


def compared(cli, other, text=A, *args):
    (cli.folder / "a.jaxpr").write_text(text)
    (cli.folder / "b.jaxpr").write_text(other)
    return cli.json("diff", "a.jaxpr", "b.jaxpr", *args)


def test_other_names_are_no_difference(cli, schema):
    renamed = A.replace("c:f32", "zz:f32").replace("sin c", "sin zz")
    diff = compared(cli, renamed)
    schema.validate(diff)
    assert diff["same"] and not (diff["added"] or diff["removed"] or diff["changed"]) and diff["same_equations"] == 4
    assert diff["memory"]["planned_peak"]["a"] == diff["memory"]["planned_peak"]["b"] > 0
    assert cli.raw("diff", "a.jaxpr", "b.jaxpr", "--exit-code").returncode == 0
    assert "no difference" in cli.ok("diff", "a.jaxpr", "b.jaxpr")


def test_an_equation_more_is_told_alone(cli):
    more = A.replace("    e:f32[3] = mul d 2.0:f32[]\n", "    g:f32[3] = cos d\n    e:f32[3] = mul g 2.0:f32[]\n")
    diff = compared(cli, more)
    assert [e["primitive"] for e in diff["added"]] == ["cos"] and diff["added"][0]["equation"] == "2"
    assert not diff["removed"] and not diff["changed"] and not diff["same"]
    back = cli.json("diff", "b.jaxpr", "a.jaxpr")
    assert [e["primitive"] for e in back["removed"]] == ["cos"] and not back["added"]
    assert cli.raw("diff", "a.jaxpr", "b.jaxpr", "--exit-code").returncode == 1
    assert cli.raw("diff", "a.jaxpr", "b.jaxpr").returncode == 0


@pytest.mark.parametrize("old, new, what", [
    ("2.0:f32[]", "3.0:f32[]", "operand 1: 2.0 -> 3.0"),
    ("mul d 2.0:f32[]", "mul c 2.0:f32[]", "operand 0 is another value"),
    ("in (f,)", "in (f,)", None),
])
def test_what_of_an_equation_changed(cli, old, new, what):
    diff = compared(cli, A.replace(old, new))
    assert [w for e in diff["changed"] for w in e["what"]] == ([what] if what else [])
    assert not diff["added"] and not diff["removed"]


def test_parameters_and_types(cli):
    a = "{ lambda ; a:f32[3,3]. let b:f32[3] = reduce_sum[axes=(0,)] a in (b,) }"
    diff = compared(cli, a.replace("axes=(0,)", "axes=(1,)"), a)
    assert diff["changed"][0]["what"] == ["axes: (0,) -> (1,)"]
    diff = compared(cli, a.replace("f32", "bf16"), a)
    assert diff["changed"][0]["what"] == ["operands: f32[3,3] -> bf16[3,3]", "results: f32[3] -> bf16[3]"]
    assert diff["signature"] == [{"path": "input a", "a": "f32[3,3]", "b": "bf16[3,3]"}, {"path": "output [0]", "a": "f32[3]", "b": "bf16[3]"}] or diff["signature"]


def test_inside_of_a_scan(cli):
    jax = pytest.importorskip("jax")
    import jaxscope

    def program(inner):
        return lambda x: jax.lax.scan(lambda c, _: (inner(c), None), x, None, length=5)[0].sum()

    for name, inner in (("a", jax.numpy.sin), ("b", lambda c: jax.numpy.sin(c) * 2)):
        jaxscope.capture(program(inner), differentiate=0)(jax.numpy.ones(8)).save(str(cli.folder / f"{name}.jaxscope"))
    diff = cli.json("diff", "a.jaxscope", "b.jaxscope")
    assert [(e["primitive"], e["equation"].count("/")) for e in diff["added"]] == [("mul", 2)]
    assert not diff["removed"]
    # Against a report of the first: the same equations, residuals and figures.
    (cli.folder / "was.json").write_text(cli.ok("report", "a.jaxscope", "--no-run", "--json"))
    again = cli.json("diff", "was.json", "b.jaxscope")
    assert [e["primitive"] for e in again["added"]] == ["mul"] and again["memory"] == diff["memory"]
    assert cli.json("diff", "was.json", "a.jaxscope")["same"]


def test_residuals_donations_and_lines_that_moved(cli):
    jax = pytest.importorskip("jax")
    import jaxscope
    jnp = jax.numpy

    def capture(name, source, **kwargs):
        space = {"jnp": jnp}
        path = cli.folder / "model.py"
        path.write_text(source)
        exec(compile(source, str(path), "exec"), space)
        jaxscope.capture(space["f"], **kwargs)(jnp.ones((4, 8)), jnp.ones((4, 8))).save(str(cli.folder / name))

    source = "def f(x, y):\n    return (jnp.sin(x) * y).sum()\n"
    capture("a.jaxscope", source, differentiate=0)
    capture("moved.jaxscope", "# a line\n# more\n" + source, differentiate=0)
    diff = cli.json("diff", "a.jaxscope", "moved.jaxscope")
    assert diff["same"] and diff["saved"]["same"] == len(cli.json("residuals", "a.jaxscope")["residuals"])
    capture("cos.jaxscope", source.replace("* y", "* y * jnp.exp(x)"), differentiate=0)
    diff = cli.json("diff", "a.jaxscope", "cos.jaxscope")
    assert diff["saved"]["added"] and diff["memory"]["residuals"]["b"] > diff["memory"]["residuals"]["a"]
    step = "def f(x, y):\n    return x + 1, y * 2\n"
    capture("d1.jaxscope", step, donate_argnums=(0,))
    capture("d2.jaxscope", step.replace("x + 1", "(x + 1).astype(jnp.bfloat16)").replace(", y * 2", ", y[0]"), donate_argnums=(0,))
    diff = cli.json("diff", "d1.jaxscope", "d2.jaxscope")
    assert diff["donations"][0]["a"].startswith("reused") and diff["donations"][0]["b"].startswith("not reused")
    assert diff["memory"]["aliased"]["a"] > diff["memory"]["aliased"]["b"]


def test_what_one_side_lacks_is_said(cli):
    (cli.folder / "plan.json").write_text(cli.ok("plan", "x.jaxpr", "--json"))
    diff = cli.json("diff", "plan.json", "x.jaxpr")
    assert any(n.startswith("equations: plan.json has none") for n in diff["not_compared"])
    assert diff["memory"]["planned_peak"]["a"] == diff["memory"]["planned_peak"]["b"]
    (cli.folder / "other.json").write_text(json.dumps({"a": 1}))
    done = cli.raw("diff", "other.json", "x.jaxpr")
    assert done.returncode == 2 and "other.json" in done.stderr


def test_many_differences_in_a_long_program(cli):
    """More differences than the exact search looks for: still every equation is told once, on one side or as a pair."""
    def text(op):
        lines = [f"    v{i + 1}:f32[] = {op(i)} v{i}" for i in range(9000)]
        return "{ lambda ; v0:f32[]. let\n" + "\n".join(lines) + "\n  in (v9000,) }"

    names = ["sin", "cos", "exp", "tanh"]
    diff = compared(cli, text(lambda i: names[(i * 7) % 3 + 1]), text(lambda i: names[i % 4]))
    changed = sum(1 for e in diff["changed"] if e["primitive"])
    assert diff["same_equations"] + len(diff["removed"]) + changed == 9000
    assert diff["same_equations"] + len(diff["added"]) + changed == 9000
