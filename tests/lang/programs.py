"""Runs the programs of `tests/fixtures/spl` and writes down what they do."""

import io
from collections import Counter
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference import run
from penstock.toolkit.core.program import Program

FIXTURES = Path(__file__).parents[1] / "fixtures" / "spl"
VALID = sorted((FIXTURES / "valid").glob("*.spl"))
INVALID = sorted((FIXTURES / "invalid").glob("*.spl"))


def compile_fixture(path: Path) -> Program:
    """The program of a fixture; messages call it by its bare name."""
    return compile_text(path.read_text(encoding="utf-8"), path=path.name)


def outcome(program: Program, folder: Path) -> str:
    """What a program printed, then every file it wrote, then its dead letters."""
    printed = io.StringIO()
    environment = Environment(
        data_directory=FIXTURES / "valid" / "data",
        output_directory=folder,
        application_directory=FIXTURES / "valid",
        stdout=printed,
    )
    result = run(program, environment=environment)
    parts = [printed.getvalue()]
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        parts.append(f"--- {file.name}\n{file.read_text(encoding='utf-8')}")
    if result.dead_letters:
        counts = Counter(letter.operator for letter in result.dead_letters)
        parts.append("--- dead letters\n" + "".join(f"{id_}: {count}\n" for id_, count in counts.items()))
    return "".join(parts)


def messages(text: str, path: str = "test.spl") -> list[str]:
    """The messages for a wrong program, without their source lines; none if it compiles."""
    try:
        compile_text(text, path=path)
    except UserError as error:
        return [str(d).splitlines()[0] for d in error.diagnostics]
    return []


def in_custom(statements: str, before: str = "") -> str:
    """A program that runs statements once."""
    return f"{before}\ncomposite Main {{ graph () as Out = Custom() {{ logic onProcess: {{ {statements} }} }} }}"
