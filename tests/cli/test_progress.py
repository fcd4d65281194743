"""Work that takes more than a second says on a terminal how far it is, in one line that is taken away; nowhere else."""
import os
import pty
import re
import select
import subprocess
import time

import pytest

from conftest import BINARY

LONG = ["run", "sample:transformer_lm", "--repeat", "100000", "--threads", "1", "--timeout", "8"]


def on_terminal(*words, env=(), out=False) -> str:
    """What stands on a terminal of 80 columns that is standard error (and output, if `out`)."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", **dict(env)}
    process = subprocess.Popen([BINARY, *words], stdin=subprocess.DEVNULL, stdout=slave if out else subprocess.DEVNULL, stderr=slave, env=environment)
    os.close(slave)
    text, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.1)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            text += os.read(master, 65536)
        except OSError:  # the other side is closed
            break
    process.wait(30)
    os.close(master)
    return text.decode()


def test_a_line_that_goes_away():
    text = on_terminal(*LONG)
    drawn = [line for line in re.findall(r"\r\x1b\[K([^\r\x1b\n]+)", text) if not line.startswith("jaxscope:")]
    assert all(re.fullmatch(r"(run: [a-z ]+|\[=*> *\] \d+ of 100000 run), \d+ s", line) and len(line) < 80 for line in drawn), drawn[:3]
    drawn = [line for line in drawn if " of " in line]
    assert len(drawn) > 5
    numbers = [int(re.search(r"(\d+) of", line)[1]) for line in drawn]
    assert numbers == sorted(numbers) and numbers[-1] > numbers[0]
    behind = text[text.rindex("\r\x1b[K"):]
    assert behind.startswith("\r\x1b[K") and "expected the run to end within 8 s" in behind and " of 100000" not in behind


@pytest.mark.parametrize("words, env", [(["--quiet", *LONG], ()), (LONG, {"TERM": "dumb"}), (["inspect", "sample:mlp"], ())])
def test_none_where_it_is_not_wanted(words, env):
    assert "\x1b[K" not in on_terminal(*words, env=env)


def test_no_trace_in_pipes(cli):
    done = cli.raw(*LONG)
    assert done.returncode == 3 and "\r" not in done.stderr and " of 100000" not in done.stderr


def test_items_are_named():
    text = on_terminal("policies", "sample:transformer_lm", "--threads", "1")
    assert re.search(r"\[=*> *\] \d+ of (\d+) \S.*, \d+ s", text), text[-400:]
