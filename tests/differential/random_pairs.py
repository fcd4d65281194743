"""Random programs, each written in Python and in C++ by one generator: straight lines of operations over arrays, with checkpointed, jitted,
mapped, scanned and branching blocks that close over what stands before them."""
import random

CPP_HEAD = """#include "pairs.h"
using namespace pairs;
int main() {
"""
UNARY = ["sin", "cos", "tanh", "square", "abs", "arctan", "log1p(abs)"]


class Program:
    """Statements of one function of x: f32[3,4], y: f32[3,4] and v: f32[4]; its result is a scalar."""

    def __init__(self, rng, outer=None, arguments=None):
        self.rng, self.count = rng, [0] if outer is None else outer.count
        self.values = arguments or [("x", (3, 4)), ("y", (3, 4)), ("v", (4,))]
        self.python, self.cpp = [], []

    def pick(self, shape=None):
        """The later a value was made, the likelier it is used; None where none has that shape."""
        fit = [v for v in self.values if shape is None or v[1] == shape]
        if not fit:
            return None
        return fit[max(self.rng.randrange(len(fit)), self.rng.randrange(len(fit)))]

    def let(self, python, cpp, shape):
        name = f"t{self.count[0]}"
        self.count[0] += 1
        self.python.append(f"{name} = {python}")
        self.cpp.append(f"Array {name} = {cpp};")
        self.values.append((name, shape))

    def step(self, depth):
        kinds = [self.unary, self.binary, self.binary, self.reduce, self.reshape, self.matmul, self.where, self.number]
        if depth:
            kinds += [self.block, self.scan, self.cond, self.mapped]
        self.rng.choice(kinds)()

    def unary(self):
        a, shape = self.pick()
        op = self.rng.choice(UNARY)
        if op == "log1p(abs)":
            self.let(f"jnp.log1p(jnp.abs({a}))", f"jnp::log1p(jnp::abs({a}))", shape)
        else:
            self.let(f"jnp.{op}({a})", f"jnp::{op}({a})", shape)

    def binary(self):
        a, shape = self.pick()
        b, other = self.pick(shape) if self.rng.random() < 0.7 else self.pick(())or self.pick(shape)
        op = self.rng.choice("+-*")
        self.let(f"{a} {op} {b}", f"{a} {op} {b}", shape or other)

    def number(self):
        a, shape = self.pick()
        c, op = self.rng.choice(["0.5", "2.0", "3", "1.25"]), self.rng.choice("+-*")
        self.let(f"{c} {op} {a}", f"{c} {op} {a}", shape)

    def where(self):
        """Against a number that nothing rounds to: beside another array, a last digit could choose the other side."""
        a, shape = self.pick()
        b, _ = self.pick(shape)
        self.let(f"jnp.where({a} > 0.371, {b}, 0.5)", f"jnp::where({a} > 0.371, {b}, 0.5)", shape)

    def reduce(self):
        a, shape = self.pick()
        if not shape:
            return self.unary()
        op, axis = self.rng.choice(["sum", "mean", "max"]), self.rng.randrange(len(shape))
        self.let(f"jnp.{op}({a}, axis={axis})", f"jnp::{op}({a}, {{.axis = {axis}}})", shape[:axis] + shape[axis + 1 :])

    def reshape(self):
        a, shape = self.pick()
        if len(shape) != 2:
            return self.unary()
        self.let(f"{a}.T", f"{a}.T()", shape[::-1])

    def matmul(self):
        a, shape = self.pick()
        if len(shape) != 2:
            return self.binary()
        b = self.pick((shape[1],)) or self.pick(shape[::-1])
        if not b:
            return self.reshape()
        self.let(f"jnp.matmul({a}, {b[0]})", f"jnp::matmul({a}, {b[0]})", shape[:1] + b[1][1:])

    def inner(self, parameter, shape, steps=3):
        """Statements of a lambda that may use everything before it; the result has the parameter's shape."""
        p = Program(self.rng, self, [*self.values, (parameter, shape)])
        p.let(f"jnp.sin({parameter})", f"jnp::sin({parameter})", shape)
        for _ in range(self.rng.randrange(1, steps)):
            p.step(0)
        last = p.pick(shape)[0]
        p.let(f"{last} * {parameter}", f"{last} * {parameter}", shape)
        return p

    def function(self, p, parameter):
        """The lambda in both languages; Python's as a chain of conditional expressions would be unreadable: it is a def."""
        name = f"f{self.count[0]}"
        self.count[0] += 1
        self.python += [f"def {name}({parameter}):", *("    " + s for s in p.python), f"    return {p.values[-1][0]}"]
        self.cpp.append(f"const auto {name} = [&](Array {parameter}) {{ {' '.join(p.cpp)} return {p.values[-1][0]}; }};")
        return name

    def block(self):
        a, shape = self.pick()
        f = self.function(self.inner("p", shape), "p")
        kind = self.rng.choice(["checkpoint", "dots", "jit"])
        if kind == "jit":
            self.let(f"jax.jit({f})({a})", f'jax::jit({f}, {{.name = "{f}"}})({a})', shape)
        elif kind == "dots":
            policy = "jax.checkpoint_policies.dots_saveable"
            self.let(f"jax.checkpoint({f}, policy={policy})({a})",
                     f"jax::checkpoint({f}, {{.policy = jax::policies::dots_saveable}})({a})", shape)
        else:
            self.let(f"jax.checkpoint({f})({a})", f"jax::checkpoint({f})({a})", shape)

    def scan(self):
        a, shape = self.pick()
        f = self.function(self.inner("c", shape), "c")
        n = self.rng.randrange(1, 4)
        self.let(f"lax.scan(lambda c, _: ({f}(c), None), {a}, None, length={n})[0]",
                 f"lax::scan([&](Array c, lax::Nothing) {{ return std::pair({f}(c), lax::Nothing{{}}); }}, {a}, lax::Nothing{{}}, "
                 f"{{.length = {n}}}).first", shape)

    def cond(self):
        a, shape = self.pick()
        f, g = (self.function(self.inner("q", shape), "q") for _ in range(2))
        self.let(f"lax.cond(jnp.sum({a}) > 0.1, {f}, {g}, {a})", f"lax::cond(jnp::sum({a}) > 0.1, {f}, {g}, {a})", shape)

    def mapped(self):
        a, shape = self.pick()
        if len(shape) != 2:
            return self.block()
        f = self.function(self.inner("r", shape[1:]), "r")
        # What the inner function gives has the parameter's shape for each row.
        self.let(f"jax.vmap({f})({a})", f"jax::vmap({f})({a})", shape)


def program(seed):
    """Lines of Python and of C++: the body of a function of x, y and v."""
    rng = random.Random(seed)
    p = Program(rng)
    for _ in range(rng.randrange(4, 10)):
        p.step(1)
    last = [name for name, _ in p.values[-3:]]
    p.python += [*(f"s{k} = jnp.sum({n})" for k, n in enumerate(last)), "return " + " + ".join(f"s{k}" for k in range(len(last)))]
    p.cpp += [*(f"Array s{k} = jnp::sum({n});" for k, n in enumerate(last)), "return " + " + ".join(f"s{k}" for k in range(len(last))) + ";"]
    return p.python, p.cpp


def python_text(seeds):
    out = ["import jax", "import jax.numpy as jnp", "from jax import lax", ""]
    for s in seeds:
        out += [f"def program_{s}(x, y, v):", *("    " + line for line in program(s)[0]), ""]
    return "\n".join(out)


def cpp_text(seeds):
    out = [CPP_HEAD]
    for s in seeds:
        body = "\n        ".join(program(s)[1])
        out.append(f"""    {{
        const auto f = [](Array x, Array y, Array v) {{
        {body}
        }};
        pair("program_{s}", [&](Array x, Array y, Array v, Array, Array, Array, Array, Array) {{ return f(x, y, v); }});
        pair("jax.grad(program_{s})", [&](Array x, Array y, Array v, Array, Array, Array, Array, Array) {{ return jax::grad(f)(x, y, v); }});
    }}
""")
    return "".join(out) + "}\n"
