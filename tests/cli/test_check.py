"""`jaxscope check`, the gate of a CI: what it finds, where it points, its formats as their own clients read them."""
import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

import junitparser
import pytest
import sarif_pydantic
import yaml

import two_gradients
from conftest import BINARY, ROOT

LM = "sample:transformer_lm"


def check(cli, *args, code=None):
    done = cli.raw("check", *args)
    assert done.returncode in (0, 1) if code is None else done.returncode == code, done.stderr + done.stdout
    return done.stdout


def findings(cli, *args):
    return json.loads(check(cli, *args, "--format", "json"))["findings"]


def test_within_its_limits_it_passes(cli, schema):
    figures = json.loads(check(cli, LM, "--json", code=0))["programs"][0]
    found = json.loads(check(cli, LM, "--json", "--max-peak", str(figures["planned_peak"]), "--max-residuals", str(figures["residual_bytes"]),
                             "--max-recomputed", "50", "--no-unsupported", code=0))
    schema.validate(found)
    assert found["passed"] and found["findings"] == []
    (held,) = found["programs"]
    assert figures == {**held, "rules": []} and held["rules"] == ["peak", "residuals", "recomputed", "unsupported"]


def test_no_limit_is_no_pass_without_a_word(cli):
    (one,) = findings(cli, LM)
    assert (one["rule"], one["level"]) == ("no-limit", "warning")
    assert check(cli, LM, code=0).splitlines()[1] == "check: no limit was given, nothing is held to anything"


MOVES_CURSORS = "e\x1b[31mv|<b>\x9bK\n::error::x.jaxpr"


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "markdown", "github"])
def test_names_move_no_cursor_and_open_no_tag(cli, form):
    (cli.folder / MOVES_CURSORS).write_text((cli.folder / "x.jaxpr").read_text())
    said = check(cli, MOVES_CURSORS, "--max-peak", "1", "--format", form, code=1)
    assert not set(said) & {chr(c) for c in [*range(0x20), *range(0x7F, 0xA0)]} - {"\n"}
    if form == "json":
        assert json.loads(said)["programs"][0]["file"] == MOVES_CURSORS
    elif form == "sarif":
        assert json.loads(said)["runs"][0]["results"][0]["properties"]["program"] == MOVES_CURSORS
    elif form == "github":
        assert len(said.splitlines()) == 1 and r"e\x1b[31mv|<b>\xc2\x9bK%0A%3A%3Aerror" in said
    elif form == "markdown":
        assert "<b>" not in said and len(said.splitlines()) == 9
    elif form == "junit":
        assert xml.fromstring(said)[0].get("name") == MOVES_CURSORS.replace("\x1b", r"\x1b").replace("\x9b", r"\xc2\x9b")


def test_one_byte_too_much_fails_at_the_users_line(cli):
    figures = json.loads(check(cli, LM, "--json", code=0))["programs"][0]
    for flag, rule, measured in (("--max-peak", "peak", figures["planned_peak"]), ("--max-residuals", "residuals", figures["residual_bytes"])):
        (one,) = findings(cli, LM, flag, str(measured - 1))
        assert (one["rule"], one["level"], one["measured"], one["limit"]) == (rule, "error", measured, measured - 1)
        assert one["file"].endswith(".py") and one["line"] > 0


def test_the_remedy_is_what_policies_says(cli):
    rows = {r["policy"]: r for r in json.loads(cli.ok("policies", LM, "--no-run", "--json"))["policies"]}
    limit = rows["nothing_saveable"]["residual_bytes"]
    (one,) = findings(cli, LM, "--max-residuals", str(limit))
    assert "nothing_saveable around the function is within the limit" in one["remedy"]
    (one,) = findings(cli, LM, "--max-residuals", str(limit - 1))
    assert one["remedy"].startswith("no standard policy") and "the least is" in one["remedy"]


def test_names(cli):
    saved = {r["name"] for r in json.loads(cli.ok("residuals", LM, "--json"))["residuals"] if r["name"]}
    assert saved
    name = sorted(saved)[0]
    assert findings(cli, LM, "--must-save", name) == []
    assert {f["rule"] for f in findings(cli, LM, "--must-not-save", name)} == {"must-not-save"}
    (one,) = findings(cli, LM, "--must-save", "nobody")
    assert one["message"].startswith("expected a value named 'nobody' to be saved, found these names saved: ")


def test_donations_and_what_cannot_be_differentiated(cli):
    Path(cli.folder / "eigh.jaxpr").write_text("{ lambda ; a:f32[3]. let b:f32[3] = frobnicate a; c:f32[] = reduce_sum[axes=(0,)] b in (c,) }")
    (one,) = findings(cli, "eigh.jaxpr", "--no-unsupported")
    assert one["rule"] == "unsupported" and "frobnicate" in one["message"]
    (one,) = findings(cli, "eigh.jaxpr", "--max-residuals", "1G")
    assert one["rule"] == "cannot-check" and "frobnicate" in one["message"]
    assert findings(cli, "eigh.jaxpr", "--no-unused-donations") == []  # nothing was asked about it that it stops


def test_growth_against_an_earlier_report(cli):
    Path(cli.folder / "base.json").write_text(check(cli, LM, "--json", code=0))
    assert findings(cli, LM, "--baseline", "base.json", "--max-residual-growth", "0", "--max-peak-growth", "0") == []
    base = json.loads(Path(cli.folder / "base.json").read_text())
    base["programs"][0]["residual_bytes"] //= 2
    Path(cli.folder / "base.json").write_text(json.dumps(base))
    (one,) = findings(cli, LM, "--baseline", "base.json", "--max-residual-growth", "99")
    assert one["rule"] == "residual-growth" and abs(one["measured"] - 100) < 1
    (one,) = findings(cli, "sample:mlp", "--baseline", "base.json", "--max-residual-growth", "5")
    assert (one["rule"], one["level"]) == ("no-baseline", "error") and "--baseline" in one["remedy"]
    Path(cli.folder / "budgets.json").write_text(json.dumps({"defaults": {"max_peak_growth": 5}}))
    assert json.loads(check(cli, LM, "--budgets", "budgets.json", "--json", code=1))["findings"][0]["rule"] == "no-baseline"
    Path(cli.folder / "residuals.json").write_text(cli.ok("residuals", LM, "--json"))
    assert findings(cli, LM, "--baseline", "residuals.json", "--max-residual-growth", "0") == []


def test_markdown_has_before_and_after(cli):
    Path(cli.folder / "base.json").write_text(check(cli, LM, "--json", code=0))
    was = json.loads(Path(cli.folder / "base.json").read_text())
    row = was["programs"][0]
    peak = row["planned_peak"]
    row["residual_bytes"] *= 4
    Path(cli.folder / "base.json").write_text(json.dumps(was))
    page = check(cli, LM, "sample:mlp", "--baseline", "base.json", "--format", "markdown", "--max-peak", "1G", code=0)
    known, new = (line.split(" | ") for line in page.splitlines() if line.startswith("| sample:"))
    assert known[1] == f"{size(peak)} (as before)" and known[3] == f"{size(row['residual_bytes'])} → {size(row['residual_bytes'] // 4)} (-75 %)"
    assert new[1].endswith(" (new)") and new[3].endswith(" (new)")
    plain = check(cli, LM, "--format", "markdown", "--max-peak", "1G", code=0)
    assert "→" not in plain and "before" not in plain and "(new)" not in plain


def size(n):
    return f"{n / 2 ** 20:.3g} MiB" if n / 2 ** 20 >= 100 else f"{n / 2 ** 20:.1f} MiB" if n / 2 ** 20 >= 10 else f"{n / 2 ** 20:.2f} MiB"


def test_budgets_by_program(cli):
    shutil.copy(ROOT / "samples" / "captures" / "transformer_lm.jaxscope", cli.folder / "lm.jaxscope")
    shutil.copy(ROOT / "samples" / "captures" / "mlp.jaxscope", cli.folder / "mlp.jaxscope")
    os.makedirs(cli.folder / "ci")
    Path(cli.folder / "ci" / "budgets.json").write_text(json.dumps({
        "defaults": {"max_residuals": "1K"}, "programs": {"../lm.jaxscope": {"max_residuals": "1G"}, "../mlp.jaxscope": {}}}))
    (one,) = findings(cli, "--budgets", "ci/budgets.json")
    assert one["program"].endswith("mlp.jaxscope") and one["limit"] == 1024
    # In parts: whoever isn't given is named, and fails nothing.
    (other,) = json.loads(check(cli, "lm.jaxscope", "--budgets", "ci/budgets.json", "--json", code=0))["findings"]
    assert (other["rule"], other["level"]) == ("no-budget", "warning") and "mlp.jaxscope" in other["message"]
    # A file that no entry names, beside entries that name nothing: a misspelt limit holds for nobody.
    Path(cli.folder / "ci" / "budgets.json").write_text(json.dumps({"programs": {"../transformer_ml.jaxscope": {"max_residuals": 1}}}))
    first = json.loads(check(cli, "lm.jaxscope", "--budgets", "ci/budgets.json", "--json", code=1))["findings"][0]
    assert (first["rule"], first["level"]) == ("no-budget", "error") and "For the defaults alone" in first["remedy"]
    Path(cli.folder / "ci" / "mine.json").write_text(json.dumps({"programs": {"../langauge.jaxscope": {"max_residuals": 1}}}))
    shutil.copy(cli.folder / "lm.jaxscope", cli.folder / "language.jaxscope")
    first = json.loads(check(cli, "language.jaxscope", "--budgets", "ci/mine.json", "--json", code=1))["findings"][0]
    assert "did you mean language where it says langauge?" in first["remedy"]
    # A capture made elsewhere is known by its own name, where one entry and one file have it.
    os.makedirs(cli.folder / "made")
    shutil.move(cli.folder / "lm.jaxscope", cli.folder / "made" / "lm.jaxscope")
    Path(cli.folder / "ci" / "budgets.json").write_text(json.dumps({"programs": {"../lm.jaxscope": {"max_residuals": 1}}}))
    assert [f["rule"] for f in findings(cli, "made/lm.jaxscope", "--budgets", "ci/budgets.json")] == ["residuals", "no-budget"]


@pytest.mark.parametrize("text,message", [
    ('{"programs": {"a": {"max_peek": 1}}}', "$.programs['a']: expected a limit that jaxscope knows, found 'max_peek'"),
    ('{"programs": {"a": {"max_peak": "much"}}}', "$.programs['a'].max_peak: expected a size in bytes, or one such as \"1.5G\", found \"much\""),
    ('{"defaults": {"max_recomputed": -1}}', "$.defaults.max_recomputed: expected a percentage from 0, found -1"),
    ('{"defaults": {"must_save": "h"}}', "$.defaults.must_save: expected a list of names, found \"h\""),
    ('{"default": {}}', "expected `defaults` and `programs`, found 'default'"),
    ('{"programs":\n {"a"}}', "expected JSON, found that it ends or breaks at byte"),
    ("[]", "$: expected an object with `defaults` and `programs`, found []"),
    ('{"programs": {"a": {"max_peak": "1G", "max_peak": "99G"}}}', "expected each key once, found 'max_peak' twice"),
])
def test_budgets_that_are_none(cli, text, message):
    Path(cli.folder / "budgets.json").write_text(text)
    done = cli.raw("check", LM, "--budgets", "budgets.json")
    assert done.returncode == 2 and message in done.stderr and done.stderr.startswith("jaxscope: budgets.json"), done.stderr


@pytest.mark.parametrize("args,message", [
    ([], "expected programs to check, found none"),
    ([LM, "--format", "yaml"], "expected text, json, sarif, junit, markdown or github after --format, found 'yaml'"),
    ([LM, "--max-peak-growth", "5"], "expected --baseline REPORT.json beside a limit on growth, found none"),
    ([LM, "--baseline", "nothing.json"], "expected a report to compare with, found no file 'nothing.json'"),
    ([LM, "--max-peak", "much"], "found 'much'"),
])
def test_usage(cli, args, message):
    done = cli.raw("check", *args)
    assert done.returncode == 2 and message in done.stderr


@pytest.mark.parametrize("words", [["check", LM, "--max-peak", ""], ["check", LM, "--budgets", "", "--max-residuals", "100G"], ["plan", LM, "--target", ""],
                                   ["plan", LM, "--budget", ""], ["residuals", LM, "--policy", ""], ["check", LM, "--must-save", ""]])
def test_a_variable_that_is_not_set_opens_no_gate(cli, words):
    done = cli.raw(*words)
    assert done.returncode == 2 and "expected a value after --" in done.stderr and "found an empty one" in done.stderr, done.stderr


def test_a_wrong_target_is_a_wrong_command(cli):
    assert check(cli, LM, "--target", "tpu:v99", code=2) == ""


def test_a_file_that_cannot_be_read_fails_alone(cli):
    report = json.loads(check(cli, "nothing.jaxscope", "sample:mlp", "--json", "--max-peak", "1G", code=1))
    assert [f["rule"] for f in report["findings"]] == ["cannot-check"]
    assert [p["planned_peak"] is None for p in report["programs"]] == [True, False]


def test_many_files_are_told_in_the_order_given(cli):
    files = ["sample:mlp", LM, "sample:residuals", "sample:transformer_lm_scan"] * 4
    reports = [json.loads(check(cli, *files, "--max-residuals", "1K", "--json", "--jobs", jobs)) for jobs in ("1", "4")]
    assert reports[0] == reports[1]
    assert [p["file"] for p in reports[0]["programs"]] == files


HOSTILE = 'a|b<c>&"d,e:f%.jaxpr'


def hostile(cli):
    Path(cli.folder / HOSTILE).write_text("{ lambda ; a:f32[8]. let b:f32[8] = sin a; c:f32[] = reduce_sum[axes=(0,)] b in (c,) }")
    return [HOSTILE, "--max-residuals", "1"]


def test_sarif_as_its_client_reads_it(cli):
    text = check(cli, *hostile(cli), LM, "--format", "sarif", code=1)
    log = sarif_pydantic.Sarif.model_validate_json(text)
    (run,) = log.runs
    rules = {rule.id for rule in run.tool.driver.rules}
    assert len(run.results) == 2 and all(r.rule_id in rules for r in run.results)
    uris = [r.locations[0].physical_location.artifact_location.uri for r in run.results]
    assert uris[0] == "a%7Cb%3Cc%3E%26%22d%2Ce%3Af%25.jaxpr"
    assert run.results[1].locations[0].physical_location.region.start_line > 0


def test_junit_as_its_client_reads_it(cli):
    text = check(cli, *hostile(cli), "sample:mlp", "--format", "junit", code=1)
    xml.fromstring(text)
    suites = list(junitparser.JUnitXml.fromstring(text.encode()))
    assert [s.name for s in suites] == [HOSTILE, "sample:mlp"]
    assert [[c.name for c in s if c.result] for s in suites] == [["residuals"], ["residuals"]]
    for s in suites:
        assert (s.tests, s.failures) == (1, 1)  # what nobody asked for is no case
    passed = list(junitparser.JUnitXml.fromstring(check(cli, LM, "--format", "junit", code=0).encode()))
    assert sum(1 for c in passed[0] if c.result) == 0


def test_junit_is_utf_8_whatever_files_are_called(cli):
    name = os.fsencode(cli.folder) + b"/na\xefme.jaxpr"
    shutil.copy(cli.folder / "x.jaxpr", name)
    done = subprocess.run([BINARY, "check", name, "--max-peak", "1", "--format", "junit"], capture_output=True, timeout=120)
    assert xml.fromstring(done.stdout)[0].get("name").endswith("na\\xefme.jaxpr")


TWO = two_gradients.source(rows=1024)


@pytest.fixture
def two(cli, monkeypatch):
    monkeypatch.setenv("JAXSCOPE_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
    os.makedirs(cli.folder / "src")
    Path(cli.folder / "src" / "two.py").write_text(TWO)
    cli.ok("capture", "src/two.py:program", "-o", "two.jaxscope")
    return "two.jaxscope"


def test_limits_hold_for_every_differentiation(cli, two):
    kept = [json.loads(cli.ok("residuals", two, "--json", "--region", n))["total_bytes"] for n in "01"]
    assert kept[0] < kept[1]
    report = json.loads(check(cli, two, "--max-residuals", str(kept[0]), "--json", code=1))
    (one,) = report["findings"]
    assert one["measured"] == kept[1] == report["programs"][0]["residual_bytes"] and "in critic (region 1)" in one["message"] + one["remedy"]
    check(cli, two, "--max-residuals", str(kept[0]), "--region", "0", code=0)
    check(cli, two, "--must-save", "act", code=0)  # the one that has the name saves it
    (saved,) = findings(cli, two, "--must-not-save", "act")  # blocks of one line
    assert "5 values such as" in saved["message"] and "region 1" in saved["message"] and saved["remedy"]


def test_findings_stand_at_files_as_seen_from_here(cli, two):
    (one,) = findings(cli, two, "--max-residuals", "1", "--region", "1")
    assert one["file"] == "src/two.py"
    os.makedirs(cli.folder / "old")
    Path(cli.folder / "old" / "two.py").write_text(TWO + "# changed since\n")
    (one,) = findings(cli, two, "--max-residuals", "1", "--region", "1")
    assert one["file"] == "src/two.py"  # the one that the capture was made from
    shutil.copy(cli.folder / "src" / "two.py", cli.folder / "old" / "two.py")
    one, note = findings(cli, two, "--max-residuals", "1", "--region", "1")
    assert one["file"] == "two.py" and note["level"] == "note" and "old/two.py, src/two.py" in note["message"]
    cli.ok("capture", "src/two.py:undonated", "-o", "two.jaxscope")
    (lost,) = [f for f in findings(cli, two, "--no-unused-donations", "--project", "src") if f["rule"] == "unused-donation"]
    assert lost["file"] == "src/two.py" and lost["line"] > 0 and lost["remedy"].startswith("don't donate x")


def test_github_and_markdown_take_nothing_of_a_name_for_their_own(cli):
    annotation = check(cli, *hostile(cli), "--format", "github", code=1)
    assert annotation.startswith('::error file=a|b<c>&"d%2Ce%3Af%25.jaxpr,title=jaxscope residuals::')
    rows = [line for line in check(cli, *hostile(cli), "--format", "markdown", code=1).splitlines() if line.startswith("| a")]
    assert all(line.replace("\\|", "").count("|") in (5, 7) and "<c>" not in line for line in rows) and rows


def test_text_says_the_answer_first(cli):
    lines = check(cli, LM, "--max-residuals", "20M", code=1).splitlines()
    assert lines[1] == "check failed: 0 of 1 program within budget"
    assert "the backward pass keeps" in lines[2] and "[residuals]" in lines[2]


@pytest.fixture
def project(tmp_path) -> dict:
    """A repository with a training step and a budget, and jaxscope on PATH."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "jaxscope").symlink_to(BINARY)
    python = ROOT / ".venv" / "bin"
    env = {**os.environ, "PATH": f"{bin_}:{python}:{os.environ['PATH']}", "JAX_PLATFORMS": "cpu"}
    (tmp_path / "train.py").write_text("import jax.numpy as jnp\ndef program():\n    return dict(fn=lambda x: jnp.sin(jnp.cos(x)).sum(), args=(jnp.ones(256),))\n")
    return {"cwd": tmp_path, "env": env, "capture_output": True, "text": True, "timeout": 300}


def budget(project, size):
    """The program's own limit: the defaults have none."""
    (project["cwd"] / "budgets.json").write_text(json.dumps({"programs": {"train.jaxscope": {"max_residuals": size}}}))


def test_the_workflow_in_docs(project):
    steps = yaml.safe_load((ROOT / "docs" / "ci" / "memory.yml").read_text())["jobs"]["memory"]["steps"]
    for size, codes in (("1M", [0, 0, 0]), (1, [0, 1, 0])):
        budget(project, size)
        assert [subprocess.run(["bash", "-ec", s["run"]], **project).returncode for s in steps if "run" in s and s.get("name") != "Install"] == codes
        sarif_pydantic.load(project["cwd"] / "memory.sarif")


def test_the_hook_in_docs(project):
    def git(*args):
        return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *args], **project)
    git("init", "-q")
    (project["cwd"] / ".gitignore").write_text("bin\n")
    shutil.copy(ROOT / "docs" / "ci" / "pre-commit", project["cwd"] / ".git" / "hooks" / "pre-commit")
    budget(project, 1)
    git("add", ".")
    refused = git("commit", "-qm", "x")
    assert refused.returncode == 1 and "check failed" in refused.stdout + refused.stderr
    budget(project, "1M")
    git("add", ".")
    accepted = git("commit", "-qm", "x")
    assert accepted.returncode == 0, accepted.stdout + accepted.stderr
