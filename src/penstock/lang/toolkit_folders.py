"""Toolkits as SPL finds them, and the operators in them that are not written in SPL.

A toolkit is a folder with a `toolkit.xml` (or the `info.xml` that it is made of); its namespaces are folders in it,
`a.b` or `a/b`, and whatever else lies in it (samples, tests) is not part of it. A folder of such folders stands for all
of them. Any other folder is a toolkit with files at any depth.

A primitive operator of SPL is a folder of its name with a model, `a.b/Name/Name.xml`, and code in C++ or Java; a native
function is named in a `function.xml`. Neither runs here, so all there is to know of them is where they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.lang.mixed_mode import SUFFIX

PATH_VARIABLE = "STREAMS_SPLPATH"
_INDEXES = ("toolkit.xml", "info.xml")


def path_toolkits() -> tuple[Path, ...]:
    """The folders that the environment variable `STREAMS_SPLPATH` names and that are there."""
    named = os.environ.get(PATH_VARIABLE, "").split(os.pathsep)
    return tuple(folder for folder in map(Path, filter(None, named)) if folder.is_dir())


def toolkit_roots(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The toolkits that folders stand for, each once."""
    found = (root for folder in folders for root in ([folder] if _is_toolkit(folder) else _inside(folder)))
    return tuple({root.resolve(): root for root in found}.values())


def _inside(folder: Path) -> list[Path]:
    """The toolkits in a folder; the folder itself if there are none."""
    return sorted(p for p in folder.iterdir() if _is_toolkit(p)) or [folder] if folder.is_dir() else [folder]


def _is_toolkit(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _INDEXES)


def spl_files(paths: Iterable[Path]) -> list[Path]:
    """The files of SPL among paths; of one that SPL's compiler has made of mixed mode, the file that it is made of."""
    files = {path for path in paths if path.suffix in (".spl", SUFFIX) and path.is_file()}
    return sorted(path for path in files if path.suffix == SUFFIX or path.with_suffix(SUFFIX) not in files)


def toolkit_files(root: Path) -> list[Path]:
    """The files of SPL of a toolkit, wherever they lie in it."""
    return spl_files(root.rglob("*"))


def is_in_place(path: Path, root: Path, namespace: str) -> bool:
    """Whether a file lies where its namespace says, if it is of a toolkit that follows SPL's rules.

    Example:
        >>> is_in_place(Path("kit/a/b/X.spl"), Path("kit"), "a.b")
        True
    """
    folder = path.resolve().parent
    return not _is_toolkit(root) or folder in [place.resolve() for place in namespace_folders(root, namespace)]


def namespace_folders(root: Path, namespace: str) -> list[Path]:
    """Where the files of a namespace lie; those of none in the folder itself."""
    return [root / namespace, root.joinpath(*namespace.split("."))] if namespace else [root]


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeCode:
    """Something of a toolkit that is written in another language.

    Attributes:
        language: C++ or Java.
        path: The file that says so.
        namespace: Its namespace.
    """

    language: str
    path: Path
    namespace: str


def find_native_operator(roots: Sequence[Path], namespaces: Iterable[str], name: str) -> NativeCode | None:
    """The primitive operator of a name in one of some namespaces."""
    for namespace in namespaces:
        for root in roots:
            for folder in namespace_folders(root, namespace):
                model = folder / name / f"{name}.xml"
                if model.is_file():
                    language = "Java" if "javaOperatorModel" in _text(model) else "C++"
                    return NativeCode(language=language, path=model, namespace=namespace)
    return next(_java_operators(roots, name), None)


def _java_operators(roots: Sequence[Path], name: str) -> Iterator[NativeCode]:
    """Operators that annotations of Java classes declare: the class has the operator's name, as a rule."""
    for root in roots:
        for path in sorted((root / "impl" / "java").rglob(f"{name}.java")):
            text = _text(path)
            if "@PrimitiveOperator" in text:
                declared = re.search(r'namespace\s*=\s*"([\w.]+)"', text)
                yield NativeCode(language="Java", path=path, namespace=declared[1] if declared else "")


def find_native_function(roots: Sequence[Path], name: str, namespace: str | None = None) -> NativeCode | None:
    """The native function of a name, in a namespace or in whatever namespace."""
    prototype = re.compile(rf"<[\w:]*prototype\b[^>]*>\s*(<!\[CDATA\[[^(]*|[^<(]*)\b{re.escape(name)}\s*\(")
    for root in roots:
        for model in sorted(root.rglob("native.function/*.xml")):
            declared = _namespace_of(model.parent.parent.resolve(), roots)
            if namespace in (None, declared) and prototype.search(_text(model)):
                return NativeCode(language="C++", path=model, namespace=declared)
    return None


def _namespace_of(folder: Path, roots: Iterable[Path]) -> str:
    """The namespace that a folder holds; a toolkit may lie in the folder of another, such as the application's."""
    found = [root.resolve() for root in roots if folder.is_relative_to(root.resolve())]
    found += [parent for parent in folder.parents if _is_toolkit(parent)]
    return ".".join(folder.relative_to(max(found, key=lambda root: len(root.parts))).parts)


def has_native_namespace(roots: Iterable[Path], namespace: str) -> bool:
    """Whether a namespace is a folder with operators or functions that are not written in SPL."""
    folders = (folder for root in roots for folder in namespace_folders(root, namespace))
    return any(
        (p / f"{p.name}.xml").is_file() or p.name == "native.function"
        for folder in folders
        if folder.is_dir()
        for p in folder.iterdir()
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
