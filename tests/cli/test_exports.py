"""Every export of a program whose names are hostile: well-formed, self-contained, nothing of a name taken for markup."""
import csv
import html.parser
import io
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

EVIL = "<script>alert('\"&]]>`|\\')</script>\n\x1b[31m\x07\x00{x}" + "n" * 300
VOID = {"meta", "input", "link", "br", "hr", "img"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    jax = pytest.importorskip("jax")
    import jaxscope

    source = "def f(p):\n    from jax import numpy as jnp\n    import jax\n    return loss(p)\ndef loss(p):\n    import jax\n    return (inner(p[KEY]) * 2.0).sum()\n"
    space = {"KEY": EVIL, "jax": jax}
    exec(compile(source, "/tmp/" + EVIL.replace("\0", "") + ".py", "exec"), space)

    def inner(x):
        from jax.ad_checkpoint import checkpoint_name
        return checkpoint_name(jax.numpy.sin(x), EVIL)

    inner.__name__ = EVIL
    space["inner"] = jax.jit(jax.checkpoint(inner))
    space["loss"].__name__ = space["loss"].__qualname__ = EVIL

    def step(p):
        return jax.grad(space["loss"])(p)

    step.__name__ = EVIL
    path = tmp_path_factory.mktemp("hostile") / "hostile.jaxscope"
    jaxscope.capture(step, donate_argnums=(0,), name=EVIL)({EVIL: jax.numpy.ones((64, 8)), "b": jax.numpy.ones(3)}).save(str(path))
    return str(path)


class Checker(html.parser.HTMLParser):
    """Tags are closed in order, and only ours are there."""

    def __init__(self):
        super().__init__()
        self.open, self.scripts = [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "href") and "http:" not in (value or "").replace("http://www.w3.org/2000/svg", ""), (tag, name, value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", data)


def test_html(cli, hostile):
    for program in (hostile, "sample:transformer_lm", "x.jaxpr"):
        cli.ok("export", program, "-o", "a.html")
        text = (cli.folder / "a.html").read_text()
        checker = Checker()
        checker.feed(text)
        data, *scripts = checker.scripts  # what a program's text says is data; the scripts are the same for all programs
        assert checker.open == [] and len(scripts) == 2 and not any("alert" in s for s in scripts)
        assert {g["name"] for g in json.loads(data)} >= {"Program"} and "<" not in data
        assert "prefers-color-scheme:dark" in text
        assert program != hostile or "&lt;script&gt;alert(" in text


@pytest.mark.parametrize("what", ["split", "program"])
def test_svg(cli, hostile, what):
    for program in (hostile, "sample:transformer_lm", "x.jaxpr"):
        cli.ok("export", program, "-o", "a.svg", "--what", what)
        root = ET.fromstring((cli.folder / "a.svg").read_text())
        tags = {e.tag.split("}")[1] for e in root.iter()}
        assert tags <= {"svg", "rect", "text", "path", "g", "title", "style"}
        assert all(not k.startswith("on") and "href" not in k for e in root.iter() for k in e.attrib)
        assert program != hostile or any("<script>" in (e.text or "") for e in root.iter())


@pytest.mark.parametrize("what", ["split", "program"])
def test_dot(cli, hostile, what):
    if not shutil.which("dot"):
        pytest.skip("Graphviz is not installed")
    for program in (hostile, "sample:transformer_lm", "sample:residuals", "x.jaxpr"):
        cli.ok("export", program, "-o", "a.dot", "--what", what)
        done = subprocess.run(["dot", "-Tplain", str(cli.folder / "a.dot")], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        nodes = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("node ")]
        assert len(nodes) >= 3 and all(re.fullmatch(r"(n|known|unknown)\d+", n) for n in nodes)


def test_markdown(cli, hostile):
    cli.ok("export", hostile, "-o", "a.md")
    text = (cli.folder / "a.md").read_text()
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<script" not in outside and not re.search(r"[\x00-\x08\x0b-\x1f]", text)
    for block in text.split("\n\n"):  # tables have as many cells in each row
        rows = [re.findall(r"(?<!\\)\|", line) for line in block.splitlines() if line.startswith("|")]
        assert len({len(r) for r in rows}) <= 1, block


def test_files_for_other_tools(cli, hostile):
    for ending in ("mermaid", "csv", "perfetto.json", "model-explorer.json", "node-data.json", "pprof"):
        for program in (hostile, "x.jaxpr"):
            if program == "x.jaxpr" and ending in ("node-data.json",):
                continue
            cli.ok("export", program, "-o", f"a.{ending}")
            data = (cli.folder / f"a.{ending}").read_bytes()
            if ending.endswith("json"):
                assert json.loads(data)
            if ending == "mermaid":
                assert "<script" not in data.decode() and not re.search(r"[\x00-\x09\x0b-\x1f]", data.decode())
            if ending == "csv":
                rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
                assert len({len(r) for r in rows}) == 1 and not any(c[:1] in "=+-@" for r in rows for c in r if c and not c.lstrip("-").isdigit())


def test_all_rows(cli):
    cli.ok("export", "sample:transformer_lm", "-o", "a.md")
    cli.ok("export", "sample:transformer_lm", "-o", "b.md", "--all")
    rows = [sum("params\\['blocks'\\]" in line for line in (cli.folder / f).read_text().splitlines()) for f in ("a.md", "b.md")]
    assert 0 < rows[0] < rows[1] / 3


def test_pictures(cli, hostile):
    if not shutil.which("rsvg-convert"):
        assert "librsvg2-bin" in cli.raw("export", hostile, "-o", "a.png").stderr
        return
    cli.ok("export", hostile, "-o", "a.png")
    cli.ok("export", hostile, "-o", "a.pdf")
    assert (cli.folder / "a.png").read_bytes().startswith(b"\x89PNG") and (cli.folder / "a.pdf").read_bytes().startswith(b"%PDF")


def test_json_and_pages(cli, hostile, schema):
    for command in ("inspect", "residuals", "split", "donation", "plan", "report"):
        args = [command, hostile, *(["--no-run"] if command == "report" else [])]
        found = cli.json(*args)
        schema.validate(found)
        for all_rows in ([], ["--all"]):
            text = cli.ok(*args, *all_rows)
            assert not re.search(r"[\x00-\x09\x0b-\x1f]", text.replace(EVIL, ""))
    assert cli.json("inspect", hostile)["program"]["name"].startswith("<script>")


def test_pages_fit_the_columns_that_are_said(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for args in (["report", "sample:transformer_lm", "--no-run"], ["residuals", "sample:transformer_lm", "--expand"], ["donation", "sample:transformer_lm"],
                 ["samples", "mlp"], ["report", "sample:residuals"]):
        for line in cli.ok(*args).splitlines():
            if "│" not in line and not line.startswith("  source: "):
                assert len(line) <= 110, line


def test_files_and_pipes_get_whole_lines(cli, monkeypatch):
    """A terminal's width is no concern of theirs: nothing loses its middle, no sentence is broken."""
    monkeypatch.delenv("COLUMNS", raising=False)
    long = "a_name_that_goes_on_" * 12
    (cli.folder / "long.jaxpr").write_text(f"{{ lambda ; a:f32[8]. let b:f32[8] = name[name={long}] a; c:f32[8] = mul b b; d:f32[] = reduce_sum[axes=(0,)] c in (d,) }}")
    assert long in cli.ok("residuals", "long.jaxpr")
    monkeypatch.setenv("COLUMNS", "80")
    narrow = cli.ok("residuals", "long.jaxpr")
    assert long not in narrow and "\u2026" in narrow and max(map(len, narrow.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "wide")  # no number: as if it weren't there
    assert long in cli.ok("residuals", "long.jaxpr")
