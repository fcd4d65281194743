"""Every function of one and of two operands in the C++ headers, given operands of every kind of type, and under every transformation: the
jaxpr and the numbers of JAX, or refused as JAX refuses. Some by a printed seed, all of them with JAXSCOPE_FULL=1."""
import os
import re
import subprocess
from pathlib import Path

import jax
import pytest

from conftest import ROOT, jaxscope_binary
from seed import seed_of_sample
from test_front_end import arguments, evaluate, same_numbers, same_text

BUILD = Path(jaxscope_binary()).parent
SHARE = 1 if os.environ.get("JAXSCOPE_FULL") else 24  # one case in so many
MODULES = {"numpy": "jnp", "lax": "lax", "nn": "jax.nn"}
ONE = ["x", "n", "b", "x.astype(jnp.bfloat16)", "x.astype(jnp.float16)", "n.astype(jnp.uint8)", "n.astype(jnp.int8)", "lax.complex(x, y)", "v[0]",
       "n[0]", "b[0, 0]", "n * 1."]
TWO = [("x", "y"), ("n", "3"), ("x", "n[:1]"), ("x.astype(jnp.bfloat16)", "2"), ("2.", "x"), ("n.astype(jnp.uint8)", "n"), ("b", "b"),
       ("n.astype(jnp.int8)", "2"), ("x.astype(jnp.float16)", "x.astype(jnp.bfloat16)"), ("lax.complex(x, y)", "x"), ("v[0]", "n[0]"),
       ("b", "n[:1]"), ("x", "True")]
# Python, where F is the function, and the same in C++, where f is.
UNDER_ONE = [
    ("jax.grad(lambda t: F(t).sum())(x)", "jax::grad([f](Array t) { return jnp::sum(f(t)); })(x)"),
    ("jax.grad(lambda t: F(t).sum())(x.astype(jnp.bfloat16))", "jax::grad([f](Array t) { return jnp::sum(f(t)); })(x.astype(jnp::bfloat16))"),
    ("jax.vmap(jax.value_and_grad(F))(v)", "jax::vmap(jax::value_and_grad([f](Array t) { return f(t); }))(v)"),
    ("jax.vmap(lambda t: F(t), in_axes=1, out_axes=1)(x)", "jax::vmap([f](Array t) { return f(t); }, {.in_axes = 1, .out_axes = 1})(x)"),
    ("jax.jvp(F, (v,), (v * 2,))", "jax::jvp([f](Array t) { return f(t); }, std::tuple{v}, std::tuple{v * 2})"),
    ("jax.hessian(lambda t: F(t).sum())(v)", "jax::hessian([f](Array t) { return jnp::sum(f(t)); })(v)"),
    ("jax.grad(jax.checkpoint(lambda t: F(jnp.sin(t)).sum()))(v)",
     "jax::grad(jax::checkpoint([f](Array t) { return jnp::sum(f(jnp::sin(t))); }))(v)"),
]
UNDER_TWO = [
    ("jax.grad(lambda t, u: F(t, u).sum(), argnums=(0, 1))(x, y)", "jax::grad<0, 1>([f](Array t, Array u) { return jnp::sum(f(t, u)); })(x, y)"),
    ("jax.grad(lambda t, u: F(t, u).sum(), argnums=(0, 1))(x, v)", "jax::grad<0, 1>([f](Array t, Array u) { return jnp::sum(f(t, u)); })(x, v)"),
    ("jax.grad(lambda t: F(t, 2.).sum())(x)", "jax::grad([f](Array t) { return jnp::sum(f(t, 2.)); })(x)"),
    ("jax.grad(lambda t: F(2., t).sum())(x)", "jax::grad([f](Array t) { return jnp::sum(f(2., t)); })(x)"),
    ("jax.vmap(F, in_axes=(0, None))(x, v)", "jax::vmap([f](Array t, Array u) { return f(t, u); }, {.in_axes = {0, none}})(x, v)"),
    ("jax.vmap(F, in_axes=(None, 1))(v[:3], x)",
     "jax::vmap([f](Array t, Array u) { return f(t, u); }, {.in_axes = {none, 1}})(v[{slice(3)}], x)"),
]
# JAX has none any more; complex numbers there; an eager custom_jvp loses the weak type.
KNOWN = re.compile(r"jnp\.fix\b|(logaddexp|softplus|mish|log_sigmoid|sparse_sigmoid|arctan2)\(lax\.complex|logit\(n \* 1\.|xlog1py\(t, 2\.")


def in_cpp(python):
    text = python.replace("jnp.", "jnp::").replace("lax.", "lax::").replace("True", "true")
    return text.replace("n[:1]", "n[{slice(1)}]").replace("b[0, 0]", "b[{0, 0}]")


def functions(parameters):
    for module, python in MODULES.items():
        files = [f"{module}.h"] + ["products.h", "curves.h"] * (module == "numpy")
        for line in "".join((ROOT / "include" / "jaxscope" / f).read_text() for f in files).splitlines():
            cpp = f"jaxscope::jax::{module}::"
            if found := re.match(r"Array (\w+)\((.*)\);", line):
                if re.sub(r", (const ProductOptions&|Precision) \w+ = {}", "", found[2]) == parameters:
                    yield f"{python}.{found[1]}", called(cpp + found[1], parameters) if "= {}" in found[2] else cpp + found[1]
            elif found := re.match(r"inline constexpr (?!None|Mgrid|Ogrid)[A-Z]\w+ (\w+){};", line):  # callables, of two operands
                if parameters.count("Operand") == 2:
                    yield f"{python}.{found[1]}", called(cpp + found[1], parameters)


def called(cpp, parameters):
    names = ", ".join(re.findall(r"& (\w+)", parameters))
    return f"[]({parameters}) {{ return {cpp}({names}); }}"


def cpp_text():
    """Functions as pointers, so that one lambda serves them all."""
    tables = ["#include \"pairs.h\"", "#include <functional>", "#include <iostream>", "using jax::Operand;", "int main(int, char** argv) {",
              "const std::size_t share = std::stoul(argv[1]);", "std::size_t all = 0;",
              "const auto asked = [&](const std::string& name) { return ++all, std::hash<std::string>()(argv[2] + name) % share == 0; };"]
    loops = []
    operands = "".join(f", [[maybe_unused]] Array {n}" for n in "xyvwibkn")[2:]
    for kind, parameters, calls in (("ones", "const Operand&", [(p,) for p in ONE]), ("twos", "const Operand&, const Operand&", TWO)):
        names = "const Operand& x" if kind == "ones" else "const Operand& x, const Operand& y"
        rows = ", ".join(f'{{"{python}", {cpp}}}' for python, cpp in functions(names))
        tables.append(f"const std::pair<const char*, Array (*)({parameters})> {kind}[] = {{{rows}}};")
        for call in calls:
            loops.append(loop(kind, f'std::string(python) + "({", ".join(call)})"', operands, f"f({', '.join(map(in_cpp, call))})"))
        for python, cpp in UNDER_ONE if kind == "ones" else UNDER_TWO:
            before, after = python.split("F")
            loops.append(loop(kind, f'"{before}" + std::string(python) + "{after}"', operands, cpp))
    return "\n".join(tables + loops + ['std::cerr << all << "\\n";', "}"])


def loop(kind, name, operands, call):
    return (f"for (const auto& [python, f] : {kind}) if (const std::string name = {name}; asked(name)) "
            f"pairs::pair(name.c_str(), [f = f]({operands}) {{ return {call}; }});")


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    source, program = folder / "types.cpp", folder / "types"
    source.write_text(cpp_text())
    done = subprocess.run(["g++", "-std=c++20", "-O0", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'trace' / 'pairs'}", source, "-o", program,
                           BUILD / "libjaxscope.so", f"-Wl,-rpath,{BUILD}"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[:3000]
    ran = subprocess.run([program, str(SHARE), str(seed_of_sample())], capture_output=True, text=True, check=True, timeout=600)
    found = dict(part.split("\n", 1) for part in ran.stdout.split("== ")[1:])
    assert int(ran.stderr) > 3600 and len(found) > 2400 / SHARE
    return found


def difference(python, found):
    text = "\n".join(s for s in found.splitlines() if not s.startswith(("-- ", "!! ")))
    values = [s for s in found.splitlines() if s.startswith(("-- ", "!! "))]
    refused = any(s.startswith("!! ") for s in values)
    f = evaluate(python)
    try:
        want = str(jax.make_jaxpr(f)(*arguments()))
    except Exception as e:  # noqa: BLE001  (whatever JAX raises)
        return None if refused else f"JAX refuses: {e}"
    if refused:
        return f"JAX takes it: {found}"
    if same_text(want) != same_text(text):
        return f"--- JAX\n{want}\n--- C++\n{text}"
    return same_numbers(f(*arguments()), values)


def test_operands_of_every_type_under_every_transformation(cases):
    asked = [python for python in cases if not KNOWN.search(python)]
    wrong = {python: problem for python in asked if (problem := difference(python, cases[python]))}
    assert not wrong, (f"JAXSCOPE_SAMPLE={seed_of_sample()}: {len(wrong)} of {len(asked)}:\n" +
                       "\n".join(f"{p}: {w}" for p, w in list(wrong.items())[:5]))
