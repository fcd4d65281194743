"""Every refusal: its exit code and its one line, `jaxscope: [PLACE: ]expected ..., found ... [code]`."""
import re

import pytest

from conftest import BINARY, ROOT, TEXT

USAGE = [
    ([], 0, ""),
    (["inspekt", "x.jaxpr"], 2, "expected a command, found 'inspekt' [bad-usage]\n  try: did you mean inspect?"),
    (["inspect"], 2, "expected FILE, found nothing [bad-usage]"),
    (["inspect", "x.jaxpr", "y"], 2, "found 'y' [bad-usage]"),
    (["inspect", "--bogus", "x.jaxpr"], 2, "found '--bogus' [bad-usage]"),
    (["run", "x.jaxpr", "--repeat", "0"], 2, "expected a whole number from 1 after --repeat, found '0'"),
    (["run", "x.jaxpr", "--threads", "many"], 2, "expected a whole number from 0 after --threads, found 'many'"),
    (["run", "x.jaxpr", "--timeout", "-1"], 2, "expected a number from 0 after --timeout, found '-1'"),
    (["run", "x.jaxpr", "--memory-limit", "much"], 2, "expected a size such as 512M or 2G, found 'much'"),
    (["plan", "x.jaxpr", "--device-memory", "1Q"], 2, "expected a size such as 512M or 2G, found '1Q'"),
    (["residuals", "x.jaxpr", "--policy"], 2, "expected a value after --policy, found none"),
    (["residuals", "x.jaxpr", "--policy", "dots_saveable", "--policy", "dots_saveable"], 2, "expected --policy once, found it 2 times"),
    (["residuals", "x.jaxpr", "--policy", "dots_savable"], 2, "try: did you mean dots_saveable?"),
    (["residuals", "x.jaxpr", "--policy", "foo"], 2,
     "expected a policy of jax.checkpoint_policies, found 'foo' [bad-usage]\n  try: one of everything_saveable, nothing_saveable, "),
    (["residuals", "x.jaxpr", "--wrt", "a"], 2, "expected numbers such as 0,2 for --wrt, found 'a'"),
    (["residuals", "x.jaxpr", "--wrt", "7"], 2, "expected an argument of the program from 0 to 1, found 7 [not-found]"),
    (["residuals", "x.jaxpr", "--region", "x"], 2, "expected `program` or a number from 0 after --region, found 'x'"),
    (["residuals", "x.jaxpr", "--region", "0"], 2, "has no regions [not-found]"),
    (["residuals", "sample:mlp", "--region", "4"], 2, "expected a region from 0 to 0, found 4 [not-found]"),
    (["residuals", "x.jaxpr", "--replace-policy", "dots_saveable"], 2, "expected a jax.checkpoint inside the function, found none"),
    (["donation", "x.jaxpr", "--donate", "5"], 2, "expected arguments to donate from 0 to 1, found 5 [not-found]"),
    (["transform", "x.jaxpr"], 2, "expected --apply STEP, or -o OUT to write the program anew, found neither"),
    (["transform", "x.jaxpr", "--apply", "integrate"], 2, "found 'integrate' [bad-usage]"),
    (["transform", "x.jaxpr", "--apply", "vmap:0,0,0"], 2, "expected one axis for all arguments or 2, one each, found 3"),
    (["transform", "x.jaxpr", "--apply", "jit:0"], 2, "expected no argument of the step, found '0'"),
    (["export", "x.jaxpr"], 2, "expected -o OUT, found no place to write"),
    (["export", "x.jaxpr", "-o", "a.doc"], 2,
     "expected one of the formats html, json, md, svg, png, pdf, dot, mermaid, jaxpr, csv, perfetto.json, model-explorer.json, node-data.json, pprof, found 'doc'"),
    (["export", "x.jaxpr", "-o", "a.csv", "--what", "split"], 2, "expected --what residuals, donation, memory, policies, inputs or outputs, found 'split'"),
    (["diff", "x.jaxpr"], 2, "B"),
    (["diff", "x.jaxpr", "nothing.json"], 2, "nothing.json"),
    (["plan", "x.jaxpr", "--budget", "much"], 2, "much"),
    (["export", "x.jaxpr", "-o", "a"], 2, "found no ending in 'a'"),
    (["export", "x.jaxpr", "-o", "a.svg", "--what", "nothing"], 2, "expected --what program or split, found 'nothing'"),
    (["capture", "--call", "f", "-o", "a.jaxscope"], 2, "expected a command behind --, found none"),
    (["samples", "nothing"], 2, "expected one of the samples "),
    (["inspect", "sample:nothing"], 2, "expected one of the samples "),
    (["inspect", "nothing.jaxscope"], 2, "found no file 'nothing.jaxscope' [not-found]"),
    (["inspect", "."], 2, "expected a file, found the folder '.'"),
    (["run", "x.jaxpr", "--inputs", "none.npz"], 2, "none.npz"),
    (["run", "x.jaxpr", "--inputs", "x.jaxpr"], 2, "expected an archive of arrays (npz)"),
    (["run", "x.jaxpr", "--memory-limit", "10"], 3, "[cannot-run]"),
    (["run", "sample:transformer_lm", "--repeat", "1000", "--timeout", "0.5"], 3, "expected the run to end within 0.5 s, found it still running [cannot-run]"),
    (["transform", "sample:mlp", "--apply", "grad"], 3, "Gradient only defined for scalar-output functions"),
]

BAD_TEXT = {
    "unbound": ("{ lambda ; a:f32[]. let b:f32[] = sin zz in (b,) }", 2, "bad.jaxpr:1:39: expected a variable that is defined above, found 'zz' [bad-input]"),
    "second line": ("{ lambda ; a:f32[]. let\n    b:f32[] = sin a\n    c:f32[] = sin b,, in (c,) }", 2, "bad.jaxpr:3:"),
    "no end": ("{ lambda ; a:f32[]. let b:f32[] = sin a in (b,)", 2, "bad.jaxpr:1:44: expected '}', found the end of the text"),
    "wrong type": ("{ lambda ; a:f32[3]. let b:f32[4] = sin a in (b,) }", 2, "expected f32[3] from sin, found f32[4] [type-mismatch]"),
    "nothing": ("", 2, "bad.jaxpr:1:1: expected the text of a jaxpr ({ lambda ...), found nothing [bad-input]"),
    "misspelled": ("{ lamda ; a:f32[]. let in (a,) }", 2, "bad.jaxpr:1:3: expected the text of a jaxpr ({ lambda ...), found '{ lamda'"),
    "a page": ("<!doctype html>\n<html>", 2, "bad.jaxpr:1:1: expected the text of a jaxpr ({ lambda ...), found HTML"),
    "a traceback": ("Traceback (most recent call last):\n  File", 2, "bad.jaxpr:1:1: expected the text of a jaxpr ({ lambda ...), found a traceback of Python"),
    "twice": ("{ lambda ; a:f32[3]. let b:f32[] = reduce_sum[axes=(0,) axes=(0,)] a in (b,) }", 2, "bad.jaxpr:1:57: expected each parameter once"),
    "unused result": ("{ lambda ; a:f32[]. let _:f32[] = sin a; c:f32[] = cos _ in (c,) }", 2, "bad.jaxpr:1:56: expected a variable"),
    "unused result returned": ("{ lambda ; a:f32[]. let _:f32[] = sin a in (_,) }", 2, "bad.jaxpr:1:45: expected a variable that has a name"),
    "too many donated": ("{ lambda ; a:f32[]. let b:f32[] = jit[name=f donated_invars=(False, False) jaxpr={ lambda ; c:f32[]. let  in (c,) }] a in (b,) }", 2,
                         "bad.jaxpr:1:46: expected donated_invars for 1 inputs, found 2"),
    "no such jaxpr": ("{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=nope] a in (b,) }", 2, "bad.jaxpr:1:52: expected a jaxpr, or the name of one that a `let` defines, found 'nope' [bad-input]"),
    "no such branch": ("{ lambda ; a:i32[] b:f32[]. let c:f32[] = cond[branches=({ lambda ; d:f32[]. let  in (d,) } nope)] a b in (c,) }", 2,
                       "bad.jaxpr:1:93: expected a jaxpr, or the name of one that a `let` defines, found 'nope' [bad-input]"),
    "unbound result": ("{ lambda ; a:f32[]. let b:f32[] = sin a in (zz,) }", 2, "bad.jaxpr:1:45: expected a variable that is defined above, found 'zz' [bad-input]"),
    "contraction": ("{ lambda ; a:f32[3] b:f32[4]. let c:f32[] = dot_general[dimension_numbers=(([0], [0]), ([], []))] a b in (c,) }", 2,
                    "bad.jaxpr:1:57: dot_general: expected contracting dimensions of one shape"),
    "no program": ("\x00\x01 what is this", 2, "[bad-input]"),
    "half a capture": ('{"format": "jaxscope.capture/1", "strings": [', 2, "[bad-input]"),
    "unknown primitive": ("{ lambda ; a:f32[]. let b:f32[] = made_up a in (b,) }", 0, ""),
}


def one_line(stderr: str, code: int):
    lines = stderr.splitlines()
    assert re.match(r"jaxscope: .* \[[a-z-]+\]$", lines[0]), stderr
    assert all(line.startswith("  ") for line in lines[1:]), stderr
    assert code in (2, 3) and not any(c < " " for c in stderr.replace("\n", ""))


@pytest.mark.parametrize("args, code, text", USAGE, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_refusals(cli, args, code, text):
    done = cli.raw(*args)
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    if code:
        assert done.stdout == ""
        one_line(done.stderr, code)


@pytest.mark.parametrize("name", BAD_TEXT)
def test_text_that_is_no_program(cli, name):
    text, code, message = BAD_TEXT[name]
    (cli.folder / "bad.jaxpr").write_text(text)
    done = cli.raw("inspect", "bad.jaxpr")
    assert done.returncode == code and message in done.stderr, done.stderr
    if code:
        one_line(done.stderr, code)


# What was probably meant: commands, options, files, samples, formats, steps, targets, names, paths.
MEANT = [
    (["insect", "x.jaxpr"], "inspect"),
    (["plan", "x.jaxpr", "--budgte", "3M"], "--budget"),
    (["plan", "x.jaxpr", "--quite"], "--quiet"),
    (["inspect", "x.jaxpt"], "x.jaxpr"),
    (["inspect", "x"], "x.jaxpr"),
    (["inspect", "mlp"], "sample:mlp"),
    (["inspect", "sampel:mlp"], "sample:mlp"),
    (["inspect", "sample:transfomer_lm"], "transformer_lm"),
    (["samples", "mlpp"], "mlp"),
    (["transform", "x.jaxpr", "--apply", "gard"], "grad"),
    (["export", "x.jaxpr", "-o", "a.htm"], "html"),
    (["export", "x.jaxpr", "-o", "a", "--format", "perfeto.json"], "perfetto.json"),
    (["export", "x.jaxpr", "-o", "a.csv", "--what", "residual"], "residuals"),
    (["export", "x.jaxpr", "-o", "a.svg", "--what", "porgram"], "program"),
    (["check", "x.jaxpr", "--format", "sarf"], "sarif"),
    (["capture", "f.py:g", "--values", "smal"], "small"),
    (["plan", "x.jaxpr", "--target", "tpu:v5"], "tpu:v5p"),
    (["plan", "x.jaxpr", "--remat-lowering", "whlie"], "while"),
    (["residuals", "x.jaxpr", "--policy", "dots_savable"], "dots_saveable"),
    (["plan", "sample:transformer_lm", "--save", "atn_out"], "attn_out"),
    (["plan", "sample:mlp_sharded", "--spec", "params['w_1']=P()"], "params['w1']"),
    (["--completions", "bsh"], "bash"),
]


@pytest.mark.parametrize("args, meant", MEANT, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_what_was_probably_meant(cli, args, meant):
    done = cli.raw(*args)
    assert done.returncode == 2 and f"\n  try: did you mean {meant}?" in done.stderr, done.stderr
    one_line(done.stderr, 2)


def test_an_option_of_other_commands_is_told_by_them(cli):
    for args, said in ((["export", "x.jaxpr", "-o", "a.html", "--target", "tpu:v5p"], "--target is an option of capture, plan, policies and check"),
                       (["inspect", "x.jaxpr", "--budget=3M"], "--budget is an option of plan")):
        done = cli.raw(*args)
        assert done.returncode == 2 and f"\n  try: {said}\n" in done.stderr and "did you mean" not in done.stderr, done.stderr


def test_what_is_like_nothing_is_not_guessed(cli):
    (cli.folder / "o").write_text("")
    for args in (["plan", "x.jaxpr", "--zzzzzzzz"], ["inspect", "qqqqqqqqqq"], ["inspect", ""], ["report", "x.jaxpr", "--tarrget", "x"], ["inspect", "sample:wwwwwwwwww"], ["export", "x.jaxpr", "-o", "a.7"]):
        assert "did you mean" not in cli.raw(*args).stderr


BAD_BYTES = {
    "UTF-16": ("{ lambda ; a:f32[]. let in (a,) }".encode("utf-16"), "bad.jaxpr:1:1: expected the text of a jaxpr ({ lambda ...), found UTF-16"),
    "gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "bad.jaxpr:1:1: expected the text of a jaxpr ({ lambda ...), found a gzip archive"),
    "binary": (b"some\x00thing", "bad.jaxpr:1:5: expected the text of a jaxpr ({ lambda ...), found a binary file"),
    "a name that is no UTF-8": (b"{ lambda ; a:f32[3]. let c:f32[3] = name[name=\xff\xfe] a in (c,) }", "bad.jaxpr:1:47: expected UTF-8, found the byte"),
}


@pytest.mark.parametrize("name", BAD_BYTES)
def test_bytes_that_are_no_text(cli, name):
    content, message = BAD_BYTES[name]
    (cli.folder / "bad.jaxpr").write_bytes(content)
    done = cli.raw("inspect", "bad.jaxpr")
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_python_files_are_for_capture(cli):
    (cli.folder / "train.py").write_text("def f(x): return x\n")
    done = cli.raw("inspect", "train.py")
    assert done.returncode == 2 and "found a Python file" in done.stderr and "jaxscope capture train.py:NAME" in done.stderr


@pytest.mark.parametrize("command", ["run", "plan"])
def test_parameters_that_nobody_knows_stop_what_computes(cli, command):
    text = "{ lambda ; a:f32[3,4] b:f32[4]. let c:f32[3] = dot_general[dimension_numbers=(([1], [0]), ([], [])) %s] a b in (c,) }"
    (cli.folder / "p.jaxpr").write_text(text % "frobnicate=7")
    done = cli.raw(command, "p.jaxpr")
    assert done.returncode == 2 and "parameters of dot_general that jaxscope knows, found 'frobnicate'" in done.stderr and "eqn 0: dot_general" in done.stderr
    one_line(done.stderr, 2)
    (cli.folder / "p.jaxpr").write_text(text % "precision=None")
    cli.ok(command, "p.jaxpr")


def test_constants_of_a_text_are_made_up_aloud(cli):
    (cli.folder / "p.jaxpr").write_text("{ lambda a:i32[3]; b:f32[3]. let c:f32[3] = convert_element_type[new_dtype=float32 weak_type=False] a; d:f32[3] = mul b c in (d,) }")
    done = cli.raw("run", "p.jaxpr")
    assert "1 constant have no values" not in done.stderr and "1 constant has no values" in done.stderr and "i32[3] read by convert_element_type" in done.stderr
    found = cli.json("run", "p.jaxpr")["made_up_constants"]
    assert [(c["aval"], c["bytes"], c["source"]) for c in found] == [("i32[3]", 12, "convert_element_type")]
    assert cli.json("run", "x.jaxpr")["made_up_constants"] == []


NULL_CONSTANT = """{ lambda ; a:f32[3]. let
    b:f32[] = jit[
      name=f
      jaxpr={ lambda c:f32[3] ; d:f32[3]. let
          e:f32[3] = mul d c
          f:f32[3] = sin e
          g:f32[] = reduce_sum[axes=(0,) out_sharding=None] f
        in (g,) }
    ] a
  in (b,) }
"""


def test_constants_without_values_in_the_body_of_a_jit(cli):
    """They passed the reader, and `residuals` asserted: as text, and in a capture of it."""
    (cli.folder / "body.jaxpr").write_text(NULL_CONSTANT)
    cli.ok("transform", "body.jaxpr", "--apply", "dce", "-o", "body.jaxscope")
    for file in ("body.jaxpr", "body.jaxscope"):
        rows = cli.json("residuals", file)["residuals"]
        assert [(r["aval"], r["source"]) for r in rows] == [("f32[3]", "from a constant"), ("f32[3]", "output of jitted function 'f' from ")]
        assert "f32[3] read by mul" in cli.raw("run", file).stderr
        for args in (["policies"], ["split"], ["report"], ["transform", "--apply", "grad", "--print"], ["transform", "--apply", "vmap@3", "--print"]):
            cli.ok(args[0], file, *args[1:])


def test_an_opaque_equation_opens_and_stops_the_rest(cli):
    (cli.folder / "p.jaxpr").write_text(BAD_TEXT["unknown primitive"][0])
    found = cli.json("inspect", "p.jaxpr")["program"]["unsupported"]
    assert [(u["primitive"], u["count"], u["stops"]) for u in found] == [("made_up", 1, ["grad", "vmap", "run"])]
    for args in (["run", "p.jaxpr"], ["residuals", "p.jaxpr"], ["transform", "p.jaxpr", "--apply", "vmap"]):
        done = cli.raw(*args)
        assert done.returncode == 3 and "made_up" in done.stderr
        one_line(done.stderr, 3)
    report = cli.json("report", "p.jaxpr")
    assert len(report["problems"]) >= 2 and all("made_up" in p for p in report["problems"]), report["problems"]


@pytest.mark.parametrize("command", ["open", "capture", "inspect", "print", "transform", "residuals", "split", "donation", "run", "plan", "policies",
                                     "export", "report", "samples"])
def test_help(cli, command):
    text = cli.ok(command, "--help")
    assert f"jaxscope {command}" in text and "--help" in text
    assert command in cli.ok("--help")


def test_version_and_limits(cli):
    assert re.fullmatch(r"jaxscope \d+\.\d+\.\d+\n", cli.ok("--version"))
    assert "nesting 256" in cli.ok("--limits")
    assert BINARY


def test_a_count_of_inputs_out_of_range_is_refused_by_the_reader(cli):
    """Rules take as many inputs as a parameter says: found by fuzzing, as 8 GiB for a vector of minus two thousand million."""
    capture = ROOT / "tests" / "fuzz" / "corpus" / "transform" / "negative_num_consts.json"
    done = cli.raw("residuals", str(capture))
    assert done.returncode == 2 and "custom_jvp_call: expected num_consts from 0 to 1, found -2147483647" in done.stderr


def test_a_report_without_a_plan_says_so_first(cli):
    (cli.folder / "unknown.jaxpr").write_text(TEXT.replace("sin c", "made_up c"))
    first = cli.ok("report", "unknown.jaxpr", "--no-run").split("Program", 1)[0]
    assert "In short" in first and "No peak is known: plan: " in first and "made_up" in first, first
    (cli.folder / "kept.jaxpr").write_text(TEXT.replace("sin c", "sin c\n    g:f32[3] = made_up d").replace("(e,)", "(e, g)"))
    said = cli.json("report", "kept.jaxpr", "--no-run")["verdict"]
    assert "made_up" in said[0] and all("keeps" in s for s in said[1:]), said
