"""SIGKILL at random moments while files are written: each is then the one that was there, or the new one, whole."""
import json
import os
import random
import signal
import subprocess
import time

import pytest
from seed import seed_of_sample

from conftest import BINARY

pytestmark = pytest.mark.alone
MOMENTS = 200 if os.environ.get("JAXSCOPE_FULL") else 16
SEED = seed_of_sample()
BIG = "sample:transformer_lm"
OLD = "what was there before\n"


def whole_html(text):
    return text.rstrip().endswith("</html>")


def whole_svg(text):
    return text.rstrip().endswith("</svg>")


def whole_json(text):
    try:
        return bool(json.loads(text))
    except ValueError:
        return False


COMMANDS = {
    "transform": (["transform", "sample:llama_7b_unrolled", "-o", "a.jaxscope", "--uncompressed"], {"a.jaxscope": whole_json}),
    "html": (["export", BIG, "-o", "a.html"], {"a.html": whole_html}),
    "svg": (["export", BIG, "-o", "a.svg"], {"a.svg": whole_svg}),
    "report": (["report", BIG, "--no-run", "-d", "."], {"report.json": whole_json, "report.html": whole_html}),
}


@pytest.fixture(scope="module")
def lengths(tmp_path_factory):
    """How long each takes here: moments are drawn from that, most of them from its end, where files are put in place."""
    found = {}
    for name, (words, files) in COMMANDS.items():
        folder = tmp_path_factory.mktemp("whole")
        begin = time.monotonic()
        subprocess.run([BINARY, *words], cwd=folder, check=True, capture_output=True, timeout=120)
        found[name] = time.monotonic() - begin
        assert all(whole((folder / f).read_text()) for f, whole in files.items())
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_never_half_a_file(tmp_path, lengths, name):
    words, files = COMMANDS[name]
    rng = random.Random(f"{SEED} {name}")
    wanted, length, killed = MOMENTS // len(COMMANDS), lengths[name], 0
    for moment in range(6 * wanted):
        for f in files:
            (tmp_path / f).write_text(OLD)
        process = subprocess.Popen([BINARY, *words], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        at = length * (1 - rng.random() ** 2)
        time.sleep(at)
        if process.poll() is None:
            killed += 1
        else:
            length *= 0.9  # it had ended: faster than the first time
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        for f, whole in files.items():
            text = (tmp_path / f).read_text()
            assert text == OLD or whole(text), f"JAXSCOPE_SAMPLE={SEED}, moment {moment}: killed after {at:.3f} s, {f} is half"
        for left in set(tmp_path.iterdir()) - {tmp_path / f for f in files}:
            # A name is there for the instant in which whole files change places.
            assert any(whole(left.read_text()) for whole in (whole_html, whole_svg, whole_json)), f"JAXSCOPE_SAMPLE={SEED}, moment {moment}: {left.name} was left behind"
            left.unlink()
        if killed == wanted:
            break
    assert killed > 0
