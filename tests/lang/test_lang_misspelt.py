"""One letter wrong in a word of the language: the message names the word, and only that mistake is reported."""

import pytest
from programs import messages

PROGRAM = """\
composite Main {
  graph
    stream<int32 x> A = Beacon() {
      param iterations: 3u;
      output A: x = (int32) IterationCount();
    }
    stream<int32 x> B = Custom(A) {
      logic
        state: mutable int32 c = 0;
        onTuple A: { c++; if (c > 1) submit(A, B); }
    }
    () as S = FileSink(B) {
      param file: "o.csv";
      config placement: partitionColocation("p");
    }
}
"""


def test_the_program_is_right_before_it_is_damaged() -> None:
    assert messages(PROGRAM) == []


@pytest.mark.parametrize(
    ("word", "wrong", "message"),
    [
        (
            "composite",
            "compsite",
            "test.spl:1:15: error: expected `(`, found `{`; is `compsite` meant to be `composite`?",
        ),
        ("output", "outpt", "test.spl:5:13: error: expected `:`, found `A`; is `outpt` meant to be `output`?"),
        ("mutable", "mutible", "found `int32`; is `mutible` meant to be `mutable`?"),
        ("onTuple", "onTupel", "expected `;` before `onTupel`; did you mean `onTuple`?"),
        ("if ", "iff ", "found `submit`; is `iff` meant to be `if`?"),
        ("submit", "sumbit", "test.spl:10:38: error: there is no function `sumbit`; did you mean `submit`?"),
        ("config", "confg", "expected `:`, found `placement`; is `confg` meant to be `config`?"),
        ("placement", "placment", "error: there is no setting `placment`; did you mean `placement`?"),
    ],
)
def test_a_misspelt_word_is_named(word: str, wrong: str, message: str) -> None:
    (found,) = messages(PROGRAM.replace(word, wrong, 1))
    assert message in found


def test_being_lost_for_want_of_one_word_is_not_reported_at_every_invocation() -> None:
    first, *others = messages(PROGRAM.replace("graph", "type T = int32;\n  grahp"))
    assert first.endswith("is `grahp` meant to be `graph`?")
    assert len(others) == 1
