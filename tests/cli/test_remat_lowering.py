"""F-35: `--remat-lowering` puts recomputation into a loop or branch; numbers stay."""
import json
import subprocess

import numpy as np
import pytest

from conftest import BINARY

FILE = """{ lambda ; a:f32[8] b:f32[8]. let
    c:f32[8] = sin a
    d:f32[8] = remat2[
      differentiated=True
      jaxpr={ lambda ; e:f32[8] f:f32[8]. let
          g:f32[8] = sin e
          h:f32[8] = cos g
          i:f32[8] = mul f h
        in (i,) }
      policy=None
      prevent_cse=%s
    ] a b
  in (c, d) }"""

def ask(*args):
    done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)

@pytest.mark.parametrize("form", ["while", "cond"])
def test_numbers_stay_and_the_body_runs_inside(tmp_path, form):
    program = tmp_path / "p.jaxpr"
    program.write_text(FILE % "True")
    results = {}
    for lowering in ("barrier", form):
        out = tmp_path / f"{lowering}.npz"
        profile = ask("run", program, "--remat-lowering", lowering, "--profile", "--json", "--outputs", out)
        results[lowering] = np.load(out)
        steps = json.dumps(profile)
        assert (f'"{form}"' in steps) == (lowering == form), steps
        assert ('"rng_uniform"' in steps) == (lowering == form), "the number isn't drawn when it runs"
    for name in results["barrier"].files:
        assert np.array_equal(results["barrier"][name], results[form][name])

def test_without_prevent_cse_nothing_changes(tmp_path):
    program = tmp_path / "p.jaxpr"
    program.write_text(FILE % "False")
    plans = [ask("plan", program, "--json", "--remat-lowering", form)["memory"] for form in ("barrier", "cond")]
    assert plans[0] == plans[1]

def test_another_word_is_refused(tmp_path):
    program = tmp_path / "p.jaxpr"
    program.write_text(FILE % "True")
    done = subprocess.run([BINARY, "plan", program, "--remat-lowering", "loop"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "expected barrier, while or cond" in done.stderr
