"""Programs that one generator writes in Python and in C++: the same jaxpr, the same gradients. 25 by a printed seed, 500 with JAXSCOPE_FULL=1."""
import os
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest

import random_pairs
from conftest import ROOT, jaxscope_binary
from renaming import up_to_names
from seed import seed_of_sample
from test_front_end import arguments, same_numbers

BUILD = Path(jaxscope_binary()).parent
LIBRARY = BUILD / "libjaxscope.so"
FULL = bool(os.environ.get("JAXSCOPE_FULL"))
SEED = seed_of_sample() % 1000000
NUDGES = (1.2e-7, -1.2e-7, 2.4e-7, -2.4e-7)  # of float32: its last digit
FILES = 20 if FULL else 1


def built(seeds, folder: Path) -> str:
    source, program = folder / "programs.cpp", folder / "programs"
    source.write_text(random_pairs.cpp_text(seeds))
    done = subprocess.run(["g++", "-std=c++20", "-O0", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'trace' / 'pairs'}", source, "-o", program,
                           LIBRARY, f"-Wl,-rpath,{BUILD}"], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[:3000]
    return subprocess.run([program], capture_output=True, text=True, check=True, timeout=600).stdout


@pytest.mark.parametrize("file", range(FILES))
def test_both_languages_trace_alike(file, tmp_path):
    assert LIBRARY.exists(), "build the target jaxscope_shared"
    seeds = [SEED * 1000 + 25 * file + i for i in range(25)]
    names = {}
    exec(random_pairs.python_text(seeds), names)  # noqa: S102
    x, y, v, *_ = arguments()
    wrong, seen = [], 0
    for part in built(seeds, tmp_path).split("== ")[1:]:
        python, _, rest = part.partition("\n")
        lines = rest.splitlines()
        text = "\n".join(s for s in lines if not s.startswith(("-- ", "!! ")))
        values = [s for s in lines if s.startswith(("-- ", "!! "))]
        f = eval(python, names)  # noqa: S307
        args = (x, y, v, *arguments()[3:])
        want = str(jax.make_jaxpr(lambda x, y, v, *_: f(x, y, v))(*args))
        seen += 1
        if up_to_names(want) != up_to_names(text):
            wrong.append(f"{python}\n--- JAX\n{want}\n--- C++\n{text}\n{values[:1]}")
        elif same_numbers(f(x, y, v), values) and (problem := same_numbers(f(x, y, v), values, [f(*(a * np.float32(1 + e) for a in (x, y, v))) for e in NUDGES])):
            wrong.append(f"{python}: {problem}")
    assert seen == 50
    assert not wrong, f"JAXSCOPE_SEED={SEED}: {len(wrong)} of {seen}:\n" + "\n".join(wrong[:3])


def test_texts_that_differ_are_told_apart():
    text = "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = sub a b d:f32[3] = sub c a in (d,) }"
    assert up_to_names(text) == up_to_names(text.replace("c", "q").replace("d:", "_:").replace("(d,)", "(_,)"))
    for other in ("sub b a", "sub a a", "add a b"):
        assert up_to_names(text) != up_to_names(text.replace("sub a b", other))
