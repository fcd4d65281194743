"""What `cmake --install` puts somewhere works from there: the command line, its data, and the library that others link."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import BINARY, ROOT

BUILD = Path(BINARY).resolve().parent
EXAMPLE = ROOT / "samples" / "cpp" / "package"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> Path:
    """An installed tree that was moved since, on a machine without the sources as far as it knows."""
    made = tmp_path_factory.mktemp("made") / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", made], check=True, capture_output=True, timeout=120)
    moved = tmp_path_factory.mktemp("moved") / "elsewhere"
    shutil.move(made, moved)
    return moved


def run(command, **kwargs) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if k not in ("JAXSCOPE_DATA", "PYTHONPATH")}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, **kwargs)


def test_the_command_line_finds_what_it_brought_along(prefix, tmp_path):
    listed = run([prefix / "bin" / "jaxscope", "samples", "--json"])
    samples = {s["name"]: s for s in json.loads(listed.stdout)["samples"]}
    assert {"mlp", "transformer_lm", "mlp_adam"} <= set(samples)
    for s in samples.values():
        assert s["capture"].startswith(str(prefix)) and s["source"].startswith(str(prefix)) and Path(s["source"]).exists()
    program = tmp_path / "program.py"
    program.write_text("import jax.numpy as jnp\ndef program():\n    return dict(fn=lambda x: jnp.sin(x).sum(), args=(jnp.ones(3),))\n")
    done = run([prefix / "bin" / "jaxscope", "capture", f"{program}:program", "-o", tmp_path / "out.jaxscope", "--python",
                ROOT / ".venv" / "bin" / "python"])
    assert done.returncode == 0, done.stderr


def test_packages_share_no_file(tmp_path):
    """dpkg refuses a package that holds another one's file."""
    owner = {}
    for component in ("cli", "gui", "dev"):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", tmp_path / component, "--component", component], check=True, capture_output=True, timeout=120)
        for path in (tmp_path / component).rglob("*"):
            if not path.is_dir():
                name = path.relative_to(tmp_path / component)
                assert name not in owner, f"{name}: in {owner[name]} and {component}"
                owner[name] = component
    assert Path("share/jaxscope/resources/syntax/jaxpr.xml") in owner and len(set(owner.values())) >= 2


def test_no_path_of_this_machine_is_inside(prefix):
    """A folder of the build tree that is compiled in is one that others may fill with code."""
    library = next(prefix.glob("lib*/**/libjaxscope.so"))
    for program in [prefix / "bin" / name for name in ("jaxscope", "jaxscope-gui", "jaxscope-layout")] + [library]:
        text = program.read_bytes()
        assert [found for found in re.findall(rb"[^\0]*%s/[^\0]*" % re.escape(bytes(ROOT)), text)] == []
        assert not re.search(rb"R(UN)?PATH", subprocess.run(["readelf", "-d", program], capture_output=True).stdout)


def test_a_program_that_links_the_library(prefix, tmp_path):
    build = tmp_path / "build"
    made = run(["cmake", "-S", EXAMPLE, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"])
    assert made.returncode == 0, made.stderr
    built = run(["cmake", "--build", build])
    assert built.returncode == 0, built.stdout + built.stderr
    ran = run([build / "train"], cwd=tmp_path)
    assert ran.returncode == 0 and len(ran.stdout.strip("[]\n").split()) == 4, ran.stderr
    kept = run([prefix / "bin" / "jaxscope", "residuals", "train.jaxscope", "--json"], cwd=tmp_path)
    assert kept.returncode == 0, kept.stderr
    assert any(str(EXAMPLE / "train.cpp") in json.dumps(row) for row in json.loads(kept.stdout)["residuals"])


def test_the_library_shows_the_front_end_alone(prefix):
    library = next(prefix.glob("lib*/**/libjaxscope.so"))
    names = subprocess.run(["nm", "-DC", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    shown = [line for line in names.splitlines() if line.split()[1].isupper()]  # ld keeps a few local ones
    others = [line for line in shown if not re.search(r"jaxscope::(jax::|Error|error_info)", line)]
    assert len(shown) > 100
    assert not others, others[:10]


def test_the_readme_shows_this_example():
    readme = (ROOT / "README.md").read_text()
    for file in EXAMPLE.iterdir():
        assert file.read_text() in readme, f"README.md shows another {file.name}"
