"""Help teaches, the shell completes, and a wrong word is answered with the right one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_command_line import penstock

from penstock.cli import SUBCOMMANDS

LONGEST_LINE = 80


def completed(words: str, cwd: Path | None = None) -> list[str]:
    """What bash would offer behind these words, `kind,word` each."""
    count = len(words.split(" ")) - 1
    environment = {**os.environ, "COMP_WORDS": words, "COMP_CWORD": str(count), "_PENSTOCK_COMPLETE": "bash_complete"}
    command = Path(sys.executable).parent / "penstock"
    done = subprocess.run([command], capture_output=True, text=True, env=environment, check=False, cwd=cwd)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("command", [[], *([name] for name in SUBCOMMANDS)], ids=lambda c: c[0] if c else "penstock")
def test_help_teaches_with_an_example_in_80_columns(command):
    done = penstock(*command, "--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout
    assert " ".join(["penstock", *command]) in done.stdout.split("Example:")[1]
    assert max(map(len, done.stdout.splitlines())) <= LONGEST_LINE


def test_every_command_is_listed_with_what_it_does():
    text = penstock("--help").stdout
    for name, what in SUBCOMMANDS.items():
        assert name in text
        assert what.split(";")[0] in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["chek"], "there is no command `chek`; did you mean `check`?"),
        (["run", "x.spl", "--engin", "reference"], "'--engine'"),
        (["run", "x.spl", "--checkpont", "c"], "'--checkpoint'"),
        (["run", "x.spl", "--engine", "sprak"], "Did you mean `spark`?"),
        (["explain", "x.spl", "--stage", "paralel"], "Did you mean `parallel`?"),
        (["fuse", "x.json", "--algorithm", "colla"], "Did you mean `cola`?"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(arguments, suggestion):
    done = penstock(*arguments)
    assert done.returncode == 2
    assert suggestion in done.stderr


def test_the_shell_completes_commands_options_words_and_files():
    assert completed("penstock ex") == ["plain,explain"]
    assert completed("penstock explain --sta") == ["plain,--stage"]
    assert completed("penstock explain x.spl --stage par") == ["plain,parallel"]
    assert completed("penstock bench sched") == ["plain,scheduling"]
    assert completed("penstock run examples/") == ["file,examples/"]


def test_bash_takes_the_completion_that_the_help_names():
    script = 'eval "$(_PENSTOCK_COMPLETE=bash_source penstock)"; complete -p penstock'
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert "_penstock_completion" in done.stdout, done.stderr
    assert script.split(";")[0] in penstock("--help").stdout
