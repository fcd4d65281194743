"""`jaxscope xla`: what XLA's own texts say. tests/differential/test_xla_dumps.py holds it to what JAX says of the same compilation."""
import json

import pytest

from conftest import ROOT

TEXTS = ROOT / "tests" / "fuzz" / "corpus" / "dump"
KINDS = {"hlo.txt": "HLO text", "stablehlo.mlir": "StableHLO text", "buffer-assignment.txt": "buffer assignment", "live-range.txt": "live ranges",
         "memory-usage-report.txt": "memory-usage report", "gpu_oom.txt": "out-of-memory message", "tpu_oom.txt": "out-of-memory message"}
G = 1 << 30


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_is_known_by_its_words(cli, schema, name):
    found = cli.json("xla", "-", input=(TEXTS / name).read_text())
    schema.validate(found)
    assert [f["kind"] for f in found["dump"]["files"]] == [KINDS[name]] and found["dump"]["buffers"]
    page = cli.ok("xla", str(TEXTS / name))
    assert KINDS[name] in page and "Largest buffers" in page


def test_a_message_of_a_gpu_inside_of_a_log(cli):
    dump = cli.json("xla", str(TEXTS / "gpu_oom.txt"))["dump"]
    memory = {k: v for k, v in dump["memory"].items() if v is not None}
    assert memory == {"needed": 3 * G, "arguments": 3 * G // 2, "outputs": G, "constants": 0, "temporaries": 3 * G, "total": 11 * G // 2, "rounded": True}
    first, second = dump["buffers"]
    assert (first["bytes"], first["shape"], first["file"], first["line"]) == (2 * G, "f32[2097152,256]", "/home/me/job/train.py", 3)
    assert (second["bytes"], second["role"]) == (G // 2, "parameter")
    assert dump["lines"] == [{"file": "/home/me/job/train.py", "line": 3, "bytes": 2 * G, "largest": 2 * G, "buffers": 1}]


def test_padding_of_a_tpu_is_told(cli):
    dump = cli.json("xla", str(TEXTS / "tpu_oom.txt"))["dump"]
    memory = {k: v for k, v in dump["memory"].items() if v is not None}
    assert memory["needed"] == round(40.5 * G) and memory["available"] == 16 * G and memory["arguments"] == 500 << 20
    assert memory["temporaries"] == round(39.47 * G) and (memory["outputs"], memory["aliased"]) == (6 << 10, 4 << 10)
    assert [(b["bytes"], b["unpadded"], b["opcode"], b["line"]) for b in dump["buffers"]] == [(32 * G, G, "copy", 4), (G // 2, G // 2, "fusion", 3)]
    assert "31.0 GiB is padding of the device's tiles" in " ".join(cli.ok("xla", str(TEXTS / "tpu_oom.txt")).split())


@pytest.mark.parametrize("message, needed, available", [
    ("RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (188.25G) exceeds available HBM (95.75G).", 188.25 * G, 95.75 * G),
    ("RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 8.00G. That was not possible. There are 5.50G free.; (0x0x0_HBM0)", 8 * G, 5.5 * G),
    ("RESOURCE_EXHAUSTED: Failed to allocate request for 154.06GiB (165425291480B) on device ordinal 0", 165425291480, None),
    ("RESOURCE_EXHAUSTED: Out of memory allocating 4294967296 bytes.", 4 * G, None),
])
def test_messages_without_a_list(cli, message, needed, available):
    dump = cli.json("xla", "-", input="Traceback (most recent call last):\n  File \"a.py\", line 3\njaxlib.XlaRuntimeError: " + message + "\n")["dump"]
    assert dump["memory"]["needed"] == needed and dump["memory"]["available"] == available and not dump["buffers"]


def test_a_message_printed_as_one_line(cli):
    whole = cli.json("xla", str(TEXTS / "gpu_oom.txt"))["dump"]
    one = cli.json("xla", "-", input=repr((TEXTS / "gpu_oom.txt").read_text()))["dump"]
    assert one["buffers"] == whole["buffers"] and one["memory"] == whole["memory"]


def test_a_log_that_tells_it_again(cli):
    """When it happens, and when Python ends; then the program tries half of it."""
    once = cli.json("xla", str(TEXTS / "gpu_oom.txt"))["dump"]
    text = (TEXTS / "gpu_oom.txt").read_text()
    message = text[text.index("RESOURCE_EXHAUSTED"):text.index("Traceback")]
    again = cli.json("xla", "-", input=text + "ValueError: " + message + "wandb: done\n")
    assert again["dump"]["buffers"] == once["buffers"] and again["dump"]["memory"] == once["memory"] and not [n for n in again["notes"] if "messages" in n]
    last = cli.json("xla", "-", input=text + "ValueError: " + message.replace("3221225472", "1610612736").replace("2.00GiB", "1.00GiB") + "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 5 bytes.\n")
    assert [b["bytes"] for b in last["dump"]["buffers"]] == [G, G // 2] and last["dump"]["memory"]["needed"] == 3 * G // 2
    assert [n for n in last["notes"] if "3 different messages" in n]
    used = "Ran out of memory in memory space hbm. Used 2.00G of 1.00G hbm.\n"
    assert cli.json("xla", "-", input=used + used.replace("2.00G", "3.00G"))["dump"]["memory"]["needed"] == 3 * G


def test_a_terminal_that_breaks_lines(cli):
    text = (TEXTS / "gpu_oom.txt").read_text().replace("jit(main)/jvp()/tanh", "jit(main)/jv\np()/tanh").replace(" source_line=3", ' source_line=3 deduplicated_name="fusion.6"')
    first = cli.json("xla", "-", input=text)["dump"]["buffers"][0]
    assert (first["op_name"], first["line"], first["name"]) == ("jit(train_step)/jit(main)/jvp()/tanh", 3, "fusion.6")


def test_lines_and_equations_of_a_capture(cli, tmp_path):
    """Only the ends of paths must agree: the job ran elsewhere."""
    cli.ok("transform", "x.jaxpr", "-o", "x.jaxscope", "--uncompressed")
    document = json.loads((tmp_path / "x.jaxscope").read_text())
    assert document["program"]
    oom = (TEXTS / "gpu_oom.txt").read_text().replace("/home/me/job/train.py", "/home/me/job/samples/python/mlp.py")
    cli.folder.joinpath("oom.txt").write_text(oom)
    found = cli.json("xla", "oom.txt", "--capture", "sample:mlp")["dump"]
    assert found["buffers"][0]["file"].endswith("mlp.py") and found["buffers"][0]["line"] == 3


@pytest.mark.parametrize("text, words", [
    ("hello\n", "-:1:1"), ("HloModule jit_f\n\nENTRY main {\n  a = f32[2 add(b)\n}\n", "<stdin>:4:1: expected an operation"),
    ("HloModule jit_f\n\nENTRY main {\n  a = f32[2]{0} parameter(0)\n", "expected '}' behind the operations of main, found the end"),
    ("HloModule jit_f\n", "expected operations of a computation"),
    ("HloModule jit_f\n\nENTRY main {\n  a = f32[9999999999,9999999999]{1,0} parameter(0)\n}\n", "<stdin>:4:1: expected an operation with its shape"),
    ("BufferAssignment:\nallocation 0: size -4, constant:\n", "<stdin>:2:1: expected 'allocation N: size BYTES'"),
    ("BufferAssignment:\n", "expected 'allocation N: size BYTES', found the end"),
    ("module @jit_f {\n  func.func public @main(%arg0: tensor<4xf32>) {\n", "expected '}' at the end of the module"),
    ("RESOURCE_EXHAUSTED: 4G exceeds available HBM\n", "expected how much memory is needed"), ("RESOURCE_EXHAUSTED: something else\n", "expected how much memory is needed"), ("HloLiveRange (max 3):\n", "expected 'Live ranges at N (peak):'"),
])
def test_what_is_no_such_text_is_told_with_its_place(cli, text, words):
    done = cli.raw("xla", "-", input=text)
    assert done.returncode == 2 and words.replace("-:1:1", "<stdin>:1:1: expected a text that XLA wrote") in done.stderr and not done.stdout, done.stderr


DEEP = "(" * 100_000 + "f32[2]" + ")" * 100_000
CIRCLES = "\n".join(f"#loc{i} = loc(callsite(#loc{i + 1} at #loc{i + 1}))" for i in range(1, 400)) + "\n#loc400 = loc(callsite(#loc1 at #loc400))"


@pytest.mark.parametrize("text, code", [
    (f"HloModule f\n\nENTRY main {{\n  a = {DEEP} parameter(0)\n}}\n", 2),
    ("HloModule f\n\nFileNames\n7 \"a.py\"\n\nENTRY main {\n  a = f32[2] parameter(0)\n}\n", 2),
    ("HloModule f\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=9 parent_frame_id=99}\n\nENTRY main {\n  a = f32[2] parameter(0), metadata={op_name=\"x\" stack_frame_id=2}\n}\n", 0),
    (f"{CIRCLES}\nmodule @f {{\n  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {{\n    %0 = stablehlo.sine %arg0 : tensor<2xf32> loc(#loc1)\n  }}\n}}\n", 0),
    ("BufferAssignment:\n" + "allocation 0: size 9223372036854775807, constant:\n" * 2, 2),
], ids=["deep tuple", "sparse table", "unknown frames", "locations in circles", "sizes that wrap"])
def test_hostile_texts_end_soon(cli, text, code):
    done = cli.raw("xla", "-", input=text)
    assert done.returncode == code, done.stderr[-500:]


def test_other_commands_say_who_reads_it(cli):
    for name in ("hlo.txt", "stablehlo.mlir", "gpu_oom.txt"):
        done = cli.raw("inspect", str(TEXTS / name))
        assert done.returncode == 2 and f"found XLA's {KINDS[name]}" in done.stderr and "jaxscope xla" in done.stderr


def test_texts_of_two_compilations_are_refused(cli):
    (cli.folder / "other.txt").write_text((TEXTS / "hlo.txt").read_text().replace("HloModule jit_train_step", "HloModule jit_other"))
    done = cli.raw("xla", str(TEXTS / "hlo.txt"), "other.txt")
    assert done.returncode == 2 and "found the module jit_other here and jit_train_step in" in done.stderr
    assert cli.raw("xla").returncode == 2 and cli.raw("xla", "nowhere.txt").returncode == 2


def test_a_folder_of_dumps(cli):
    folder = cli.folder / "dump"
    folder.mkdir()
    done = cli.raw("xla", "dump")
    assert done.returncode == 2 and "--xla_dump_to" in done.stderr
    for module in ("module_0001.jit_a", "module_0002.jit_train_step"):
        for part, name in (("", "hlo.txt"), ("-live-range", "live-range.txt"), ("-buffer-assignment", "buffer-assignment.txt")):
            text = (TEXTS / name).read_text().replace("HloModule jit_train_step", "HloModule " + module.split(".")[1])
            (folder / f"{module}.cpu_after_optimizations{part}.txt").write_text(text)
    done = cli.raw("xla", "dump")
    assert done.returncode == 2 and "module_0001.jit_a, module_0002.jit_train_step" in done.stderr
    dump = cli.json("xla", "dump", "--module", "jit_train_step")["dump"]
    assert [f["kind"] for f in dump["files"]] == ["buffer assignment", "live ranges", "HLO text"] and dump["module"] == "jit_train_step" and dump["alive_together"]
    assert cli.raw("xla", "dump", "--module", "nothing").returncode == 2
