"""docs/ci: what is copied works as it is."""
import re

import pytest
from conftest import ROOT

yaml = pytest.importorskip("yaml")


def test_the_workflow_installs_what_it_runs_and_may_write_what_it_uploads():
    workflow = yaml.safe_load((ROOT / "docs" / "ci" / "memory.yml").read_text())
    steps = workflow["jobs"]["memory"]["steps"]
    first = next(i for i, s in enumerate(steps) if re.match(r"jaxscope ", s.get("run", "")))
    before = " ".join(s.get("run", "") + s.get("uses", "") for s in steps[:first])
    assert "actions/setup-python" in before and re.search(r"pip install .*jaxscope-\*\.whl\)\[jax\]", before)
    assert workflow["permissions"]["security-events"] == "write" and workflow["permissions"]["contents"] == "read"
