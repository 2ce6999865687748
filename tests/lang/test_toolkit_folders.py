"""Toolkits lie where SPL looks for them, and what is not SPL in them is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.base.diagnostics import UserError
from penstock.cli import cli
from penstock.lang import compile_text

MAIN = "use kit.a::*; composite Main { graph stream<int32 x> A = %s() { } }"
PART = "namespace kit.a; public composite %s(output O) { graph stream<int32 x> O = Beacon() { param iterations: %d; } }"


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def iterations(text: str, *toolkits: Path) -> object:
    return compile_text(text, toolkits=toolkits).application.operators[0].param("iterations")[0].value


@pytest.mark.parametrize("index", ["toolkit.xml", "info.xml"])
@pytest.mark.parametrize("folder", ["kit.a", "kit/a"])
def test_a_toolkit_has_its_namespaces_in_folders_and_its_samples_are_not_part_of_it(
    tmp_path: Path, index: str, folder: str
) -> None:
    write(tmp_path / "one" / index)
    write(tmp_path / "one" / folder / "Parts.spl", PART % ("Part", 1))
    write(tmp_path / "one" / "samples" / "kit.a" / "Sample.spl", PART % ("Sample", 2))
    assert iterations(MAIN % "Part", tmp_path / "one") == 1
    with pytest.raises(UserError, match="there is no operator `Sample`"):
        iterations(MAIN % "Sample", tmp_path / "one")


def test_a_folder_of_toolkits_stands_for_all_of_them(tmp_path: Path) -> None:
    for number, name in enumerate(("One", "Two")):
        write(tmp_path / name / "toolkit.xml")
        write(tmp_path / name / "kit.a" / f"{name}.spl", PART % (name, number))
    write(tmp_path / "loose" / "kit.a" / "Loose.spl", PART % ("Loose", 5))
    assert [iterations(MAIN % name, tmp_path) for name in ("One", "Two")] == [0, 1]
    with pytest.raises(UserError, match="there is no operator `Loose`"):
        iterations(MAIN % "Loose", tmp_path)


def test_a_folder_without_an_index_has_files_at_any_depth(tmp_path: Path) -> None:
    write(tmp_path / "anywhere" / "deep" / "Parts.spl", PART % ("Part", 3))
    assert iterations(MAIN % "Part", tmp_path) == 3


def test_the_path_of_spl_names_toolkits_and_one_that_is_gone_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "kits" / "one" / "toolkit.xml")
    write(tmp_path / "kits" / "one" / "kit.a" / "Parts.spl", PART % ("Part", 3))
    app = write(tmp_path / "app" / "Main.spl", MAIN % "Part")
    monkeypatch.delenv("STREAMS_SPLPATH", raising=False)
    assert "there is no namespace `kit.a`" in str(CliRunner().invoke(cli, ["check", str(app)]).exception)
    monkeypatch.setenv("STREAMS_SPLPATH", os.pathsep.join([str(tmp_path / "gone"), str(tmp_path / "kits")]))
    assert CliRunner().invoke(cli, ["check", str(app)]).exit_code == 0


@pytest.mark.parametrize(("model", "language"), [("<cppOperatorModel>", "C++"), ("<javaOperatorModel>", "Java")])
def test_a_primitive_operator_in_another_language_is_named_with_what_to_do(
    tmp_path: Path, model: str, language: str
) -> None:
    write(tmp_path / "toolkit.xml")
    write(tmp_path / "kit.a" / "Price" / "Price.xml", f"<operatorModel>{model}</operatorModel>")
    with pytest.raises(UserError) as caught:
        compile_text(MAIN % "Price", toolkits=[tmp_path])
    (problem,) = caught.value.diagnostics
    assert problem.message == "there is no operator `Price`"
    assert problem.hint == (
        f"`Price.xml` says that it is a primitive operator in {language}, which does not run here; write a class or "
        "function `Price` of the namespace `kit.a` in Python, and give its folder with --toolkit"
    )


def test_an_operator_that_a_java_class_declares_is_named_too(tmp_path: Path) -> None:
    source = '@PrimitiveOperator(name="Price", namespace="kit.a") public class Price extends AbstractOperator {}'
    write(tmp_path / "impl" / "java" / "src" / "kit" / "Price.java", source)
    with pytest.raises(UserError, match=r"`Price.java` says that it is a primitive operator in Java"):
        compile_text("composite Main { graph stream<int32 x> A = Price() { } }", toolkits=[tmp_path])


@pytest.mark.parametrize(
    "prototype",
    [
        "<function:prototype><![CDATA[public float64 price(int32 x)]]></function:prototype>",
        "<prototype cppName='p'>public list&lt;float64&gt; price (int32 x)</prototype>",
        "<prototype>\n<![CDATA[<any T> public list<T> price(T x)]]></prototype>",
    ],
)
def test_a_native_function_is_named_with_what_to_do(tmp_path: Path, prototype: str) -> None:
    write(tmp_path / "kit.a" / "native.function" / "function.xml", prototype)
    text = "use kit.a::*; composite Main { graph () as A = Custom() { logic onProcess: println(price(1)); } }"
    with pytest.raises(UserError, match=r"`function.xml` of the namespace `kit.a` says that it is a native function"):
        compile_text(text, toolkits=[tmp_path])


def test_a_native_function_belongs_to_its_namespace_wherever_its_toolkit_lies(tmp_path: Path) -> None:
    kit = tmp_path / "app" / "kit"
    prototype = "<function:prototype><![CDATA[public float64 abs(int32 x)]]></function:prototype>"
    write(kit / "a.b" / "native.function" / "function.xml", prototype)
    write(kit / "info.xml", "<info/>")

    def message(call: str) -> str:
        text = f"composite Main {{ graph () as A = Custom() {{ logic onProcess: println({call}); }} }}"
        with pytest.raises(UserError) as caught:
            compile_text(text, toolkits=[tmp_path / "app", kit])
        return str(caught.value).splitlines()[0]

    assert "of the namespace `a.b` says that it is a native function in C++" in message("a.b::abs(1)")
    assert message("a.c::abs(1)").endswith(
        "there is no function `a.c::abs`; add the folder that holds it with --toolkit"
    )
    assert message("splunk::abs(1)").endswith("`splunk::abs`; add the folder that holds it with --toolkit")
