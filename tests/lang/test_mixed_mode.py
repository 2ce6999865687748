"""Perl in SPL: what it prints is compiled, and messages name the file that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from programs import FIXTURES, outcome

from penstock.base.diagnostics import SourceFile, UserError
from penstock.cli import cli
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.lang.mixed_mode import expand_mixed_mode
from plan_runner import run_plan

PARTS = FIXTURES / "mixed" / "Parts.splmm"


def expand(text: str, *arguments: str, folder: Path = Path()) -> SourceFile:
    return expand_mixed_mode(SourceFile(path="a.splmm", text=text), arguments, folder)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_program_of_mixed_mode_is_the_spl_that_its_perl_prints(tmp_path: Path) -> None:
    expected = "it's 0 for all\nit's 20 for all\nit's 20 for all\nit's 60 for all\nit's 40 for all\nit's 100 for all\n"
    files = "--- part1.csv\n0\n20\n40\n--- part2.csv\n20\n60\n100\n"
    assert outcome(compile_file(PARTS), tmp_path) == expected + files


def test_it_is_the_same_in_pieces(tmp_path: Path) -> None:
    program = compile_file(PARTS, arguments=["3"])
    written = []
    for name in ("whole", "pieces"):
        folder = tmp_path / name
        folder.mkdir()
        if name == "whole":
            outcome(program, folder)
        else:
            fusion = [[o.id] for o in program.application.operators]
            with (tmp_path / "printed").open("w") as printed:
                environment = Environment(output_directory=folder, stdout=printed)
                run_plan(program, physical_plan(program.application, fusion), environment, turns_per_batch=3)
        written.append({p.name: p.read_text() for p in folder.iterdir()})
    assert written[0] == written[1]
    assert sorted(written[0]) == ["part1.csv", "part2.csv", "part3.csv"]


def test_arguments_are_argv_in_order_and_named_ones_are_values(tmp_path: Path) -> None:
    options = ["--argument", "1", "--argument", "who=me", "--engine", "reference", "--out", str(tmp_path)]
    done = CliRunner().invoke(cli, ["run", str(PARTS), *options])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("it's 0 for me\nit's 10 for me\nit's 20 for me\n")
    assert "nothing asks for" not in done.stderr


def test_text_passes_through_perl_unchanged() -> None:
    text = "a'b\\'c\\\\ $x @y %z {} \"q\" ü\n\n\tend"
    assert expand(text).text == text
    assert expand(f"<% if (1) {{ %>{text}<% }} %>").text == text


def test_print_separators_and_comments_of_the_user_are_kept() -> None:
    assert expand('<% { local ($,, $\\) = ("-", "!"); print 1, 2; } # done %>x<%= 3 # three %>').text == "1-2!x3"


def test_messages_about_spl_name_the_line_of_the_mixed_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "Main.splmm",
        '<% my $n = 2;\n   print "\\n\\n\\n"; %>\ncomposite Main { graph\n'
        "  <% for my $i (1..$n) { %>\n  stream<int32 x> A<%= $i %> = Beacom() { }\n  <% } %>\n}\n",
    )
    with pytest.raises(UserError) as caught:
        compile_file(path)
    places = [(d.span.line, d.span.source.line_around(d.span.start)) for d in caught.value.diagnostics if d.span]
    assert places == [(5, "  stream<int32 x> A1 = Beacom() { }"), (5, "  stream<int32 x> A2 = Beacom() { }")]


def test_messages_of_perl_name_the_line_of_the_mixed_file() -> None:
    for text, message in (
        ("\n<% my $x = $y; %>", 'a.splmm:2:1: error: Perl: Global symbol "\\$y" requires explicit package name'),
        ('a\n\n<% die "no hosts"; %>', "a.splmm:3:1: error: Perl: no hosts"),
        ("<% exit 3; %>", "Perl in `a.splmm`: it ended with status 3"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            expand(text)
        assert "aborted" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb %> c", "a.splmm:2:3: error: expected `<%` before this"),
        ("<% 1; <% 2; %>", "a.splmm:1:7: error: expected `%>` before this"),
        ("a\n<% 1;\n", "a.splmm:2:1: error: this `<%` has no `%>`"),
    ],
)
def test_marks_come_in_pairs(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        expand(text)


def test_without_perl_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"`a.splmm` holds Perl, .* `perl` is not here; install Perl, or write the SPL"):
        expand("<%= 1 %>")


def test_perl_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.lang.mixed_mode.MOST_SECONDS", 0.3)
    with pytest.raises(UserError, match=r"the Perl in `a.splmm` did not end within 0.3 seconds"):
        expand("<% 1 while 1; %>")


def test_perl_runs_in_the_folder_of_the_application(tmp_path: Path) -> None:
    write(tmp_path / "etc" / "n", "2")
    path = write(
        tmp_path / "a.b" / "Main.splmm",
        '<% open(my $f, "<", "etc/n") or die "no file"; my $n = <$f>; %>\nnamespace a.b;\n'
        "composite Main { graph stream<int32 x> A = Beacon() { param iterations: <%= $n %>; } }",
    )
    assert compile_file(path).application.operator["A"].param("iterations")[0].value == 2


def test_other_files_may_be_of_mixed_mode_and_what_spl_made_of_them_is_not_read(tmp_path: Path) -> None:
    part = "composite Part(output O) { graph stream<int32 x> O = Beacon() { param iterations: %s; } }"
    main = write(tmp_path / "Main.spl", "composite Main { graph stream<int32 x> A = Part() { } }")
    write(tmp_path / "Part.splmm", part % "<%= 2 + $ARGV[0] %>")
    write(tmp_path / "Part.spl", part % "1")
    application = compile_file(main, arguments=["5"]).application
    assert application.operators[0].param("iterations")[0].value == 7


def test_a_mixed_file_that_fails_disturbs_only_those_who_need_it(tmp_path: Path) -> None:
    write(tmp_path / "Broken.splmm", 'composite Broken(output O) { <% die "broken"; %> }')
    main = write(tmp_path / "Main.spl", "composite Main { graph stream<int32 x> A = Beacon() { } }")
    assert compile_file(main)
    write(main, "composite Main { graph stream<int32 x> A = Broken() { } }")
    with pytest.raises(UserError, match=r"Broken.splmm:1:1: error: Perl: broken"):
        compile_file(main)
