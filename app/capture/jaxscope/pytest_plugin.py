# SPDX-License-Identifier: Apache-2.0
"""`pytest -p jaxscope.pytest_plugin`: a fixture with the assertions, and the figures of a session as a baseline for `jaxscope check`."""
from __future__ import annotations

import json
from typing import Any, Iterator

import pytest


Figures = dict[tuple[str, str], dict[str, Any]]  # by test and program


class Memory:
    """The fixture `jaxscope_memory`: jaxscope's assertions; what they look at is counted among the session's figures."""

    def __init__(self, test: str, figures: Figures):
        self._test, self._figures = test, figures

    def assert_peak(self, fn: Any, args: Any = None, kwargs: Any = None, *, limit: int | str, **options: Any) -> None:
        self._held(fn, args, kwargs, options, "--max-peak", str(limit))

    def assert_residuals(self, fn: Any, args: Any = None, kwargs: Any = None, *, limit: int | str, **options: Any) -> None:
        self._held(fn, args, kwargs, options, "--max-residuals", str(limit))

    def assert_no_unused_donation(self, fn: Any, args: Any = None, kwargs: Any = None, **options: Any) -> None:
        self._held(fn, args, kwargs, options, "--no-unused-donations")

    def analyze(self, fn: Any, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        from .asking import analysis
        return analysis.analyze(fn, args, kwargs, **options)

    def _held(self, fn: Any, args: Any, kwargs: Any, options: dict[str, Any], *limits: str) -> None:
        from .asking import analysis

        def note(figures: dict[str, Any]) -> None:
            # No capture is kept: a check of one finds its program by the name.
            self._figures[self._test, figures["name"]] = {**figures, "file": "", "test": self._test}
        analysis.hold(self.analyze(fn, args, kwargs, **options), *limits, note=note)


def pytest_addoption(parser: Any) -> None:
    parser.getgroup("jaxscope").addoption("--jaxscope-figures", metavar="FILE",
                                          help="write what the session's programs need: a baseline for `jaxscope check --baseline`")


def pytest_configure(config: Any) -> None:
    config._jaxscope_figures = {}


@pytest.fixture
def jaxscope_memory(request: Any) -> Iterator[Memory]:
    yield Memory(request.node.nodeid, request.config._jaxscope_figures)


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    figures = config._jaxscope_figures
    if not figures:
        return
    terminalreporter.section("jaxscope: memory")
    for (test, program), f in figures.items():
        def size(key: str) -> str:
            return "-" if f[key] is None else f"{f[key]:,} B"
        terminalreporter.write_line(f"{test}: {program}: peak {size('planned_peak')}, residuals {size('residual_bytes')}")


def pytest_sessionfinish(session: Any) -> None:
    path = session.config.getoption("--jaxscope-figures")
    if path:
        document = {"schema": "jaxscope.report/1", "command": "check", "passed": session.exitstatus == 0, "findings": [],
                    "programs": list(session.config._jaxscope_figures.values())}
        with open(path, "w", encoding="utf-8") as f:
            json.dump(document, f, indent=1)
