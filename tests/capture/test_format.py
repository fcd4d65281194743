"""The format's page is enough to write a capture: its example is opened by every command, and mistakes in it are named where they are."""
import copy
import json
import re
import subprocess

import pytest
from conftest import ROOT

EXAMPLE = json.loads(re.findall(r"## 7 .*?```json\n(.*?)```", (ROOT / "docs" / "capture-format.md").read_text(), re.S)[0])
COMMANDS = [["inspect"], ["print"], ["residuals"], ["residuals", "--wrt", "0", "--expand"], ["split"], ["donation", "--donate", "0"], ["plan"], ["run"],
            ["policies", "--no-run"], ["transform", "--apply", "grad", "--print"], ["export", "--format", "json", "-o", "out.json"]]


def test_the_example_validates():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(json.loads((ROOT / "resources" / "capture.schema.json").read_text())).validate(EXAMPLE)


@pytest.fixture
def run(binary, tmp_path):
    def go(document, command, *words):
        (tmp_path / "a.jaxscope").write_text(json.dumps(document))
        return subprocess.run([binary, command, "a.jaxscope", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    return go


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("left_out", [[], ["in_paths", "donated"]], ids=["whole", "without paths"])
def test_every_command_takes_it(run, command, left_out):
    document = copy.deepcopy(EXAMPLE)
    for key in left_out:
        del document["program"][key]
    done = run(document, *command)
    assert done.returncode == 0, done.stderr


def test_inputs_without_names_have_some(run):
    document = copy.deepcopy(EXAMPLE)
    document["program"] = {"jaxpr": 0}
    found = json.loads(run(document, "inspect", "--json").stdout)["program"]["inputs"]
    assert [(i["path"], i["donated"]) for i in found] == [("in0", False), ("in1", False)]


def change(path, value):
    def to(document):
        at = document
        for key in path[:-1]:
            at = at[key]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = value
    return to


@pytest.mark.parametrize("mistake, place, words", [
    (change(["version"], 3), "$.version", "expected version 1 or 2"), (change(["format"], "json"), "$.format", "jaxscope.capture"),
    (change(["program"], None), "$", "'program'"), (change(["avals", 0, 0], "f32"), "$.avals[0][0]", "'f32'"),
    (change(["params", 0, "dimension_numbers"], None), "$.jaxprs[0].eqns[0]", "dimension_numbers"),
    (change(["jaxprs", 0, "eqns", 1, 1], [7]), "$.jaxprs[0].eqns[1][1][0]", "7"),
    (change(["jaxprs", 0, "eqns", 0, 2], [1]), "$.jaxprs[0].eqns[0]", "expected f32[2,3] from dot_general, found f32[2,4]"),
    (change(["sources"], None), "$.jaxprs[0].eqns[0][4]", "source"), (change(["program", "donated"], [True]), "$.program.donated", "2 inputs"),
])
def test_mistakes_are_named_where_they_are(run, mistake, place, words):
    document = copy.deepcopy(EXAMPLE)
    mistake(document)
    done = run(document, "print")
    first = done.stderr.splitlines()[0]
    assert done.returncode == 2 and first.startswith(f"jaxscope: a.jaxscope: {place}: ") and words in first, done.stderr
