"""Packages: what is packed, what is not, and that nothing leaves the folder it is unpacked into."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.base.diagnostics import UserError
from penstock.service.jobs.package import pack, unpack
from penstock.service.jobs.submission import is_inside


def test_code_is_packed_and_data_is_not(tmp_path: Path) -> None:
    for name in ("app.spl", "lib/more.py", "data/big.csv", ".git/x.py", "venv/lib.py", "venv/pyvenv.cfg", "a.bin"):
        (tmp_path / "app" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "app" / name).write_text(name)
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "toolkit.xml").write_text("<toolkit/>")
    files = pack(tmp_path / "app", [tmp_path / "kit"])
    assert set(files) == {"app.spl", "lib/more.py", "toolkits/0/toolkit.xml"}
    unpack(files, tmp_path / "there")
    assert (tmp_path / "there" / "lib" / "more.py").read_text() == "lib/more.py"


def test_too_much_is_refused(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_bytes(b"#" * ((16 << 20) + 1))
    with pytest.raises(UserError, match="is more than 16 MiB"):
        pack(tmp_path)
    with pytest.raises(UserError, match="is more than 16 MiB"):
        unpack({f"f{n}.py": "" for n in range(2_001)}, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@given(st.text(max_size=40) | st.sampled_from(["..", "a/../b", "/a", "a/", "./a", "a//b", "-rf", "a\x00b", "a\\..\\b"]))
def test_a_path_that_is_inside_stays_inside(path: str) -> None:
    folder = Path("/somewhere/deep")
    if is_inside(path):
        assert (folder / path).is_relative_to(folder)
        assert ".." not in Path(path).parts
        assert not path.startswith(("/", "-"))
        assert "\0" not in path
