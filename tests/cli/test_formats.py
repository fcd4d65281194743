"""Files that other tools read: their structure as those tools expect it, and our figures in them."""
import contextlib
import csv
import dataclasses
import io
import json
import types
import typing

import pytest

SAMPLE = "sample:mlp"


def export(cli, ending, *args, program=SAMPLE):
    out = cli.folder / f"x.{ending}"
    cli.ok("export", program, "-o", str(out), *args)
    return out.read_bytes()


def test_perfetto_counts_what_the_plan_counts(cli):
    trace = json.loads(export(cli, "perfetto.json", program="sample:transformer_lm"))
    events = trace["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "C", "X"} and all(e["pid"] in (1, 2) for e in events)
    live = [sum(e["args"].values()) for e in events if e["ph"] == "C"]
    plan = cli.json("plan", "sample:transformer_lm")["memory"]
    assert 0.8 * plan["planned_peak"] < max(live) <= plan["planned_peak"]
    buffers = [e for e in events if e["ph"] == "X" and e["pid"] == 2]
    assert any(b["args"].get("file", "").endswith(".py") and b["args"]["line"] > 0 for b in buffers)
    # A row never holds two buffers at once, and at every step the rows hold what the counter says.
    at = [0] * len(live)
    rows = {}
    for b in sorted(buffers, key=lambda b: b["ts"]):
        assert rows.get(b["tid"], 0) <= b["ts"]
        rows[b["tid"]] = b["ts"] + b["dur"]
        for step in range(b["ts"], b["ts"] + b["dur"]):
            at[step] += b["args"]["bytes"]
    assert at == live


def test_model_explorer_has_every_equation_and_what_is_saved(cli):
    program = "sample:transformer_lm"
    graph, = json.loads(export(cli, "model-explorer.json", program=program))["graphs"]
    nodes = {n["id"]: n for n in graph["nodes"]}
    assert len(nodes) == len(graph["nodes"])
    for n in graph["nodes"]:
        assert set(n) == {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"}
        assert all(e["sourceNodeId"] in nodes for e in n["incomingEdges"])
    assert any(n["namespace"].count("/") >= 2 for n in graph["nodes"])
    assert sum(n["label"].startswith("dot_general") for n in graph["nodes"]) > 10
    data = json.loads(export(cli, "node-data.json", program=program))["program"]["results"]
    assert data and set(data) <= set(nodes), set(data) - set(nodes)
    made = [r for r in cli.json("residuals", program)["residuals"] if r["equation"]]
    assert 0 < sum(d["value"] for d in data.values()) <= sum(r["bytes"] for r in made)


def built(kind, value):
    """`value` as Model Explorer's own classes hold it: a key that they lack, or a value of another type, is refused."""
    if dataclasses.is_dataclass(kind):
        fields = typing.get_type_hints(kind)
        assert isinstance(value, dict) and set(value) <= set(fields), (kind, value)
        return kind(**{k: built(fields[k], v) for k, v in value.items()})
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        return [built(inner[0], v) for v in value]
    if origin is dict:
        return {k: built(inner[1], v) for k, v in value.items()}
    if origin in (typing.Union, types.UnionType):
        for one in inner:
            with contextlib.suppress(AssertionError, TypeError):
                return built(one, value)
    assert inner == () and isinstance(value, kind), (kind, value)
    return value


@pytest.mark.parametrize("program", [SAMPLE, "sample:transformer_lm", "sample:llama_7b", "x.jaxpr"])
def test_model_explorers_own_package_reads_what_is_written(cli, program):
    """`pip install ai-edge-model-explorer` (660 MB with what it needs, so not among the requirements)."""
    graph_builder = pytest.importorskip("model_explorer.graph_builder")
    from model_explorer import node_data_builder
    graph, = built(graph_builder.GraphCollection, json.loads(export(cli, "model-explorer.json", program=program))).graphs
    ids = {n.id for n in graph.nodes}
    assert len(ids) == len(graph.nodes) > 0 and all(e.sourceNodeId in ids for n in graph.nodes for e in n.incomingEdges)
    if program != "x.jaxpr":
        data = {k: built(node_data_builder.GraphNodeData, v) for k, v in json.loads(export(cli, "node-data.json", program=program)).items()}
        assert set(data["program"].results) <= ids and json.loads(node_data_builder.ModelNodeData(data).to_json_string())


def test_mermaid_is_a_flowchart(cli):
    text = export(cli, "mermaid").decode()
    lines = text.splitlines()
    assert lines[0] == "flowchart TB" and text.count("subgraph") == sum(line.strip() == "end" for line in lines)
    assert "==>" in text  # a residual crosses


def fields(data: bytes):
    """The fields of a protocol buffers message: numbers and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size


def test_pprof_sums_by_line_are_the_residuals(cli):
    profile = list(fields(export(cli, "pprof")))
    strings = [v.decode() for k, v in profile if k == 6]
    types = [strings[dict(fields(v))[1]] for k, v in profile if k == 1]
    assert types == ["residuals", "peak"] and strings[0] == ""
    locations = {dict(fields(v))[1] for k, v in profile if k == 4}
    functions = {dict(fields(v))[1]: strings[dict(fields(v))[2]] for k, v in profile if k == 5}
    kept = 0
    for k, v in profile:
        if k == 2:
            parts = list(fields(v))
            assert all(n in locations for f, n in parts if f == 1) and [f for f, _ in parts].count(2) == 2
            kept += [n for f, n in parts if f == 2][0]
    assert kept == cli.json("residuals", SAMPLE)["total_bytes"]
    assert "predict" in functions.values()


@pytest.mark.parametrize("what", ["residuals", "donation", "memory", "policies", "inputs", "outputs"])
def test_csv_holds_the_rows_of_the_report(cli, what):
    rows = list(csv.DictReader(io.StringIO(export(cli, "csv", "--what", what).decode(), newline="")))
    command = {"residuals": ("residuals", "residuals"), "donation": ("donation", "donated"), "policies": ("policies", "policies")}
    if what in command:
        name, key = command[what]
        there = cli.json(name, SAMPLE, *(["--no-run"] if name == "policies" else []))[key]
    elif what == "memory":
        there = cli.json("plan", SAMPLE)["memory"]["at_peak"]
    else:
        there = cli.json("inspect", SAMPLE)["program"][what]
    assert len(rows) == len(there) > 0
    for row, expected in zip(rows, there):
        assert all(row[k].lstrip("'") == ("" if v is None else str(v).lower() if isinstance(v, bool) else str(v))
                   for k, v in expected.items() if k in row and not isinstance(v, float)), (row, expected)
