"""The graph of an HTML report, in Chromium: it opens, closes, finds, moves, goes with the tables, and runs nothing that a program's text says."""
import html
import json
import re
import shutil
import subprocess

import pytest
import zstandard

from conftest import BINARY

ACTIONS = """<script>
const out = {}, all = q => [...document.querySelectorAll(q)];
const titles = () => all('.gnode, .gframe').map(e => e.getAttribute('aria-label'));
const press = (e, key) => e.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
const node = text => all('.gnode, .gframe').find(e => e.getAttribute('aria-label').startsWith(text));
const button = text => all('.gbar button').find(b => b.textContent === text || b.getAttribute('aria-label') === text);
const search = text => { const f = document.querySelector('.gbar input'); f.value = text; f.oninput(); return f; };
const box = () => document.querySelector('svg.gview').getAttribute('viewBox').split(' ').map(Number);
window.addEventListener('load', () => {
  try { %s } catch (e) { out.failed = String(e.stack); }
  const pre = document.createElement('pre');
  pre.id = 'told';
  pre.textContent = JSON.stringify(out);
  document.body.append(pre);
});
</script>"""


def in_chromium(page, script, tmp_path):
    driven = tmp_path / "driven.html"
    driven.write_text(page.read_text().replace("</body>", ACTIONS % script + "</body>"))
    done = subprocess.run([shutil.which("chromium") or "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", "--virtual-time-budget=4000",
                           f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", driven.as_uri()], capture_output=True, text=True, timeout=180)
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.S)
    assert told, done.stderr[-2000:]
    out = json.loads(html.unescape(told[1]))
    assert "failed" not in out, out["failed"]
    return out


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    page = tmp_path_factory.mktemp("html") / "report.html"
    subprocess.run([BINARY, "export", "sample:transformer_lm", "-o", page], check=True, capture_output=True, timeout=300)
    return page


def test_groups_open_and_close(report, tmp_path):
    out = in_chromium(report, """
      out.first = titles();
      const closed = node('attention, ');
      closed.onclick();
      out.details = document.querySelector('.gdetails').textContent;
      node('attention, ').onclick();
      out.opened = titles();
      press(node('attention, '), 'Enter');
      out.closed = titles();
      button('close all').click();
      out.none = titles().filter(t => t.endsWith(', open'));
    """, tmp_path)
    assert any(t.startswith("attention, ") and t.endswith(", closed") for t in out["first"])
    assert "attention" in out["details"] and "equations" in out["details"]
    assert any(t.startswith("attention, ") and t.endswith(", open") for t in out["opened"])
    assert len(out["opened"]) > len(out["first"]) and sorted(out["closed"]) == sorted(out["first"])
    assert out["none"] == []


def test_search_opens_what_it_finds(report, tmp_path):
    out = in_chromium(report, """
      button('close all').click();
      const f = search('dot_general');
      out.said = document.querySelector('.gbar .muted').textContent;
      press(f, 'Enter');
      out.at = document.querySelector('.gbar .muted').textContent;
      out.picked = all('.gnode.picked').map(e => e.getAttribute('aria-label'));
      search('no such thing');
      out.nothing = document.querySelector('.gbar .muted').textContent;
    """, tmp_path)
    found = int(out["said"].split()[0])
    assert found > 1 and out["at"] == f"1 of {found}" and len(out["picked"]) == 1 and "dot_general" in out["picked"][0]
    assert out["nothing"] == "nothing found"


def test_it_moves_and_zooms(report, tmp_path):
    out = in_chromium(report, """
      const svg = document.querySelector('svg.gview');
      out.start = box();
      button('zoom in').click();
      out.near = box();
      svg.onpointerdown({clientX: 100, clientY: 100});
      window.dispatchEvent(new PointerEvent('pointermove', {clientX: 160, clientY: 70}));
      window.dispatchEvent(new PointerEvent('pointerup'));
      out.moved = box();
      svg.dispatchEvent(new WheelEvent('wheel', {deltaY: 100, ctrlKey: true, clientX: 300, clientY: 300}));
      out.far = box();
      button('fit the picture to its frame').click();
      out.fit = box();
    """, tmp_path)
    assert out["near"][2] == pytest.approx(0.8 * out["start"][2])
    assert out["moved"][0] < out["near"][0] and out["moved"][1] > out["near"][1] and out["moved"][2] == out["near"][2]
    assert out["far"][2] > out["moved"][2]
    assert out["fit"] == pytest.approx(out["start"])


def test_tables_and_graph_show_the_same(report, tmp_path):
    out = in_chromium(report, """
      const row = all('tbody tr').find(r => r.textContent.includes("named 'mlp_in'"));
      row.click();
      out.line = document.querySelector('.gdetails').textContent;
      out.row = row.classList.contains('picked');
      const other = all('.gnode').find(e => e.textContent.includes('attn_out'));
      other.onclick();
      out.rows = all('tr.picked').map(r => r.textContent);
      out.told = document.querySelector('.gdetails button').textContent;
    """, tmp_path)
    assert out["row"] and "mlp_in" in out["line"] and "saves" in out["line"]
    assert any("attn_out" in r for r in out["rows"]) and out["told"].endswith("above")


def test_halves_are_graphs_too(report, tmp_path):
    out = in_chromium(report, """
      button('Unknown (backward)').click();
      out.unknown = titles().length;
      out.pressed = all('.gbar button[aria-pressed=true]').map(b => b.textContent);
      const rects = all('.gnode').map(e => e.querySelector('rect').getBBox());
      out.overlaps = rects.filter((a, i) => rects.some((b, j) => j > i && a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)).length;
    """, tmp_path)
    assert out["unknown"] > 10 and out["pressed"] == ["Unknown (backward)"] and out["overlaps"] == 0


PROGRAM = """{ lambda ; a:f32[3]. let
    b:f32[3] = jit[name=HOSTILE jaxpr={ lambda ; c:f32[3]. let d:f32[3] = sin c in (d,) }] a
    e:f32[] = reduce_sum[axes=(0,)] b
  in (e,) }
"""
HOSTILE = b"</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"


def test_a_programs_text_runs_nothing(tmp_path):
    text, program, page = (tmp_path / f"hostile.{ending}" for ending in ("jaxpr", "jaxscope", "html"))
    text.write_text(PROGRAM)
    subprocess.run([BINARY, "transform", text, "--apply", "grad", "-o", program], check=True, capture_output=True)
    capture = program.read_bytes()
    capture = capture if capture[:1] == b"{" else zstandard.ZstdDecompressor().decompressobj().decompress(capture)
    assert b"HOSTILE" in capture
    program.write_bytes(capture.replace(b"HOSTILE", HOSTILE))
    subprocess.run([BINARY, "export", program, "-o", page], check=True, capture_output=True, timeout=120)
    out = in_chromium(page, "out.pwned = window.pwned === undefined ? 0 : 1; out.titles = titles();", tmp_path)
    assert out["pwned"] == 0
    assert any("</script>" in t for t in out["titles"])


def test_it_works_offline(report):
    page = report.read_text()
    assert not re.search(r"""(src|href)\s*=\s*["']?https?:|@import|fetch\(|XMLHttpRequest|url\(""", page)
