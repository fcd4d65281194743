"""docs/command-line.md says what the command line has, and nothing that it hasn't."""
import re
import subprocess

import pytest

from conftest import BINARY, ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text()
# Section '## Commands' holds one '### NAME' part each; options of many commands stand in a table before it.
SHARED, COMMANDS = PAGE.split("## Options that many commands have", 1)[1].split("## Commands", 1)
PARTS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |^`jaxscope --limits`|\Z)", COMMANDS, re.S | re.M))


def help_of(*args: str) -> str:
    return subprocess.run([BINARY, *args, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout


def subcommands() -> list[str]:
    return re.findall(r"^  (\w+) ", help_of().split("Subcommands:")[1], re.M)


def options(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", text)) - {"--help"}


def listed(*command: str) -> set[str]:
    """Options that --help lists, each at the beginning of its line."""
    lines = [line.split("   ")[0] for line in help_of(*command).splitlines() if line.startswith("  -")]
    return options("\n".join(lines))


def test_every_command_has_its_part():
    assert sorted(PARTS) == sorted(subcommands())


@pytest.mark.parametrize("command", sorted(PARTS))
def test_every_option_is_on_the_page(command):
    documented = options(PARTS[command]) | options(SHARED)
    assert listed(command) - documented == set()


@pytest.mark.parametrize("command", sorted(PARTS))
def test_the_page_names_no_other_options(command):
    assert options(PARTS[command]) - options(SHARED) - listed(command) == set()


def test_the_windows_own_options():
    done = subprocess.run([str(BINARY) + "-gui", "--help"], capture_output=True, text=True, timeout=60, check=True)
    part = PAGE.split("### The window's own program", 1)[1].split("\n## ", 1)[0]
    named = set(re.findall(r"^\| `(--[a-z]+)", part, re.M))
    assert named == options("\n".join(re.findall(r"^  (.{0,30}?)  ", done.stdout, re.M))) - {"--help-all"}


def test_shared_options_exist():
    everywhere = listed().union(*(listed(c) for c in PARTS))
    assert options(SHARED) - everywhere == set()
