"""The public headers: each compiles alone, includes nothing of core nor the heavy ones of the standard library, and says in our words what
is wrong with a type, first of all that a compiler says."""
import subprocess

import pytest

from conftest import ROOT

INCLUDE = ROOT / "include"
HEADERS = sorted(p.name for p in (INCLUDE / "jaxscope").glob("*.h"))
WRONG = sorted((ROOT / "tests" / "headers").glob("fail_*.cpp"))
COMPILERS = ["g++", "clang++-14"]


def compiled(compiler, *args, input=None):
    return subprocess.run([compiler, "-std=c++20", f"-I{INCLUDE}", *args], capture_output=True, text=True, timeout=120, input=input)


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_stands_alone_and_is_light(header):
    done = compiled("g++", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-H", "-x", "c++", "-", input=f"#include <jaxscope/{header}>\n")
    assert done.returncode == 0, done.stderr
    read = [line.split()[-1] for line in done.stderr.splitlines() if line.startswith(".")]
    assert not [f for f in read if str(ROOT) in f and not f.startswith(str(INCLUDE))], "something of core"
    direct = {line.split()[1].strip("<>") for line in (INCLUDE / "jaxscope" / header).read_text().splitlines() if line.startswith("#include")}
    assert not direct & {"functional", "memory", "ostream", "iostream", "map", "unordered_map", "algorithm"}, direct


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("source", WRONG, ids=lambda p: p.stem)
def test_a_wrong_type_is_told_in_our_words_first(source, compiler):
    expected = source.read_text().splitlines()[0].removeprefix("// EXPECT: ")
    done = compiled(compiler, "-fsyntax-only", str(source))
    assert done.returncode != 0
    first = next(line for line in done.stderr.splitlines() if " error: " in line)
    assert expected in first, done.stderr
    assert len(done.stderr.splitlines()) <= 10, done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_name_that_axes_have_not_is_refused(compiler):
    """g++ 12 takes `{.axs = 1}` for a list of numbers where a constructor takes one."""
    text = "#include <jaxscope/jax.h>\nauto f(jaxscope::jax::Array x) { return jaxscope::jax::nn::softmax(x, %s); }\n"
    done = compiled(compiler, "-fsyntax-only", "-x", "c++", "-", input=text % "{.axs = 1}")
    assert done.returncode != 0 and "Axes" in done.stderr, done.stderr
    done = compiled(compiler, "-fsyntax-only", "-x", "c++", "-", input=text % "{0, 1}")
    assert done.returncode == 0, done.stderr
