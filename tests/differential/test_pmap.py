"""pmap and filter_pmap of the C++ front end against JAX and Equinox on eight forced host devices: values, jaxprs, what is donated, refusals
(tests/devices/pmap_driver.cpp and pmap_cases.py hold the same cases)."""
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from nested_programs import renamed
from renaming import without_meshes

DRIVER = pathlib.Path(os.environ.get("JAXSCOPE", "")).parent / "tests" / "pmap_driver"
WARNING = "Some donated buffers were not usable"


def cases(text):
    out = {}
    for block in text.split("\n==\n")[:-1]:
        name, _, body = block.partition("\n")
        out[name] = body.strip("\n")
    return out


@pytest.fixture(scope="module")
def both():
    here = pathlib.Path(__file__).parent
    jax = subprocess.run([sys.executable, str(here / "pmap_cases.py")], capture_output=True, text=True, timeout=300, env=dict(os.environ, JAX_PLATFORMS="cpu"))
    assert jax.returncode == 0, jax.stderr[-3000:]
    ours = subprocess.run([DRIVER], capture_output=True, text=True, timeout=300)
    assert ours.returncode == 0, ours.stderr[-3000:]
    assert list(cases(ours.stdout)) == list(cases(jax.stdout))
    return cases(ours.stdout), cases(jax.stdout), ours.stderr


def numbers(text):
    rows = []
    for line in text.split("\n"):
        m = re.match(r"(\w+) (\([^)]*\)) ?(.*)$", line)
        rows.append((m[1], m[2], np.array(m[3].split(), float)) if m else line)
    return rows


def same_values(ours, theirs):
    a, b = numbers(ours), numbers(theirs)
    return len(a) == len(b) and all(x == y if isinstance(x, str) or isinstance(y, str) else x[:2] == y[:2] and np.allclose(x[2], y[2], rtol=2e-5, atol=2e-6, equal_nan=True)
                                    for x, y in zip(a, b))


def in_our_words(text):
    """What C++ calls otherwise: arguments that nobody named."""
    return re.sub(r"argument _dynamic\[1\]\[(\d)\]", r"args[\1]", text)


def test_values_texts_and_donations_are_jaxs(both):
    ours, theirs, _ = both
    wrong = []
    for name, want in theirs.items():
        want, _, _ = want.partition("\nwarning ")
        got = ours[name]
        good = (renamed(without_meshes(got)) == renamed(without_meshes(want)) if name.startswith("jaxpr") else same_values(got, want) if re.match(r"\w+ \(", want) else got == in_our_words(want))
        if not good:
            wrong.append(f"{name}:\n{got}\n  JAX:\n{want}")
    assert not wrong, f"{len(wrong)} of {len(theirs)}\n" + "\n".join(wrong)


def test_jax_warns_where_we_do(both):
    ours, theirs, stderr = both
    assert stderr.count(WARNING) == sum(WARNING in want for want in theirs.values()) > 0
