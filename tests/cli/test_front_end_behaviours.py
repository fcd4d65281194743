"""docs/front-end-behaviours.md: every id that is said to have its test in tests/trace has one, by its name."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ID = re.compile(r"\b([A-I])-(\d\d)\b")


def test_every_listed_behaviour_has_its_test():
    table = (ROOT / "docs" / "front-end-behaviours.md").read_text()
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ") and ID.search(line)]
    listed = {"_".join(m) for ids, where in rows if "tests/trace" in where for m in ID.findall(ids)}
    named = set()
    for path in (ROOT / "tests" / "trace").glob("*_test.cpp"):
        for name in re.findall(r"TEST\(\w+, (\w+)\)", path.read_text()):
            named |= {"_".join(m) for m in re.findall(r"(?:^|_)([A-I])_(\d\d)(?=_|$)", name)}
    assert len(listed) > 40
    assert not listed - named, sorted(listed - named)
