"""A source that is read for channels gives each tuple once, in order in its channel, and tells what is malformed."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_reading import Sources, in_the_reference, program

from penstock.base.diagnostics import UserError

LINES = "".join(f"{n}\n" if n % 10 else f"no {n}\n" for n in range(95))
SOURCE = 'stream<int32 n> A = FileSource() { param file: "in.csv"; parsing: permissive; }'


@pytest.mark.parametrize("turns", [4, 30, 1000])
@pytest.mark.parametrize("channels", [2, 3, 7])
def test_channels_share_the_tuples_of_each_batch(turns, channels, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(LINES)
    made = program(SOURCE)
    wanted, letters = in_the_reference(made, tmp_path)
    sources = Sources(made, tmp_path, tmp_path / "job", turns=turns, channels=str(channels))
    while sources.step():
        sources.restart()
    found = sources.found
    tuples = [item for item in found.seen if isinstance(item[1], tuple)]
    assert tuples == [item for item in wanted if isinstance(item[1], tuple)]
    assert [letter.record for letter in found.letters] == [letter.record for letter in letters]
    assert found.submitted == {"A": 85}
    # Every channel is told of the end.
    assert [item[1] for item in found.seen].count("final") == channels


def test_rows_that_were_read_when_they_were_planned_are_for_no_channel(tmp_path: Path) -> None:
    made = program("stream<int32 n> A = Custom() { logic onProcess: { submit({n = 1}, A); } }")
    sources = Sources(made, tmp_path, tmp_path / "job", channels="2")
    with pytest.raises(UserError, match="was read by columns when the job was started, and is not any more"):
        sources.step()
