"""`jaxscope print` gives the text of make_jaxpr, from a capture and from that text itself."""
import re

import jax
import pytest

from conftest import available, cut, load_module, names


def with_sorted_sets(text: str) -> str:
    """JAX prints the items of a frozenset in hash order."""
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: "frozenset({" + ", ".join(sorted(m[1].split(", "))) + "})", text)


@pytest.mark.parametrize("name", names())
def test_text_of_make_jaxpr(cli, tmp_path, name):
    if not available(name):
        pytest.skip("its libraries are not installed")
    p = load_module(name).program()
    if p.get("jit") == "eqx":
        pytest.skip("the program is fn over its array leaves")
    static = p.get("static_argnums") or ()
    jaxpr = jax.make_jaxpr(p["fn"], static_argnums=static)(*p["args"], **p.get("kwargs", {}))
    wanted = with_sorted_sets(cut(str(jaxpr)))
    assert cut(cli.json("print", cli.capture(name))["text"]) == wanted
    file = tmp_path / "program.jaxpr"
    file.write_text(wanted)
    assert cli.json("print", str(file))["text"] == wanted
