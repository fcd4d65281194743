"""The capture package's modules import in one direction only; imports inside functions count."""
import ast
from pathlib import Path

import pytest

# Each folder of the package, with those that it may import beside compat. The modules beside them are basics (naming, refs, ...) or stand above all (api).
BELOW = {"compat": set(), "document": set(), "differentiation": set(), "rules": {"document"}, "asking": set(), "rebuild": {"document", "asking"}, "targets": {"document", "rebuild"}, "command": {"targets", "rebuild"}}


def imports(package: Path) -> dict[str, set[str]]:
    """Module -> the modules of the package that it imports, anywhere in its text."""
    files = {".".join((package.name, *p.relative_to(package).with_suffix("").parts)).removesuffix(".__init__"): p for p in package.rglob("*.py")}
    return {module: set(_imported(module, path, files)) for module, path in files.items()}


def _imported(module, path, files):
    parts = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in files)
        elif isinstance(node, ast.ImportFrom):
            base = [*(parts[:len(parts) - node.level + 1] if node.level else []), *(node.module.split(".") if node.module else [])]
            for a in node.names:
                whole = ".".join([*base, a.name])
                if whole in files or ".".join(base) in files:
                    yield whole if whole in files else ".".join(base)


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a ring; empty if there is none."""
    done, path = set(), []

    def walk(module):
        if module in path:
            return path[path.index(module):]
        if module in done:
            return []
        path.append(module)
        for other in sorted(graph[module]):
            if found := walk(other):
                return found
        done.add(path.pop())
        return []
    return next((found for m in sorted(graph) if (found := walk(m))), [])


@pytest.fixture(scope="module")
def graph(root):
    found = imports(root / "app" / "capture" / "jaxscope")
    assert found["jaxscope.command.cli"] >= {"jaxscope.command.runner", "jaxscope.errors"}  # one in a function, one at the top
    assert found["jaxscope"] >= {"jaxscope.api", "jaxscope.asking.display"}
    return found


def test_no_circle(graph):
    assert circle(graph) == []


def test_circles_are_found(tmp_path):
    package = tmp_path / "p"
    (package / "low").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "top.py").write_text("from .low import a\n")
    (package / "low" / "a.py").write_text("def f():\n    from .. import top\n")
    assert sorted(circle(imports(package))) == ["p.low.a", "p.top"]


def test_folders_import_downwards(graph):
    for module, others in graph.items():
        folder = module.split(".")[1] if module.count(".") == 2 else None
        if folder is None:
            continue
        wrong = {o for o in others if o.count(".") == 2 and o.split(".")[1] not in BELOW[folder] | {folder, "compat"}}
        assert not wrong, f"{module} may not import {wrong}"


def test_a_folder_shows_at_most_twenty_names(root):
    for folder in [root / "app" / "capture" / "jaxscope", *(root / "app" / "capture" / "jaxscope" / f for f in BELOW)]:
        names = [p.name for p in folder.iterdir() if p.name not in ("__pycache__", "py.typed")]
        assert 1 < len(names) <= 20, folder


# Where JAX's internals are patched or walked; everything else asks compat.
READS_INTERNALS = {"compat/__init__", "compat/lowering", "refs", "document/params", "differentiation/regions", "differentiation/marks", "rules/memory"}


def test_who_imports_jaxs_internals(root):
    package = root / "app" / "capture" / "jaxscope"
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(n.startswith("jax._src") for n in names):
                found.add(path.relative_to(package).with_suffix("").as_posix())
    assert found == READS_INTERNALS
