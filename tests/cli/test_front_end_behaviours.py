"""docs/front-end-behaviours.md: every id that is said to have its test in a folder of gtests has one, by its name."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ID = re.compile(r"\b([A-I])-(\d\d)\b")


@pytest.mark.parametrize("folder, least", [("trace", 40), ("devices", 20), ("sharding", 8)])
def test_every_listed_behaviour_has_its_test(folder, least):
    table = (ROOT / "docs" / "front-end-behaviours.md").read_text()
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ") and ID.search(line)]
    listed = {"_".join(m) for ids, where in rows if f"tests/{folder}" in where for m in ID.findall(ids)}
    named = set()
    for path in (ROOT / "tests" / folder).glob("*_test.cpp"):
        for name in re.findall(r"TEST(?:_F)?\(\w+, (\w+)\)", path.read_text()):
            named |= {"_".join(m) for m in re.findall(r"(?:^|_)([A-I])_(\d\d)(?=_|$)", name)}
    assert len(listed) >= least
    assert not listed - named, sorted(listed - named)
