"""Files are whole or as they were; pipes, signals and limits end the process as they should."""
import gzip
import os
import signal
import subprocess
import time

import pytest

from conftest import BINARY, ROOT

WRITERS = [
    ("export", ["export", "{file}", "-o", "{out}", "--format", "json"]),
    ("export svg", ["export", "{file}", "-o", "{out}", "--format", "svg"]),
    ("transform", ["transform", "{file}", "--apply", "jvp", "-o", "{out}"]),
    ("run", ["run", "{file}", "--outputs", "{out}"]),
]


def test_report_says_at_once_where_it_cannot_write(cli):
    for folder in ("x.jaxpr", "/proc/nowhere"):
        done = cli.raw("report", "x.jaxpr", "-d", folder)
        assert done.returncode == 2 and done.stdout == "" and "expected a place to write" in done.stderr, done.stderr


@pytest.mark.parametrize("name, words", WRITERS)
def test_what_fails_leaves_the_old_file(cli, name, words):
    (cli.folder / "bad.jaxpr").write_text("{ lambda ; a:f32[]. let b:f32[] = made_up a in (b,) }")
    (cli.folder / "out").write_text("old")
    before = sorted(os.listdir(cli.folder))
    done = cli.raw(*[w.format(file="bad.jaxpr", out="out") for w in words])
    if name == "export":  # a report says what could not be had
        assert done.returncode == 0
        return
    assert done.returncode == 3
    assert (cli.folder / "out").read_text() == "old" and sorted(os.listdir(cli.folder)) == before


@pytest.mark.parametrize("name, words", WRITERS)
def test_a_folder_that_is_not_there(cli, name, words):
    done = cli.raw(*[w.format(file="x.jaxpr", out="none/out") for w in words])
    assert done.returncode == 2 and "expected a place to write 'none/out" in done.stderr
    assert sorted(os.listdir(cli.folder)) == ["x.jaxpr"]


@pytest.mark.parametrize("delay", [0.02, 0.1, 0.3])
def test_killed_while_writing(cli, delay):
    """Whatever stands under the name is whole."""
    out = cli.folder / "out.json"
    out.write_text("old")
    p = subprocess.Popen([BINARY, "export", "sample:transformer_lm", "-o", str(out)], stderr=subprocess.DEVNULL)
    time.sleep(delay)
    p.kill()
    p.wait()
    text = out.read_text()
    assert text == "old" or text.endswith("}\n") or text.rstrip().endswith("}")


def test_report_writes_a_folder(cli):
    cli.ok("report", "x.jaxpr", "--no-run", "-d", "deep/er")
    assert sorted(os.listdir(cli.folder / "deep" / "er")) == ["report.html", "report.json", "split.svg"]


def test_what_gzip_packed_is_called_that(cli):
    (cli.folder / "x.jaxpr.gz").write_bytes(gzip.compress((cli.folder / "x.jaxpr").read_bytes()))
    done = cli.raw("inspect", "x.jaxpr.gz")
    assert done.returncode == 2 and "found a gzip archive" in done.stderr and "try: gunzip it first" in done.stderr


def test_a_report_of_what_has_no_split(cli):
    """Maxima over devices have no derivative, and programs that nobody differentiates have them."""
    (cli.folder / "odd.jaxpr").write_text("{ lambda ; a:f32[]. let b:f32[] = made_up a in (b,) }")
    done = cli.raw("report", "odd.jaxpr", "-d", "folder")
    assert done.returncode == 0 and "folder; no split.svg: " in done.stderr and "'made_up'" in done.stderr
    assert sorted(os.listdir(cli.folder / "folder")) == ["report.html", "report.json"]


def test_a_report_of_what_cannot_be_differentiated(cli):
    """JAX has no derivative of it, which is another kind of refusal; what the error says beside stands on lines of its own."""
    (cli.folder / "odd.jaxpr").write_text("""{ lambda ; a:f32[4] b:i32[2,1] c:f32[2]. let d:f32[4] = scatter-mul[dimension_numbers=ScatterDimensionNumbers(
      update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())
    indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False update_consts=() update_jaxpr=None] a b c in (d,) }""")
    done = cli.raw("report", "odd.jaxpr", "--no-run", "-d", "folder")
    assert done.returncode == 0 and "no split.svg" in done.stderr
    assert sorted(os.listdir(cli.folder / "folder")) == ["report.html", "report.json"]
    assert "  in linearizing eqn 0" in done.stdout and "\\x0a" not in done.stdout


def test_an_unreadable_file(cli):
    (cli.folder / "x.jaxpr").chmod(0)
    if os.access(cli.folder / "x.jaxpr", os.R_OK):
        pytest.skip("root reads everything")
    done = cli.raw("inspect", "x.jaxpr")
    assert done.returncode == 2 and "x.jaxpr" in done.stderr


def test_a_reader_that_stops_reading(cli):
    p = subprocess.Popen([BINARY, "print", "--source", "sample:transformer_lm"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.read(10)
    p.stdout.close()
    error = p.stderr.read()
    assert p.wait(timeout=20) in (-signal.SIGPIPE, 3) and b"bug" not in error and len(error) < 300


def test_a_full_disk(cli):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, "print", "sample:mlp"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "standard output" in done.stderr


@pytest.mark.alone
@pytest.mark.parametrize("args", [["run", "sample:transformer_lm", "--repeat", "100000"], ["policies", "sample:transformer_lm"]])
def test_ctrl_c(cli, args):
    p = subprocess.Popen([BINARY, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    time.sleep(1.0)
    begin = time.monotonic()
    p.send_signal(signal.SIGINT)
    _, error = p.communicate(timeout=20)
    assert p.returncode == 130, error
    assert time.monotonic() - begin < 5
    assert "bug" not in error


@pytest.mark.parametrize("args", [["inspect", "-"], ["transform", "-", "--apply", "grad", "-o", "out.jaxscope"]])
def test_ctrl_c_while_reading(cli, args):
    p = subprocess.Popen([BINARY, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cli.folder)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=5) == 130
    assert sorted(os.listdir(cli.folder)) == ["x.jaxpr"]


def test_ctrl_c_while_exporting_leaves_nothing(cli):
    p = subprocess.Popen([BINARY, "export", "sample:transformer_lm", "--run", "-o", "out.html"], stderr=subprocess.PIPE, cwd=cli.folder)
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    assert p.wait(timeout=20) == 130
    assert sorted(os.listdir(cli.folder)) == ["x.jaxpr"]


def test_four_gigabytes_of_address_space_are_enough(cli):
    for args in (["inspect", "sample:transformer_lm"], ["residuals", "sample:transformer_lm"], ["plan", "sample:transformer_lm"], ["run", "sample:mlp"],
                 ["export", "sample:mlp", "-o", "a.png"], ["export", "sample:transformer_lm", "-o", "a.html"]):
        done = subprocess.run(["bash", "-c", 'ulimit -v 4194304; exec "$@"', "bash", BINARY, *args], cwd=cli.folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr


def test_results_do_not_take_the_place_of_the_captures_own_arrays(cli):
    (cli.folder / "p.py").write_text("import numpy as np\ndef program():\n    return dict(fn=lambda x: x + 1, args=(np.arange(40000.0, dtype='float32'),))\n")
    cli.ok("capture", "p.py:program", "-o", "x.jaxscope", "--python", str(ROOT / ".venv" / "bin" / "python"))
    before = (cli.folder / "x.npz").read_bytes()
    done = cli.raw("run", "x.jaxscope", "--outputs", "x.npz")
    assert done.returncode == 2 and "which holds the capture's own arrays" in done.stderr
    assert (cli.folder / "x.npz").read_bytes() == before


NO_NAMELESS_FILES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>
#define OPEN(name)                                                                       \\
    int name(const char* path, int flags, ...) {                                         \\
        va_list rest;                                                                    \\
        va_start(rest, flags);                                                           \\
        const int mode = va_arg(rest, int);                                              \\
        va_end(rest);                                                                    \\
        if ((flags & O_TMPFILE) == O_TMPFILE) return errno = EOPNOTSUPP, -1;             \\
        return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \\
    }
OPEN(open)
OPEN(open64)
int mkstemp(char* name) {
    write(2, "mkstemp\\n", 8);
    return ((int (*)(char*))dlsym(RTLD_NEXT, "mkstemp"))(name);
}
"""


@pytest.fixture(scope="module")
def without_nameless(tmp_path_factory):
    """An environment whose file systems have no files without names, as NFS and older kernels."""
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(NO_NAMELESS_FILES)
    done = subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / "shim.so"), str(folder / "shim.c"), "-ldl"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(done.stderr)
    return dict(os.environ, LD_PRELOAD=str(folder / "shim.so"))


@pytest.mark.parametrize("name, words", WRITERS)
def test_where_there_are_no_files_without_names(cli, without_nameless, name, words):
    def run(file):
        command = [BINARY, *[w.format(file=file, out="out") for w in words]]
        return subprocess.run(["bash", "-c", "umask 027; exec \"$@\"", "bash", *command], cwd=cli.folder, env=without_nameless, capture_output=True, text=True)
    done = run("x.jaxpr")
    assert done.returncode == 0 and "mkstemp" in done.stderr, done.stderr
    assert (cli.folder / "out").read_bytes() and os.stat(cli.folder / "out").st_mode & 0o777 == 0o640
    assert sorted(os.listdir(cli.folder)) == ["out", "x.jaxpr"]
    (cli.folder / "bad.jaxpr").write_text("{ lambda ; a:f32[]. let b:f32[] = made_up a in (b,) }")
    run("bad.jaxpr")
    assert sorted(os.listdir(cli.folder)) == ["bad.jaxpr", "out", "x.jaxpr"]  # whether that could be written or not


@pytest.mark.parametrize("text", [b"\0" * 64, b'{"format": "jaxscope.capture"}\n\0', b'{"format": "jaxscope.cap\0ture"}'])
def test_zero_bytes_are_told_by_their_place(cli, text):
    (cli.folder / "a.jaxscope").write_bytes(text)
    done = cli.raw("inspect", "a.jaxscope")
    assert done.returncode == 2 and f"expected JSON, found a zero byte at byte {text.index(0) + 1}" in done.stderr, done.stderr
    (cli.folder / "budgets.json").write_bytes(b'{"defaults": {}}\n\0')
    done = cli.raw("check", "x.jaxpr", "--budgets", "budgets.json")
    assert done.returncode == 2 and "budgets.json: expected JSON, found a zero byte at byte 18" in done.stderr, done.stderr


def test_a_whole_document_with_a_zero_byte_behind_it(cli):
    cli.ok("transform", "x.jaxpr", "--apply", "jvp", "-o", "a.jaxscope", "--uncompressed")
    cli.ok("inspect", "a.jaxscope")
    with open(cli.folder / "a.jaxscope", "ab") as f:
        f.write(b"\0")
    done = cli.raw("inspect", "a.jaxscope")
    assert done.returncode == 2 and "found a zero byte at byte" in done.stderr, done.stderr
