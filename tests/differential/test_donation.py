"""The donation table equals what JAX and XLA's CPU compiler do."""
import re
import warnings

import jax
import pytest

from conftest import available, load_module


def xla_aliases(compiled) -> dict[int, int]:
    """{parameter: output} of the compiled module."""
    text = compiled.as_text()
    m = re.search(r"input_output_alias=\{(.*?)\}, [a-z_]+=", text)
    return {int(p): int(o or 0) for o, p in re.findall(r"\{(\d*)\}: \((\d+), \{\}", m.group(1))} if m else {}


@pytest.mark.parametrize("name", ["donation_mismatch", "donation_static_kwargs", "step_lm_adam_names", "step_scan_accumulate", "flax_mlp_adam_donated"])
def test_pairing(cli, name):
    if not available(name):
        pytest.skip("its libraries are not installed")
    p = load_module(name).program()
    static = p.get("static_argnums") or None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lowered = jax.jit(p["fn"], donate_argnums=p["donate_argnums"], static_argnums=static).lower(*p["args"], **p.get("kwargs", {}))
        compiled = lowered.compile()
    kept = sorted(lowered._lowering.compile_args["kept_var_idx"])
    parameter_of = {leaf: i for i, leaf in enumerate(kept)}
    aliases = xla_aliases(compiled)
    report = cli.json("donation", cli.capture(name))
    flat = [i for i, (_, info) in enumerate(jax.tree_util.tree_flatten_with_path(lowered.args_info)[0]) if info.donated]
    assert len(report["donated"]) == len(flat)
    for leaf, row in zip(flat, report["donated"], strict=True):
        parameter = parameter_of.get(leaf)
        assert row["used"] == (parameter in aliases), row
        if row["used"]:
            assert row["output"] == aliases[parameter], row
    texts = [str(w.message) for w in caught if "donated" in str(w.message)]
    assert (report["warning"] or "") == (texts[0] if texts else "")
