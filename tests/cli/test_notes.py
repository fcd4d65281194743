"""What is said besides the answer: `--quiet`, `--verbose`, and limits that aren't kept."""
import json

LM = "sample:transformer_lm"


def test_quiet_leaves_errors_alone(cli):
    noted = cli.raw("run", LM)
    assert "194 of 194 inputs have no captured values" in noted.stderr
    for words in (("--quiet", "run", LM), ("run", LM, "--quiet")):
        quiet = cli.raw(*words)
        assert quiet.returncode == 0 and quiet.stderr == "" and quiet.stdout
    estimated = cli.raw("plan", LM, "--target", "tpu:v5p", "--json")
    assert "estimated for" in estimated.stderr
    quiet = cli.raw("plan", LM, "--target", "tpu:v5p", "--json", "--quiet")
    assert quiet.stderr == "" and json.loads(quiet.stdout) == json.loads(estimated.stdout)
    wrong = cli.raw("plan", "sample:nothing", "--quiet")
    assert wrong.returncode == 2 and wrong.stderr.startswith("jaxscope: expected one of the samples")


def test_verbose_tells_what_it_took(cli):
    done = cli.raw("residuals", LM, "--verbose")
    assert done.returncode == 0 and done.stdout == cli.ok("residuals", LM)
    read, took = done.stderr.splitlines()
    assert read.startswith(f"jaxscope: {LM}: ") and " read in " in read
    assert took.startswith("jaxscope: done after ") and "resident" in took
    both = cli.raw("residuals", LM, "--verbose", "--quiet")
    assert both.returncode == 2 and "--quiet" in both.stderr


def test_a_limit_that_is_not_kept_is_exit_code_1(cli):
    peak = cli.json("plan", LM)["memory"]["planned_peak"]
    for command in (["plan", LM], ["policies", LM, "--no-run"]):
        done = cli.raw(*command, "--memory-limit", str(peak - 1))
        assert done.returncode == 1 and done.stdout and "expected a planned peak of at most" in done.stderr
        assert cli.raw(*command, "--memory-limit", str(peak)).returncode == 0
