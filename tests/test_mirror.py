"""`tests/` mirrors `src/penstock/`: a test lies in the folder of what it tests, and its name says what that is."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "penstock"
ACROSS = {"docs", "e2e", "equivalence", "examples", "fixtures", "fuzz", "packaging", "servers"}
"""Folders of tests that are about the whole, and of what tests need."""


def mirrored_tests() -> list[Path]:
    own = (path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    return sorted(path for path in own if len(path.parts) > 1 and path.parts[0] not in ACROSS)


@pytest.mark.parametrize("test", mirrored_tests(), ids=str)
def test_a_test_lies_where_its_subject_lies(test: Path) -> None:
    folder = PACKAGE / test.parent
    assert (folder / "__init__.py").is_file(), f"there is no package penstock/{test.parent.as_posix()}"
    subjects = {folder.name} | {path.stem for path in folder.iterdir() if path.suffix in ("", ".py")}
    stem = test.stem.removeprefix("test_")
    named = any(stem == subject or stem.startswith(f"{subject}_") for subject in subjects)
    assert named, f"`{test}` names no module of penstock/{test.parent.as_posix()}, nor the package"
