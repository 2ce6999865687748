"""Paths as users write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.local_paths import local_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/a/b", "/a/b"),
        ("a/b", "a/b"),
        ("a:b.csv", "a:b.csv"),
        ("file:///a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("FILE://localhost/a%20b", "/a b"),
        ("12:/x", "12:/x"),
    ],
)
def test_a_bare_path_and_a_file_uri_are_local(text, path):
    assert local_path(text, "the file") == Path(path)


@pytest.mark.parametrize("text", ["s3a://b/x", "s3a:/b/x", "hdfs://h:9000/x", "dbfs:/x", "abfss://c@a.d.net/x"])
def test_another_uri_is_refused_by_its_name(text):
    kind = text.partition(":")[0]
    with pytest.raises(UserError, match=f"--out `{text}` is of the kind `{kind}`, which is not supported yet; give a"):
        local_path(text, "--out")


def test_a_file_of_another_host_is_refused():
    with pytest.raises(UserError, match="is on the host `elsewhere`"):
        local_path("file://elsewhere/x", "--out")
