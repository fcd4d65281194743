"""What `--json` prints: one object, valid under the published schema, with the fields that scripts may rely on."""
import json

import pytest

from conftest import BINARY, ROOT, TEXT

RESIDUAL = {"aval", "source", "bytes", "file", "line", "frames", "equation", "name"}
MEMORY = {"of", "arguments", "outputs", "aliased", "temporaries", "planned_peak", "measured_peak", "at_peak"}
TIME = {"load", "transform", "compile", "first_run", "run_median", "run_min"}
POLICY = {"policy", "of", "residual_bytes", "planned_peak", "measured_peak", "recomputed_flops", "total_flops", "run_median"}
PROGRAM = {"name", "jax_version", "equations", "primitives", "inputs", "outputs", "jaxprs", "regions", "unsupported"}
SAMPLES = ["sample:mlp", "sample:residuals", "sample:transformer_lm_scan", "x.jaxpr"]

COMMANDS = {
    "inspect": (["inspect"], {"program"}),
    "print": (["print"], {"text"}),
    "print --source": (["print", "--source"], {"text"}),
    "residuals": (["residuals"], {"wrt", "region", "residuals", "total_bytes"}),
    "residuals --expand": (["residuals", "--expand", "--wrt", "all"], {"wrt", "region", "residuals", "total_bytes"}),
    "residuals --policy": (["residuals", "--policy", "dots_saveable"], {"wrt", "region", "residuals", "total_bytes"}),
    "split": (["split"], {"known", "unknown", "residuals", "recomputed"}),
    "donation": (["donation"], {"donated", "warning", "saved_bytes"}),
    "plan": (["plan", "--device-memory", "1G"], {"memory"}),
    "policies": (["policies", "--no-run"], {"policies"}),
    "transform": (["transform", "--apply", "simplify", "--print"], {"program", "text"}),
    "report": (["report", "--no-run"], {"program", "text", "residuals", "known", "unknown", "donated", "memory", "time", "policies", "problems"}),
}


def test_the_published_schema_is_that_of_the_binary(cli):
    assert cli.ok("samples", "--schema") == (ROOT / "resources" / "report.schema.json").read_text()


@pytest.mark.parametrize("program", SAMPLES)
@pytest.mark.parametrize("name", COMMANDS)
def test_json_of_every_command(cli, schema, name, program):
    words, fields = COMMANDS[name]
    found = cli.json(words[0], program, *words[1:])
    schema.validate(found)
    assert found["schema"] == "jaxscope.report/1" and found["command"] == words[0]
    assert fields <= set(found)
    if "memory" in fields:
        assert MEMORY <= set(found["memory"]) and found["memory"]["measured_peak"] is None
    if "policies" in fields:
        assert all(POLICY <= set(row) for row in found["policies"])
    if "residuals" in fields and name != "split":
        assert all(RESIDUAL <= set(row) for row in found["residuals"])
        assert found["total_bytes"] == sum(row["bytes"] for row in found["residuals"])
    if "program" in fields:
        assert PROGRAM <= set(found["program"])


def test_run_and_report_say_the_same(cli, schema):
    run = cli.json("run", "sample:mlp", "--repeat", "2")
    report = cli.json("report", "sample:mlp")
    for found in (run, report):
        schema.validate(found)
        assert MEMORY <= set(found["memory"]) and found["memory"]["measured_peak"] > 0
        assert TIME <= set(found["time"]) and found["time"]["load"] > 0
    assert report["outputs"] == run["outputs"] and report["synthesised"] == run["synthesised"] == []
    for command, fields in (("residuals", ["wrt", "region", "residuals", "total_bytes"]), ("split", ["known", "unknown", "recomputed"]),
                            ("donation", ["donated", "warning", "saved_bytes", "findings"]), ("inspect", ["program"]), ("print", ["text"])):
        alone = cli.json(command, "sample:mlp")
        assert {f: alone[f] for f in fields} == {f: report[f] for f in fields}, command


def test_outputs_are_written_as_the_conventions_say(cli, tmp_path):
    """Up to 128 elements all values, else sums and the first 16."""
    np = pytest.importorskip("numpy")
    text = ("{ lambda ; a:f32[200] b:i32[2,3] c:c64[2] d:bool[2]. let e:f32[200] = add a 1.0:f32[]; f:i32[2,3] = neg b; g:c64[2] = conj[input_dtype=complex64] c\n"
            "    h:f32[2] = div 1.0:f32[] 0.0:f32[] in (e, f, g, d) }").replace("h:f32[2] = div 1.0:f32[] 0.0:f32[] ", "")
    (tmp_path / "p.jaxpr").write_text(text)
    a = np.arange(200, dtype=np.float32)
    np.savez(tmp_path / "in.npz", arg0=a, arg1=np.array([[1, -2, 3], [4, 5, 6]], np.int32), arg2=np.array([1 + 2j, np.inf], np.complex64),
             arg3=np.array([True, False]))
    found = cli.json("run", "p.jaxpr", "--inputs", "in.npz", "--outputs", "out.npz")["outputs"]
    e = (a + 1).astype(np.float64)
    assert found[0]["sum"] == e.sum() and found[0]["first16"] == list(e[:16]) and "values" not in found[0]
    assert found[0]["wsum"] == pytest.approx((e * ((np.arange(200) * 7919) % 1009 / 1009)).sum())
    assert found[1]["values"] == [[-1, 2, -3], [-4, -5, -6]]
    assert found[2]["values"][0] == [1, -2] and found[2]["values"][1][0] == "inf"
    assert found[3]["values"] == [True, False]
    with np.load(tmp_path / "out.npz") as out:
        assert np.array_equal(out["out0"], a + 1) and np.array_equal(out["out1"], -np.array([[1, -2, 3], [4, 5, 6]]))


def test_standard_input_and_text_give_what_the_capture_gives(cli):
    text = cli.ok("print", "sample:mlp")
    assert cli.json("print", "-", input=text)["text"] + "\n" == text
    captured, pasted = cli.json("inspect", "sample:mlp")["program"], cli.json("inspect", "-", input=text)["program"]
    assert captured["equations"] == pasted["equations"] and captured["primitives"] == pasted["primitives"]
    (cli.folder / "y.txt").write_text(TEXT)
    assert cli.json("print", "y.txt")["text"] == cli.json("print", "x.jaxpr")["text"]


def test_the_what_if_table_has_the_standard_policies_and_those_given(cli):
    rows = cli.json("policies", "sample:transformer_lm", "--no-run", "--policy", "save_only_these_names(mlp_in)",
                    "--replace-policy", "block=nothing_saveable")["policies"]
    assert [r["policy"] for r in rows] == ["as it is", "everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable",
                                           "save_only_these_names(attn_out, mlp_in)", "save_only_these_names(mlp_in)", "inside: block=nothing_saveable"]
    assert all(r["problem"] == "" for r in rows), rows
    by = {r["policy"]: r for r in rows}
    assert by["nothing_saveable"]["residual_bytes"] < by["dots_saveable"]["residual_bytes"] < by["everything_saveable"]["residual_bytes"]
    # What a policy recomputes is what its step does more than the one that saves everything (but for factors that both make).
    for r in rows:
        assert r["total_flops"] - by["everything_saveable"]["total_flops"] == pytest.approx(r["recomputed_flops"], rel=0.02, abs=3e7), r


def test_samples(cli, schema):
    found = cli.json("samples")
    schema.validate(found)
    assert {"mlp", "residuals", "transformer_lm"} <= {s["name"] for s in found["samples"]}
    one = cli.json("samples", "mlp")
    schema.validate(one)
    assert [s["name"] for s in one["samples"]] == ["mlp"] and one["memory"]["measured_peak"] > 0


def test_json_is_all_of_standard_output(cli):
    """Messages go to standard error, made-up inputs among them."""
    done = cli.raw("run", "x.jaxpr", "--json")
    json.loads(done.stdout)
    assert "made up" in done.stderr and done.returncode == 0
    assert BINARY
