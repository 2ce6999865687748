"""An operator's facts are said in its definition, and every other package asks for them there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import penstock
from penstock import App, map_
from penstock.ir.facts import NO_FACTS, Facts, Reads
from penstock.ir.models import OperatorModel, State
from penstock.lang import compile_file
from penstock.toolkit.core.operator_registry import standard

PACKAGE = Path(penstock.__file__).parent
SPEAK_OF_OPERATORS = ("toolkit", "lang", "api", "bench", "demo")
"""The toolkit itself, the front ends, and the programs of experiments and the demo."""

REGISTRATIONS = {
    "codegen/write/forms.py",
    "local/local_sinks.py",
    "service/jobs/description.py",
    "spark/job/outside_sources.py",
    "spark/sinks/batch_sinks.py",
    "spark/sinks/task_sinks.py",
}
"""Where back ends register what they have for the definitions of operators."""

FOLDERS = tuple(f"penstock.toolkit.{folder}" for folder in ("adapters", "relational", "utility"))
NAMES = frozenset(standard().names())
BY_PARAMETER = [f.name for f in fields(Facts) if f.type == "tuple[str, ...]"]


def other_modules() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.partition("/")[0] not in SPEAK_OF_OPERATORS:
            yield name


def named_operators(text: str) -> list[str]:
    """The string constants of a module that are the name of a standard operator, whatever stands before it."""
    constants = (n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant))
    return [c for c in constants if isinstance(c, str) and c.rpartition("::")[2] in NAMES]


def imported_definitions(text: str) -> list[str]:
    """The operators whose definitions a module imports."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            is_definition = any(alias.name == "DEFINITION" for alias in node.names)
            if node.module in FOLDERS or (node.module.startswith(FOLDERS) and is_definition):
                found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith(FOLDERS)]
    return found


def test_no_other_package_names_an_operator():
    found = {module: named_operators((PACKAGE / module).read_text(encoding="utf-8")) for module in other_modules()}
    assert {module: names for module, names in found.items() if names} == {}


def test_only_registrations_have_definitions_at_hand():
    found = {module: imported_definitions((PACKAGE / module).read_text(encoding="utf-8")) for module in other_modules()}
    assert {module for module, imported in found.items() if imported} == REGISTRATIONS


@pytest.mark.parametrize(
    "text",
    [
        'if operator.kind == "Filter": pass',
        'KINDS = frozenset({"Delay", "Throttle"})',
        'match kind:\n    case "Beacon": pass',
        'KIND = "watched::Custom"',
    ],
)
def test_a_name_would_be_found(text):
    assert len(named_operators(text)) >= 1


@pytest.mark.parametrize(
    "text",
    [
        "from penstock.toolkit.relational import filter",
        "from penstock.toolkit.relational.filter import DEFINITION",
        "import penstock.toolkit.utility.beacon",
    ],
)
def test_a_definition_would_be_found(text):
    assert imported_definitions(text)


@pytest.mark.parametrize("definition", standard().definitions(), ids=lambda d: d.name)
def test_facts_speak_of_parameters_and_ports_that_the_operator_has(definition):
    facts, (_, most) = definition.facts, definition.outputs
    assert len(BY_PARAMETER) == 5
    names = {name for field in BY_PARAMETER for name in getattr(facts, field)}
    assert names | ({facts.drops_by} - {None}) <= {param.name for param in definition.params}
    assert facts.rest_port is None or (facts.drops_by is not None and (most is None or facts.rest_port < most))


def test_operators_that_write_down_how_much_time_has_passed_depend_on_it():
    writers = [d for d in standard().definitions() if d.inputs[1] != 0 and d.param("hasDelayField") is not None]
    assert len(writers) >= 3
    assert all("hasDelayField" in d.facts.waits_for_time_with for d in writers)


def test_every_operator_of_a_program_carries_the_facts_of_its_definition():
    for path in sorted((PACKAGE.parents[1] / "examples").rglob("*.spl"))[:8]:
        program = compile_file(path)
        for operator in program.application.operators:
            assert operator.facts == program.registry.get(operator.kind).facts


def test_of_a_users_operator_nothing_is_known_but_whether_its_model_is_inferred():
    claimed = Facts(is_repeatable=True, reads=Reads.EXPRESSIONS)

    @map_(model=OperatorModel(state=State.STATELESS, facts=claimed))
    def claims(t):
        return t

    def nothing():
        yield from ()

    app = App("Main")
    app.source(nothing, "int64 x").map(lambda t: t).map(claims).write_file("out")
    source, inferred, declared, _ = app.program().application.operators
    assert declared.facts == NO_FACTS
    assert source.facts == inferred.facts == Facts(has_inferred_model=True)
