"""`capture --compile --target`: what the compiler of a device that isn't there says. A script stands for the compiler, but in the last test."""
import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from jaxscope.command import cli
from jaxscope.targets import lock, own_tpu, process, refusal, request

PROGRAM = """
import jax, jax.numpy as jnp
def step(w, x):
    h = jnp.tanh(x @ w)
    return w - 0.1 * (x.T @ h), h.sum()
def program():
    return {"fn": step, "args": (jnp.ones((8, 8)), jnp.ones((4, 8))), "donate_argnums": (0,)}
"""
ANSWER = {"device": "TPU v5", "libtpu": "1.2", "compile_seconds": 2.5, "cost_analysis": {"flops": 1024.0}, "input_output_alias": [[0, 0]],
          "memory_analysis": {"argument_size_in_bytes": 384, "output_size_in_bytes": 260, "alias_size_in_bytes": 256, "temp_size_in_bytes": 512, "peak_memory_in_bytes": 900}}
REFUSED = """RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 120.50G of 95.74G hbm. Exceeded hbm capacity by 24.76G.

  Largest program allocations in hbm:

  1. Size: 64.00G
     Operator: op_name="jit(step)/dot_general" source_file="FOLDER/good.py" source_line=4
     Shape: f32[131072,131072]{1,0:T(8,128)}
     Unpadded size: 64.00G
     Allocation type: HLO temp
     ==========================

  2. Size: 32.50M
     Shape: bf16[4096,4096]{1,0}
     Allocation type: HLO temp
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "good.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lock, "LIBTPU", str(tmp_path / "lock"))
    return tmp_path


def compiler(folder, body):
    """A Python that answers for libtpu's process."""
    path = folder / "compiler"
    path.write_text(f"#!{sys.executable}\nimport sys, json, os, time, signal\nasked = json.loads(sys.stdin.buffer.readline())\nmodule = sys.stdin.buffer.read()\n" + textwrap.dedent(body))
    path.chmod(0o755)
    return str(path)


class Ended:
    def __init__(self, returncode, stderr):
        self.returncode, self.stderr = returncode, stderr


@pytest.fixture
def capture(capfd):
    def run(*words, target="tpu:v5p"):
        capfd.readouterr()
        code = cli.main(["good.py:program", "-o", "out.jaxscope", "--no-compress", "--compile", f"--target={target}", *words])
        return Ended(code, capfd.readouterr().err)
    return run


def written(folder):
    return json.loads((folder / "out.jaxscope").read_text())


def test_what_the_compiler_says_is_kept_and_shown(capture, folder, binary):
    answering = compiler(folder, f"assert b'stablehlo' in module and asked['topology'] in ('v5p:2x2x1', 'v6e:2x2')\nprint(json.dumps({ANSWER!r}))")
    done = capture("--target-python", answering, "--target", "tpu:v6e")
    assert done.returncode == 0, done.stderr
    entries = written(folder)["targets"]
    assert [e["target"] for e in entries] == ["tpu:v5p:2x2x1", "tpu:v6e:2x2"] and all(e["memory_analysis"] == ANSWER["memory_analysis"] for e in entries)
    shown = subprocess.run([binary, "inspect", "out.jaxscope"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert "tpu:v5p:2x2x1" in shown and "900 B" in shown
    row = json.loads(subprocess.run([binary, "inspect", "out.jaxscope", "--json"], cwd=folder, capture_output=True, check=True).stdout)["program"]["compiled"][0]
    assert (row["target"], row["temporaries"], row["peak"], row["out_of_memory"]) == ("tpu:v5p:2x2x1", 512, 900, None)


def test_a_program_that_does_not_fit_keeps_the_report(capture, folder, binary):
    refused = REFUSED.replace("FOLDER", str(folder))
    done = capture("--target-python", compiler(folder, f"print(json.dumps({{'device': 'TPU v5', 'compile_seconds': 1, 'refused': {refused!r}}}))"))
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == ("jaxscope: tpu:v5p:2x2x1: the program doesn't fit: XLA needs 120.50 GiB of 95.74 GiB; "
                                            "most is 64.00 GiB for jit(step)/dot_general, good.py:4")
    report = written(folder)["targets"][0]["out_of_memory"]
    assert (report["needed"], report["available"]) == (round(120.5 * 2**30), round(95.74 * 2**30))
    assert report["buffers"][1] == {"bytes": round(32.5 * 2**20), "shape": "bf16[4096,4096]{1,0}", "op_name": None, "kind": "HLO temp", "file": None, "line": None}
    shown = subprocess.run([binary, "inspect", "out.jaxscope"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert "doesn't fit" in shown and "jit(step)/dot_general" in shown and "good.py:4" in shown
    row = json.loads(subprocess.run([binary, "inspect", "out.jaxscope", "--json"], cwd=folder, capture_output=True, check=True).stdout)["program"]["compiled"][0]
    assert [row[k] for k in ("arguments", "outputs", "aliased", "temporaries", "peak", "flops", "bytes_accessed")] == [None] * 7
    # Of a program that was rewritten it says nothing.
    subprocess.run([binary, "transform", "out.jaxscope", "--apply", "jit", "-o", "again.jaxscope"], cwd=folder, check=True, capture_output=True)
    assert json.loads(subprocess.run([binary, "inspect", "again.jaxscope", "--json"], cwd=folder, capture_output=True, check=True).stdout)["program"]["compiled"] == []


BAD = {
    "no such Python": (["--target-python", "/nowhere/python"], "/nowhere/python can't be run: No such file or directory"),
    "a Python without the wheel": (["--target-python", sys.executable], "has no libtpu: pip install 'jax[tpu]=="),
    "an unknown topology": ("print(json.dumps({'topology': 'INVALID_ARGUMENT: Invalid TPU external name: TPU v9'}))", "knows no such topology"),
    "another JAX": ("print(json.dumps({'unusable': 'has JAX 0.1 where the program was traced by JAX ' + asked['jax']}))", "has JAX 0.1 where the program was traced by"),
    "a compiler that is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL (the system ends what takes too much memory)"),
    "a compiler that ends": ("sys.stderr.write('F0000 check failed: x\\n'); sys.exit(7)", "ended with exit code 7: F0000 check failed: x"),
    "a compiler that hangs": ("os.kill(os.getppid(), signal.SIGALRM)\ntime.sleep(1000)", "not finished after 500 s: XLA's compiler was not done (out.jaxscope is written without its word)"),
    "another refusal": ("print(json.dumps({'device': 'x', 'compile_seconds': 1, 'refused': 'UNIMPLEMENTED: no such op'}))", "XLA refuses the program: UNIMPLEMENTED: no such op"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_line_exit_code_3_and_nothing_lost(capture, folder, case):
    how, line = BAD[case]
    words = how if isinstance(how, list) else ["--target-python", compiler(folder, how)]
    if case == "a Python without the wheel" and subprocess.run([sys.executable, "-c", "import libtpu"], capture_output=True).returncode == 0:
        pytest.skip("this Python has the wheel")
    done = capture(*words, *(["--timeout", "500"] if "hangs" in case else []))
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert done.returncode == 3, done.stderr
    assert line in done.stderr.splitlines()[-1] and done.stderr.splitlines()[-1].startswith("jaxscope: tpu:v5p"), done.stderr
    assert written(folder)["program"]["donated"] == [True, False] and "targets" not in written(folder)


ASSIGNMENT = """BufferAssignment:
allocation 0: size 4096, parameter 0, shape |f32[8,8]| at ShapeIndex {}, maybe-live-out:
 value: <1 w @0> (size=4096,offset=0): f32[8,8]{1,0:T(8,128)}
allocation 1: size 2048, parameter 1, shape |f32[4,8]| at ShapeIndex {}:
 value: <2 x @0> (size=2048,offset=0): f32[4,8]{1,0:T(4,128)}
allocation 2: size 512, maybe-live-out:
 value: <3 sum @0> (size=4,offset=0): f32[]{:T(128)}
allocation 3: size 9000, preallocated-temp:
 value: <4 a{0} @0> (size=4000,offset=0): f32[1000]{0}
 value: <5 loop{1} (phi) @0> (size=4000,offset=0): f32[1000]{0}
 value: <6 b @0> (size=3000,offset=5000): f32[750]{0}
 value: <7 c @0> (size=2000,offset=0): f32[500]{0}
allocation 4: size 99999, color 1, preallocated-temp:
 value: <8 near @1> (size=99999,offset=0): f32[1000]{0:S(1)}

Total bytes used: 1
"""
RANGES = """HloLiveRange (max 9):
  InstructionSequence:
    0:w
  BufferLiveRange:
    w{}:0-9
    a{0}:1-4
    loop{1}:3-6
    b{}:4-5
    c{}:7-8
    near{}:1-8
  Live ranges at 4 (peak):
    a{0}: 4000 bytes (cumulative: 4000 bytes)
"""


def assigning(folder, assignment=ASSIGNMENT):
    """A compiler that writes its texts as XLA does, and then makes code for ever."""
    return compiler(folder, f"""
        texts = asked['texts']
        assert os.environ['XLA_FLAGS'].endswith('--xla_dump_to=' + texts)
        json.dump({{'device': 'TPU v5', 'libtpu': '1.2'}}, open(texts + '/device.json', 'w'))
        stem = texts + '/module_0000.jit_step.cl_1.after_optimizations'
        open(stem + '-buffer-assignment.txt', 'w').write({assignment!r})
        open(stem + '-live-range.txt', 'w').write({RANGES!r})
        open(stem + '.txt', 'w').write('HloModule jit_step, input_output_alias={{ {{0}}: (0, {{}}, may-alias) }}, x\\n')
        open(stem + '_after_buffer_assignment.txt', 'w').write('')
        open({str(folder / 'pid')!r}, 'w').write(str(os.getpid()))
        time.sleep(1000)""")


def test_memory_only_ends_the_compiler_behind_its_buffer_assignment(capture, folder):
    done = capture("--target-python", assigning(folder), "--memory-only")
    assert done.returncode == 0, done.stderr
    entry = written(folder)["targets"][0]
    assert entry["memory_analysis"] == {"argument_size_in_bytes": 6144, "output_size_in_bytes": 4608, "alias_size_in_bytes": 4096, "temp_size_in_bytes": 9000,
                                        "peak_memory_in_bytes": 4096 + 2048 + 512 + 4000 + 3000}
    assert (entry["device"], entry["libtpu"], entry["options"], entry["input_output_alias"]) == ("TPU v5", "1.2", process.ONLY_MEMORY, [[0, 0]])
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_memory_only_refuses_what_it_cant_read_and_takes_an_answer_that_comes_first(capture, folder):
    done = capture("--target-python", assigning(folder, ASSIGNMENT.replace("<6 b @0>", "<6 unknown @0>")), "--memory-only")
    assert done.returncode == 3 and "buffer assignment can't be read: no live range of unknown{}" in done.stderr.splitlines()[-1]
    assert "targets" not in written(folder)
    assert capture("--target-python", compiler(folder, f"print(json.dumps({ANSWER!r}))"), "--memory-only").returncode == 0
    assert written(folder)["targets"][0]["memory_analysis"] == ANSWER["memory_analysis"]


def test_advice_where_the_wheel_is_missing(capture, folder, monkeypatch):
    if subprocess.run([sys.executable, "-c", "import libtpu"], capture_output=True).returncode == 0:
        pytest.skip("this Python has the wheel")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    done = capture()
    assert done.returncode == 3 and f"python3 -m venv {folder}/jaxscope/tpu-" in done.stderr and (folder / "out.jaxscope").exists()
    place = folder / "jaxscope" / f"tpu-{request.jax.__version__}" / "bin"
    place.mkdir(parents=True)
    os.symlink(compiler(folder, f"print(json.dumps({ANSWER!r}))"), place / "python")
    assert capture().returncode == 0


@pytest.mark.parametrize("text", ["tpu", "tpu:v9", "tpu:v5p:2x2x1x1x1", "banana", "cuda:h100"])
def test_a_name_that_is_none_loses_neither_the_capture_nor_the_others(capture, folder, text):
    answering = compiler(folder, f"print(json.dumps({ANSWER!r}))")
    done = capture("--target=tpu:v6e", "--target-python", answering, target=text)
    (line,) = set(done.stderr.splitlines())
    assert done.returncode == 3 and "--target: expected" in line and line.endswith("(out.jaxscope is written without its word)")
    assert [e["target"] for e in written(folder)["targets"]] == ["tpu:v6e:2x2"]


def test_the_tracing_process_leaves_libtpu_alone_where_there_is_no_tpu(capture, folder, monkeypatch):
    for name in ("JAX_PLATFORMS", "JAX_FORCE_TPU_INIT", "TPU_LOAD_LIBRARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(own_tpu, "_DEVICES", str(folder / "pci" / "*"))

    def kept_off(**devices):
        for name, kind in devices.items():
            (folder / "pci" / name).mkdir(parents=True)
            (folder / "pci" / name / "vendor").write_text("0x1ae0\n")
            (folder / "pci" / name / "class").write_text(kind + "\n")
        monkeypatch.delenv("TPU_LOAD_LIBRARY", raising=False)
        own_tpu.keep_off()
        return os.environ.get("TPU_LOAD_LIBRARY") == "0"
    assert kept_off() and kept_off(network="0x020000", disk="0x010802")
    answering = compiler(folder, f"assert 'TPU_LOAD_LIBRARY' not in os.environ\nprint(json.dumps({ANSWER!r}))")
    assert capture("--target-python", answering).returncode == 0  # the compiler's own process isn't kept off
    assert not kept_off(tpu="0x120000")
    (folder / "pci" / "tpu" / "vendor").unlink()
    assert kept_off()
    monkeypatch.setenv("JAX_PLATFORMS", "tpu,cpu")
    assert not kept_off()


def test_texts_of_what_does_not_fit():
    short = "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (160.00G) exceeds available HBM (95.74G)."
    assert refusal.out_of_memory(short)["needed"] == 160 << 30
    assert refusal.sentence(refusal.out_of_memory(short)) == "the program doesn't fit: XLA needs 160.00 GiB of 95.74 GiB"
    assert refusal.sentence(refusal.out_of_memory("Ran out of memory")) == "the program doesn't fit: XLA ran out of memory"
    whole = refusal.out_of_memory(REFUSED.replace("24.76G.", "24.76G.\n\nTotal hbm usage >= 125.02G:\n    reserved        530.00M\n    program        120.50G\n    arguments        4.00G"))
    assert refusal.sentence(whole).startswith("the program doesn't fit: XLA needs 125.02 GiB of 95.74 GiB")  # its arguments, too


MODULE = """HloModule jit_step, is_scheduled=true

FileNames
1 "/lib/site-packages/jax/_src/pjit.py"
2 "FOLDER/good.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=2 function_name_id=1 line=4 end_line=4 column=8 end_column=9}
2 {file_name_id=1 function_name_id=1 line=99 end_line=99 column=8 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


ENTRY %main (w: f32[8,8]) -> f32[] {
  %w = f32[8,8]{1,0:T(8,128)} parameter(0), metadata={op_name="leaves[0]"}
  %x = f32[4,8]{1,0:T(4,128)} parameter(1), metadata={op_name="leaves[1]"}
  %a = (f32[1000]{0}, f32[]) fusion(%w), kind=kLoop, metadata={op_name="jit(step)/dot_general" stack_frame_id=2}
  %b = f32[750]{0} copy(%w)
  ROOT %sum = f32[]{:T(128)} reduce(%b), metadata={op_name="jit(step)/reduce_sum" stack_frame_id=1}
}
"""
LISTED = [(4096, "f32[8,8]{1,0:T(8,128)}", "w", "argument", None, None), (4000, "f32[1000]{0}", "jit(step)/dot_general", "HLO temp", "good.py", 4),
          (3000, "f32[750]{0}", None, "HLO temp (b)", None, None), (2048, "f32[4,8]{1,0:T(4,128)}", "x", "argument", None, None),
          (512, "f32[]{:T(128)}", "jit(step)/reduce_sum", "output", "good.py", 4)]


@pytest.mark.parametrize("words", [[], ["--memory-only"]])
def test_buffers_of_what_does_not_fit_are_read_from_the_assignment(capture, folder, words):
    """As libtpu 0.0.42 does it: its text names a total only, and calls it temporaries."""
    text = "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (15.2K) exceeds available HBM (1.00K)."
    refusing = compiler(folder, f"""
        stem = asked['texts'] + '/module_0000.jit_step.cl_1.after_optimizations'
        open(stem + '-buffer-assignment.txt', 'w').write({ASSIGNMENT!r})
        open(stem + '.txt', 'w').write({MODULE.replace("FOLDER", str(folder))!r})
        print(json.dumps({{'device': 'TPU v5', 'compile_seconds': 1, 'refused': {text!r}}}))""")
    done = capture("--target-python", refusing, *words)
    assert done.returncode == 3
    report = written(folder)["targets"][0]["out_of_memory"]
    assert [tuple(b[k] for k in ("bytes", "shape", "op_name", "kind", "file", "line")) for b in report["buffers"]] == LISTED
    assert report["needed"] == 4096 + 2048 + 512 + 9000 and report["available"] == 1024


def test_texts_that_the_user_has_written_elsewhere_stay_there(capture, folder, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=" + str(folder / "dump"))
    answering = compiler(folder, f"assert 'texts' not in asked and os.environ['XLA_FLAGS'] == {'--xla_dump_to=' + str(folder / 'dump')!r}\nprint(json.dumps({ANSWER!r}))")
    assert capture("--target-python", answering).returncode == 0


def test_xlas_own_compiler(capture, folder, monkeypatch):
    """JAXSCOPE_TPU_PYTHON names a Python with the wheel; else this one, or the one that the advice makes."""
    python = os.environ.get("JAXSCOPE_TPU_PYTHON") or request.advised_python()
    if not os.path.exists(python):
        python = sys.executable
        pytest.importorskip("libtpu", reason="no libtpu here: set JAXSCOPE_TPU_PYTHON to compile for a TPU")
    monkeypatch.undo()  # libtpu's own lock
    monkeypatch.chdir(folder)
    done = capture("--target-python", python)
    assert done.returncode == 0, done.stderr
    entry = written(folder)["targets"][0]
    assert entry["device"] == "TPU v5" and entry["input_output_alias"] == [[0, 0]] and entry["memory_analysis"]["alias_size_in_bytes"] > 0
