"""Help, completions and the man page: made of one set of declarations, taken by the shells themselves."""
import re
import shutil
import subprocess

import pytest

COMMANDS = ["open", "capture", "inspect", "print", "transform", "residuals", "split", "donation", "run", "plan", "policies", "check", "diff", "export", "report", "samples"]


def test_every_help_has_examples_that_name_its_options(cli):
    for command in COMMANDS:
        text = cli.ok(command, "--help")
        examples = text[text.index("Examples:"):].splitlines()[1:]
        assert examples and all(line.strip().startswith(f"jaxscope {command}") for line in examples if line.strip()), text
        for option in re.findall(r" (--[a-z-]+)", "\n".join(e.split(" -- ")[0] for e in examples)):
            assert option in text[:text.index("Examples:")], option


def test_help_is_a_word_too(cli):
    assert cli.ok("help") == cli.ok("--help")
    assert cli.ok("help", "plan") == cli.ok("plan", "--help")
    assert cli.ok("help", "capture") == cli.ok("capture", "--help")  # which takes a command line behind dashes
    done = cli.raw("help", "plam")
    assert done.returncode == 2 and "expected a command, found 'plam'" in done.stderr and "plan" in done.stderr.split("try")[-1]


def complete(script, *words):
    line = f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _jaxscope; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes(cli):
    script = cli.folder / "jaxscope.bash"
    script.write_text(cli.ok("--completions", "bash"))
    assert complete(script, "jaxscope", "re") == ["residuals", "report"]
    assert complete(script, "jaxscope", "plan", "--bud") == ["--budget", "--budget-seconds"]
    (cli.folder / "step.jaxscope").touch()
    assert complete(script, "jaxscope", "plan", f"{cli.folder}/st") == [f"{cli.folder}/step.jaxscope"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(cli, shell):
    text = cli.ok("--completions", shell)
    for command in COMMANDS:
        assert command in text
    if shutil.which(shell):
        (cli.folder / "x").write_text(text)
        subprocess.run([shell, "-n", str(cli.folder / "x")], check=True)
    done = cli.raw("--completions", "tcsh")
    assert done.returncode == 2 and "expected bash, zsh or fish" in done.stderr


def test_the_man_page(cli):
    page = cli.ok("--man")
    assert page.startswith(".TH JAXSCOPE 1") and all(f".SS jaxscope {c}" in page for c in COMMANDS)
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True)
        assert done.stderr == "" and "--budget" in done.stdout.replace("\u2010", "-").replace("\u2212", "-")
