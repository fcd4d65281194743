"""Hostile files through the command line: exit code 2 (3 where a program can't be followed), little time, little memory, short messages.

What each message says is in tests/io/hostile_test.cpp; here each case runs in a process of its own, whose peak memory is measured.
"""
import json
import os
import resource
import subprocess
import time
import zipfile

import numpy as np
import pytest

from conftest import jaxscope_binary

N = 100_000
ONE = "{ lambda ; a:f32[]. let %s in (a,) }"
CALL = "let f%d = { lambda ; a:f32[]. let b:f32[] = %s a; c:f32[] = %s b in (c,) } in\n"


def doubling(call: str, n: int = 60) -> str:
    """`n` jaxprs of which each calls the next twice by `call`, whose %s is the next one's name."""
    lets = "".join(CALL % (i, call % ((f"f{i + 1}",) * call.count("%s")), call % ((f"f{i + 1}",) * call.count("%s"))) for i in range(n))
    return lets + (f"let f{n} = {{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }} in\n"
                   "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=f0] a in (b,) }")


def capture(**tables) -> str:
    return json.dumps({"format": "jaxscope.capture", "version": 1, **tables})


def chain(n: int, calls, **changed) -> str:
    """A capture of `n` jaxprs; the i-th calls `calls(i)`."""
    jaxprs = [{"name": "f", "constvars": [], "invars": [0], "eqns": [[0, [0], [0], i, 0, 0]] if i else [], "outvars": [1 if i else 0]} for i in range(n)]
    return capture(**{"strings": ["jit"], "avals": [["float32", []]], "files": [], "frames": [], "tracebacks": [[]], "name_stacks": [""],
                      "sources": [[0, 0, "s"]], "contexts": [{}], "params": [{"name": "f", "jaxpr": {"closed_jaxpr": calls(i)}} for i in range(n)], "jaxprs": jaxprs,
                      "program": {"jaxpr": n - 1, "in_paths": ["x"], "out_paths": [""], "arg_of_input": [0], "arg_names": ["x"]}, **changed})


# What is right, if unusual, and must not cost more than its size allows.
BIG = {
    "equations on one line": ONE % "; ".join(f"v{i}:f32[] = sin a" for i in range(N)),
    "parameters": ONE % "; ".join(f"v{i}:f32[] = foo[x={i} y={i + 1}] a" for i in range(N)),
    "literals": ONE % "; ".join(f"v{i}:f32[] = mul a {i}.5:f32[]" for i in range(N)),
    "jaxprs": ONE % "; ".join(f"v{i}:f32[] = jit[name=f jaxpr={{ lambda ; c:f32[]. let  in (c,) }}] a" for i in range(N // 10)),
    "a long tuple": ONE % ("b:f32[] = foo[x=(" + "1," * 2_000_000 + ")] a"),
    "types": "{ lambda ; " + " ".join(f"v{i}:f32[{i}]" for i in range(N)) + ". let  in () }",
    "inputs": ONE % ("b:f32[] = foo " + "a " * 1_000_000),
    "a long line beside many short ones": "{ lambda ; a:f32[]. let\n" + f"b:f32[] = foo[x={'y' * 300_000}] a # f.py:1:1 (f)\n"
    + "\n".join(f"v{i}:f32[] = sin a # f.py:1:1 (f)" for i in range(20_000)) + "\n in (a,) }",
    "values that don't close": ONE % ("b:f32[] = foo[\n" + "\n".join(f"  p{i}=({i}" for i in range(N)) + "\n] a"),
    "quotes": ONE % ("b:f32[] = foo[x=(" + "'a', " * N + ")] a"),
    "comments": "# x\n" * 500_000 + ONE % "",
    "programs inside equations": "let x = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in\n"
    + ONE % "; ".join("b%d:f32[] = foo[jaxprs=_L(m={ lambda ; a:f32[]. let  in (a,) })] a" % i for i in range(20_000)),
    "deep calls": doubling("jit[name=f jaxpr=%s]", 250),
}
# What is wrong.
BAD = {
    "nothing": "", "no JSON": "hello", "nested lists": '{"x":' + "[" * 10_000 + "]" * 10_000 + "}",
    "truncated": ONE[:20], "invalid UTF-8": b"{ lambda ; a:f32[3]. let b:f32[3] = \xff\xfe a in (b,) }",
    "10,000 jaxprs deep": "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=" * 10_000 + ONE % "" + "] a in (b,) }" * 10_000,
    "brackets": ONE % ("b:f32[] = foo[x=" + "(" * N), "type": "{ lambda ; a:" + "[" * N,
    "lines that look like results": "{ lambda ; a:f32[]. let\n b:f32[] = foo\n" + "      a:f32[]\n" * N + " in (b,) }",
    "values that don't close": "{ lambda ; a:f32[]. let\n" + "\n".join(f" v{i}:f32[] = foo[\n  p=((\n  ] a" for i in range(20_000)) + "\n in (a,) }",
    "sources of a long traceback": capture(
        strings=["f"], files=[{"path": "x"}], frames=[[0, 1, 1, 1, 1, 0]], tracebacks=[[0] * 10_000], name_stacks=[""],
        sources=[[0, 0, f"s{i}"] for i in range(20_000)]),
    "a promise of much": capture(avals=[["float32", [10**12]]], arrays=[{"aval": 0, "values": [1, 2]}]),
    "empty strings": capture(strings=[""] * 1_000_000), "no program": capture(),
    "10,000 jaxprs called by each other": chain(10_000, lambda i: i - 1),
    "a jaxpr that calls itself": chain(5, lambda i: i), "jaxprs that call each other": chain(6, lambda i: i ^ 1),
    "a number beyond doubles": chain(3, lambda i: max(i - 1, 0)).replace("[]]", "[1e400]]", 1),
    "a number beyond integers": chain(3, lambda i: max(i - 1, 0)).replace("[]]", "[99999999999999999999]]", 1),
    "NaN as Python writes it": chain(3, lambda i: max(i - 1, 0)).replace("[]]", "[NaN]]", 1),
    "a key twice": chain(3, lambda i: max(i - 1, 0))[:-1] + ', "avals": []}',
    "a lying type": chain(3, lambda i: max(i - 1, 0), avals=[["float32", []], ["int32", [4]]]).replace("[[0, [0], [0], 2", "[[0, [0], [1], 2"),
    "an input that isn't there": chain(3, lambda i: max(i - 1, 0)).replace("[[0, [0], [0], 2", "[[0, [7], [0], 2"),
    "too few inputs": chain(3, lambda i: max(i - 1, 0)).replace("[[0, [0], [0], 2", "[[0, [], [0], 2"),
    "a gigantic constant": chain(3, lambda i: max(i - 1, 0), avals=[["float32", [2**62, 2**62]]]),
    "keys": capture(**{f"k{i}": 1 for i in range(300_000)}),
}
DOUBLING = {
    "jit": doubling("jit[name=f jaxpr=%s]"),
    "remat": doubling("remat2[differentiated=False jaxpr=%s policy=None prevent_cse=True]"),
    "scan": doubling("scan[_split_transpose=False jaxpr=%s length=3 linear=(False,) num_carry=1 num_consts=0 reverse=False unroll=1]"),
    "cond": doubling("cond[branches=(%s %s)] 0:i32[]"),
    "custom_jvp": doubling("custom_jvp_call[name=g call_jaxpr=%s jvp=g_jvp num_consts=0 symbolic_zeros=False]"),
}
COMMANDS = ["inspect -", "print -", "print - --source", "residuals -", "residuals - --expand", "residuals - --policy everything_saveable",
            "split -", "donation - --donate 0", "plan -", "policies - --no-run", "run -", "report -", "transform - --apply grad --print",
            "transform - --apply jvp --print", "transform - --apply linearize", "transform - --apply vmap", "transform - --apply checkpoint",
            "transform - --apply checkpoint --apply grad", "transform - --apply dce"]


def run(command: str, data, size: int = 0) -> tuple[int, str]:
    """Exit code and message, after a look at time and memory; `size`: of the data before compression."""
    data = data.encode() if isinstance(data, str) else data
    size = size or len(data)
    begin = time.monotonic()
    process = subprocess.Popen([jaxscope_binary(), *command.split()], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        process.stdin.write(data)
        process.stdin.close()
    except BrokenPipeError:
        pass
    message = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # The child counts from this process's own memory.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert usage.ru_maxrss * 1024 <= max(50 * size + 200 * 2**20, own + 2**20), f"{usage.ru_maxrss >> 10} MB for {size} bytes"
    assert time.monotonic() - begin < 240
    assert len(message.encode()) <= 1025 and all(c >= " " or c == "\n" for c in message), message
    return process.returncode, message


@pytest.mark.parametrize("name", BIG)
def test_big_but_right(name):
    for command in ("inspect -", "print - --source"):
        code, message = run(command, BIG[name])
        assert code == 0, message


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused(name):
    code, message = run("print -", BAD[name])
    assert code == 2 and message.startswith("jaxscope: <stdin>:"), message
    assert "expected" in message and "found" in message


@pytest.mark.parametrize("name", [n for n in BAD if str(BAD[n]).startswith("{\"")])
def test_bad_captures_are_refused_compressed(name):
    """Memory is held to the size before compression, but for what expands more than 200 times."""
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.compress(BAD[name].encode())
    code, message = run("print -", packed, len(BAD[name]) if len(BAD[name]) < 200 * len(packed) else 0)
    assert code == 2 and message.startswith("jaxscope: <stdin>:") and "expected" in message and "found" in message, message


@pytest.mark.parametrize("name", DOUBLING)
def test_jaxprs_that_would_inline_to_2_to_the_59(name, tmp_path):
    exports = [f"export - -o {tmp_path}/x.{end}" for end in ("html", "svg", "json", "md", "dot", "jaxpr")]
    for command in [*COMMANDS, *exports, f"export - -o {tmp_path}/x.svg --what split", f"export - -o {tmp_path}/x.dot --what split"]:
        code, message = run(command, DOUBLING[name])
        assert code in (0, 3), f"{command}: {message}"
        if code == 3:
            assert "when every call of a jaxpr counts" in message or "rule" in message, f"{command}: {message}"


def test_archives(tmp_path):
    program = tmp_path / "p.jaxpr"
    program.write_text("{ lambda ; a:f32[30000000]. let b:f32[30000000] = neg a in (b,) }")
    archive = tmp_path / "x.npz"

    def refused() -> str:
        code, message = run(f"run {program} --inputs {archive}", "")
        assert code == 2 and str(archive) in message, message
        return message

    np.savez_compressed(archive, arg0=np.zeros(30_000_000, np.float32))
    assert "expand at most 200 times" in refused()
    archive.write_bytes(archive.read_bytes()[:-10])
    assert "expected an archive of arrays (npz)" in refused()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("arg0.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (30000000,), }".ljust(128) + b"x" * 8)
    assert "expected a dtype of JAX in 'arg0', found '|O'" in refused()


def test_the_chains_are_right_but_for_what_is_wrong():
    code, message = run("print -", chain(30, lambda i: max(i - 1, 0)))
    assert code == 0, message


def test_files_that_are_none(tmp_path):
    for file in (tmp_path, tmp_path / "none.jaxscope", "sample:nothing"):
        code, message = run(f"print {file}", "")
        assert code == 2, message
