"""`each block: POLICY`: what is derived is what Python does once `jax.checkpoint` is written around the blocks, or around the scan's body."""
import pytest

from test_fit import MODEL, SCAN, capture

POLICIES = ["nothing_saveable", "dots_with_no_batch_dims_saveable", "save_only_these_names('inner')"]
AROUND = {MODEL: ("block = jax.checkpoint(block, policy=jax.checkpoint_policies.POLICY)", "around each of 6 calls of block (plain.py:10)"),
          SCAN: ("body = jax.checkpoint(body, policy=jax.checkpoint_policies.POLICY)", "around the body of the scan of 6 steps (plain.py:6)")}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("source", [MODEL, SCAN], ids=["blocks", "scan"])
def test_it_is_what_python_does(cli, schema, source, policy):
    plain = capture(cli, "plain", source)
    wrap, where = AROUND[source]
    written = capture(cli, "written", source, wrap.replace("POLICY", policy))
    found = cli.json("residuals", plain, "--policy", f"each block: {policy}")
    expected = cli.json("residuals", written)
    assert found["total_bytes"] == expected["total_bytes"]
    assert sorted(r["aval"] for r in found["residuals"]) == sorted(r["aval"] for r in expected["residuals"])
    table = cli.json("policies", plain, "--no-run", "--policy", f"each block: {policy}")
    schema.validate(table)
    row = table["policies"][-1]
    as_written = cli.json("policies", written, "--no-run")["policies"][0]
    assert row["around"] == where and row["policy"].startswith("each block: ")
    for figure in ("residual_bytes", "planned_peak", "recomputed_flops"):
        assert row[figure] == as_written[figure]
    assert cli.json("plan", plain, "--policy", f"each block: {policy}")["memory"]["planned_peak"] == row["planned_peak"]


def test_the_table_tries_it_where_there_are_blocks(cli):
    rows = cli.json("policies", capture(cli, "plain", MODEL), "--no-run")["policies"]
    tried = {r["policy"]: r for r in rows}
    assert tried["each block: nothing_saveable"]["around"] and tried["nothing_saveable"]["around"] is None
    # Around the whole loss the backward pass recomputes all of it at once; around each block one block at a time.
    assert tried["each block: nothing_saveable"]["planned_peak"] < tried["nothing_saveable"]["planned_peak"]
    assert "each block: a checkpoint around each of 6 calls of block" in cli.ok("policies", capture(cli, "plain", MODEL), "--no-run")
    for other in ("sample:mlp", "sample:residuals", capture(cli, "wrapped", MODEL, "block = jax.checkpoint(block)")):
        assert not any(r["around"] for r in cli.json("policies", other, "--no-run")["policies"])


def test_what_has_no_blocks_says_so(cli):
    for program, words in (("sample:mlp", "expected repeated blocks, or a scan, in the function"),
                           (capture(cli, "wrapped", MODEL, "block = jax.checkpoint(block)"), "found a jax.checkpoint inside")):
        done = cli.raw("residuals", program, "--policy", "each block: nothing_saveable")
        assert done.returncode == 2 and words in done.stderr
    done = cli.raw("residuals", "sample:residuals", "--policy", "each block: nothing_savable")
    assert done.returncode == 2 and "nothing_saveable" in done.stderr
