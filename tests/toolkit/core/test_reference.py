from pathlib import Path

from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "operators.md"


def test_the_reference_is_what_the_definitions_say():
    written = reference(standard().definitions())
    assert PAGE.read_text() == written, "run `python -m penstock.toolkit.core.reference > docs/reference/operators.md`"
