"""What JAX prints has no parameter that planning refuses as unknown: every primitive's golden program, which JAX wrote."""
import pathlib
import subprocess

import pytest

from conftest import BINARY

GOLDEN = sorted((pathlib.Path(__file__).parents[1] / "golden" / "primitives").glob("*.jaxpr"))


@pytest.mark.parametrize("part", range(4))
def test_parameters_of_golden_programs(tmp_path, part):
    files = GOLDEN[part::4]
    assert len(files) > 30
    for path in files:
        program = tmp_path / path.name
        program.write_text(path.read_text().split("# RUN")[0])
        said = subprocess.run([BINARY, "plan", program], capture_output=True, text=True, timeout=60).stderr
        assert "that jaxscope knows" not in said, f"{path.name}: {said}"


def test_another_parameter_is_refused(tmp_path):
    text = (GOLDEN[0].parent / "debug_print.jaxpr").read_text()
    assert "debug_print[" in text  # among the programs above
    path = tmp_path / "f.jaxpr"
    path.write_text("{ lambda ; a:f32[3]. let b:f32[3] = sin[accuracy=None frobnicate=1] a in (b,) }")
    done = subprocess.run([BINARY, "plan", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "parameters of sin that jaxscope knows, found 'frobnicate'" in done.stderr
