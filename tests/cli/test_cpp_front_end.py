"""The bundled C++ program trains, and its capture is one like any other."""
import json
import pathlib
import subprocess

import pytest

from conftest import BINARY, ROOT

SAMPLE = pathlib.Path(BINARY).parent / "samples" / "cpp" / "sample_mlp_adam"


def ask(command, capture, *args):
    done = subprocess.run([BINARY, command, capture, "--json", *args], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_mlp_with_adam(tmp_path):
    capture = tmp_path / "mlp_adam.jaxscope"
    done = subprocess.run([SAMPLE, capture], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    losses = [float(line.split()[1]) for line in lines[:10]]
    assert losses[-1] < 0.2 * losses[0]
    assert sum("memory taken by output" in line for line in lines) == 13
    assert "f32[256,128] named 'hidden' from" in done.stdout

    named = [row for row in ask("residuals", capture)["residuals"] if row["source"].startswith("named 'hidden'")]
    assert [row["bytes"] for row in named] == [256 * 128 * 4]
    assert all(row["used"] for row in ask("donation", capture)["donated"])
    kept = {row["policy"]: row["residual_bytes"] for row in ask("policies", capture, "--no-run")["policies"]}
    assert kept["nothing_saveable"] < kept["dots_saveable"] < kept["everything_saveable"]

    bundled, made = (subprocess.run([BINARY, "print", "--source", file], capture_output=True, text=True).stdout for file in ("sample:mlp_adam", capture))
    assert bundled == made, "samples/captures/mlp_adam.jaxscope is of another day: run the sample again with that file as its argument"


def test_filter_jit_donates_in_the_capture_as_in_the_run(tmp_path):
    capture = tmp_path / "filter_jit.jaxscope"
    done = subprocess.run([SAMPLE.parent / "sample_filter_jit", capture], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    reused = [line.split()[0] for line in done.stdout.splitlines() if "memory taken by" in line]
    donated = ask("donation", capture)["donated"]
    assert [row["path"] for row in donated] == reused and all(row["used"] for row in donated) and len(reused) == 7
    assert ask("residuals", capture)["total_bytes"] > 0


def test_the_library_exports_what_its_headers_declare():
    """Functions beside those in jaxscope::jax: `catch (const std::exception& e) { jaxscope::error_info(e) }`."""
    names = subprocess.run(["nm", "-DC", "--defined-only", pathlib.Path(BINARY).parent / "libjaxscope.so"], capture_output=True, text=True, check=True).stdout
    for name in ("jaxscope::error_info(std::exception const&)", "jaxscope::jax::detail::save_capture", "jaxscope::jax::random::normal"):
        assert name in names, name


CATCHES = """
#include <jaxscope/jax.h>
#include <iostream>
namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
int main() {
    // The order in which arguments are computed is the compiler's.
    std::cout << jax::filter_eval_shape([](jax::Array x, int n) { return std::pair(x * n, n); }, jnp::ones(3), 2).first.shape().size() << '\\n';
    try {
        std::cout << jnp::ones({3}) + jnp::ones({4});
    } catch (const jaxscope::Error& e) {
        std::cout << e.fact() << " | " << e.loc.line << " | " << (e.code == jaxscope::ErrorCode::TypeMismatch) << '\\n';
    }
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_errors_are_caught_by_their_type_across_the_library(tmp_path, compiler):
    (tmp_path / "catches.cpp").write_text(CATCHES)
    build = pathlib.Path(BINARY).parent
    made = subprocess.run([compiler, "-std=c++20", f"-I{ROOT / 'include'}", tmp_path / "catches.cpp", "-o", tmp_path / "catches", build / "libjaxscope.so",
                           f"-Wl,-rpath,{build}"], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    done = subprocess.run([tmp_path / "catches"], capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\nadd got incompatible shapes for broadcasting: (3,), (4,). | 10 | 1\n"
