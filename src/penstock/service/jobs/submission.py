"""A submission: what the user says of a job, read from JSON; every mistake is named at once.

The format is laid down in `docs/formats/submission.md`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.base.json_reader import JsonReader, Object, expect_object
from penstock.scheduler.problem.admission_problem import Linear, Table, ValueFunction

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Names of jobs and templates: they are names of folders, too."""

MOST_RANK, LARGEST = 1_000_000, 1e12

DEFAULT_MIN_MIPS = 200.0
"""What a job needs at least, unless it says otherwise: about what Spark takes to process small batches."""

_JOB_KEYS = (
    "name",
    "rank",
    "required",
    "weight",
    "min_mips",
    "max_mips",
    "values",
    "tags",
    "out",
    "templates",
    "files",
)
_TEMPLATE_KEYS = (
    *("id", "app", "main", "toolkits", "set", "data"),
    *("min_mips", "max_mips", "mips_per_tps", "weight", "channels", "batch", "continuous"),
)
_EXAMPLE = '{"name": "alerts", "templates": [{"app": "alerts.spl"}], "files": {...}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """What a stream is worth.

    Attributes:
        value: The value of each rate.
        weight: What it is multiplied with.
    """

    value: ValueFunction
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSpec:
    """One way to do a job.

    Attributes:
        id: Unique in the job.
        app: A file of the package: `x.spl`, or `x.py:app`.
        main: The main composite, where there are several.
        toolkits: Folders of the package.
        settings: Submission-time values.
        data: What relative file names are resolved against: a folder on the service's machine; None for the package.
        min_mips: The least it takes.
        max_mips: The most it may take; None for the whole cluster.
        mips_per_tps: What it costs to take in a tuple a second, as a profile says; None where nobody knows.
        weight: What its streams count beside those of other templates.
        channels: How many channels parallel regions get; None where the engine chooses.
        batch: How many tuples a batch has at most; None for the engine's own number.
        continuous: Whether it goes on when its sources have no more for now.
    """

    id: str
    app: str
    main: str | None = None
    toolkits: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    min_mips: float = DEFAULT_MIN_MIPS
    max_mips: float | None = None
    mips_per_tps: float | None = None
    weight: float = 1.0
    channels: int | None = None
    batch: int | None = None
    continuous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job as it is submitted.

    Attributes:
        name: Unique in the service.
        rank: From 1, the best.
        required: Whether it must be admitted.
        weight: What the importance of all its streams is multiplied with.
        values: What streams are worth, by their names; where there are none, a tuple of a source counts one.
        tags: What the nodes that it runs on must have.
        out: Where sinks write; None for a folder of the service.
        templates: The ways to do it, at least one.
    """

    name: str
    rank: int = 1
    required: bool = False
    weight: float = 1.0
    values: Mapping[str, Valued] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    out: str | None = None
    templates: tuple[TemplateSpec, ...]

    def template(self, template_id: str) -> TemplateSpec:
        """The template of an id."""
        return next(template for template in self.templates if template.id == template_id)


def submission_from_json(document: object) -> Submission:
    """The submission that a parsed JSON document describes.

    Raises:
        UserError: It is none; every mistake is named.

    Example:
        >>> submission_from_json({"name": "../x", "rank": 0, "templates": [{"app": "/etc/x.spl"}]})
        Traceback (most recent call last):
        penstock.UserError: error: the rank of the job is 0; write a whole number from 1 up
        error: the app `/etc/x.spl` of template `template` is not in the package; write a relative path without `..`
        error: the name `../x` is no name of a job; write up to 64 letters, digits, - and _
    """
    reader = _Reader()
    submission = reader.submission(expect_object(document, "submission", _EXAMPLE))
    reader.raise_if_any()
    return submission


class _Reader(JsonReader):
    """Turns JSON values into a submission."""

    def __init__(self) -> None:
        super().__init__(largest=LARGEST)

    def submission(self, item: Object) -> Submission:
        owner = "the job"
        self.check_keys(item, _JOB_KEYS, owner)
        self.check_paths(item)
        rank = self.count(item, "rank", owner)
        if rank > MOST_RANK:
            self.complain(f"the rank of the job is {rank}", f"write a whole number up to {MOST_RANK}")
        entries = self.entries(item, "templates")
        templates = tuple(self.template(entry, item, alone=len(entries) == 1) for _, entry in entries)
        if not templates:
            self.complain("the job has no templates", "write at least one")
        self.refuse_twins(enumerate(template.id for template in templates), "templates")
        return Submission(
            name=self.proper_name(item, "name", owner, "job"),
            rank=rank,
            required=self.flag(item, "required", owner),
            weight=self.number(item, "weight", owner, 1.0),
            values={name: self.valued(name, value) for name, value in self.mapping(item, "values", owner).items()},
            tags=frozenset(self.texts(item, "tags", owner)),
            out=self.folder(item, "out", owner),
            templates=templates,
        )

    def template(self, item: Object, job: Object, *, alone: bool) -> TemplateSpec:
        named = alone and "id" not in item
        name = "template" if named else self.proper_name(item, "id", "a template", "template")
        owner = f"template `{name}`"
        self.check_keys(item, _TEMPLATE_KEYS, owner)
        app = self.text(item, "app", owner)
        self.inside(app.partition(":")[0], f"the app `{app}` of {owner}")
        if not app.partition(":")[0].endswith((".spl", ".splmm", ".py")):
            self.complain(f"the app `{app}` of {owner} is no program", "write FILE.spl or FILE.py:app")
        toolkits = self.texts(item, "toolkits", owner)
        for toolkit in toolkits:
            self.inside(toolkit, f"the toolkit `{toolkit}` of {owner}")
        least = self.number({**job, **item}, "min_mips", owner, DEFAULT_MIN_MIPS)
        limits = {**job, **item}
        most = None if limits.get("max_mips") is None else self.number(limits, "max_mips", owner, above_zero=True)
        told = item.get("mips_per_tps")
        price = None if told is None else self.number(item, "mips_per_tps", owner, above_zero=True)
        if most is not None and most < least:
            self.complain(f"the max_mips of {owner} are {most:g}, and its min_mips {least:g}", "write more")
        return TemplateSpec(
            id=name,
            app=app,
            main=self.option(item, "main", owner),
            toolkits=tuple(toolkits),
            settings=self.settings(item, owner),
            data=self.folder(item, "data", owner),
            min_mips=least,
            max_mips=most,
            mips_per_tps=price,
            weight=self.number(item, "weight", owner, 1.0),
            channels=self.limit(item, "channels", owner),
            batch=self.limit(item, "batch", owner),
            continuous=self.flag(item, "continuous", owner),
        )

    def proper_name(self, item: Object, key: str, owner: str, what: str) -> str:
        """A name that can be the name of a folder, whoever chose it."""
        name = self.text(item, key, owner)
        if not name.startswith("#") and not NAME.fullmatch(name):
            self.complain(f"the {key} `{name[:80]}` is no name of a {what}", "write up to 64 letters, digits, - and _")
        return name

    def option(self, item: Object, key: str, owner: str) -> str | None:
        """A word for the command line, which may not look like an option."""
        if item.get(key) is None:
            return None
        word = self.text(item, key, owner)
        if word.startswith("-") or "\0" in word:
            self.complain(f"the {key} of {owner} is `{word[:80]}`", "write a name")
        return word

    def settings(self, item: Object, owner: str) -> dict[str, str]:
        given = self.mapping(item, "set", owner)
        for name, value in given.items():
            if not isinstance(value, str) or "\0" in value or not re.fullmatch(r"[A-Za-z_][\w.:]*", name):
                self.complain(
                    f"the setting `{name[:80]}` of {owner} is none", "write a name, and a string as its value"
                )
        return {name: str(value) for name, value in given.items()}

    def folder(self, item: Object, key: str, owner: str) -> str | None:
        """A folder of the service's machine."""
        if item.get(key) is None:
            return None
        text = self.text(item, key, owner)
        if not Path(text).is_absolute() or "\0" in text:
            self.complain(f"the {key} of {owner} is `{text[:80]}`", "write the absolute path of a folder")
        return text

    def inside(self, path: str, what: str) -> None:
        if not is_inside(path):
            self.complain(f"{what} is not in the package", "write a relative path without `..`")

    def check_paths(self, item: Object) -> None:
        for path, content in self.mapping(item, "files", "the job").items():
            self.inside(path, f"the file `{path[:80]}`")
            if not isinstance(content, str):
                self.complain(f"the file `{path[:80]}` is no text", "write its bytes in base64")

    def valued(self, name: str, value: object) -> Valued:
        owner = f"stream `{name}`"
        item = value if isinstance(value, dict) else {}
        found = self.variant({"value": {k: v for k, v in item.items() if k != "weight"}}, "value", owner, _VALUES)
        weight = self.number(item, "weight", owner, 1.0)
        if found is None or found[0] == "linear":
            slope = 0.0 if found is None else self.amount(found[1], f"the value of {owner}")
            return Valued(value=Linear(slope=slope), weight=weight)
        points = tuple(self.points(found[1], f"the value of {owner}"))
        return Valued(value=Table(points=points or ((0.0, 0.0),)), weight=weight)


_VALUES = ("linear", "table")


def is_inside(path: str) -> bool:
    """Whether a path of a package stays in its folder.

    Example:
        >>> is_inside("a/b.spl"), is_inside("../b.spl"), is_inside("/b.spl"), is_inside("a//b"), is_inside("a\\\\b")
        (True, False, False, False, False)
    """
    parts = path.split("/")
    return (
        len(path) <= 500
        and all(
            part not in ("", ".", "..")
            and len(part.encode()) <= 200
            and part.isprintable()
            and not part.startswith("-")
            for part in parts
        )
        and "\\" not in path
    )
