"""The runs of an interrupted `optimize`, kept beside the plan file, so that the next one goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.json_source import read_json
from penstock.model.profile_format import profile_from_json, profile_to_json
from penstock.optimizer.loop import Iteration
from penstock.optimizer.spark_problem import Candidate

VERSION = 3
_MODEL = "model"


def state_path(plan: Path) -> Path:
    """Where the runs behind a plan file are kept.

    Example:
        >>> state_path(Path("plan.json")).name
        'plan.json.runs'
    """
    return plan.with_name(plan.name + ".runs")


def keep_runs(
    path: Path, fingerprint: str, channels: int | str, runs: Sequence[Iteration], *, by: str = _MODEL
) -> None:
    """Write the runs so far, with the channels that were asked for and what chooses; the file is whole at any time."""
    value = {
        "version": VERSION,
        "fingerprint": fingerprint,
        "channels": channels,
        "by": by,
        "runs": [_run_to_json(run) for run in runs],
    }
    fresh = path.with_name(path.name + ".new")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh.write_text(json.dumps(value) + "\n", encoding="utf-8")
    fresh.replace(path)


def kept_runs(path: Path, fingerprint: str, channels: int | str, *, by: str = _MODEL) -> list[Iteration]:
    """The runs of an interrupted loop over the same application; none if there are none, or they are of another.

    Args:
        path: Where they are kept.
        fingerprint: Of the application.
        channels: What is asked for: a number, or `auto`.
        by: What chooses fusions: `model`, or an algorithm.

    Raises:
        UserError: The file is damaged.
    """
    if not path.exists():
        return []
    value = read_json(path)
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return []
    if value.get("fingerprint") != fingerprint or value.get("channels") != channels:
        return []
    if value.get("by", _MODEL) != by:
        return []
    try:
        return [_run_from_json(run, str(path)) for run in value["runs"]]
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: the runs cannot be read", hint="delete the file to start anew") from error


def _run_to_json(run: Iteration) -> dict[str, object]:
    return {
        "number": run.number,
        "gamma": run.gamma,
        "groups": [list(group) for group in run.candidate.groups],
        "channels": run.candidate.channels,
        "predicted_tps": run.predicted_tps,
        "throughput_tps": run.throughput_tps,
        "confirmed_tps": list(run.confirmed_tps),
        "profile": profile_to_json(run.profile),
    }


def _run_from_json(value: dict[str, object], path: str) -> Iteration:
    profile = value["profile"]
    assert isinstance(profile, dict)
    candidate = Candidate(
        groups=tuple(tuple(group) for group in value["groups"]),  # type: ignore[attr-defined] # our own file
        channels=value["channels"],  # type: ignore[arg-type]
    )
    return Iteration(
        number=value["number"],  # type: ignore[arg-type]
        gamma=value["gamma"],  # type: ignore[arg-type]
        candidate=candidate,
        predicted_tps=value["predicted_tps"],  # type: ignore[arg-type]
        throughput_tps=value["throughput_tps"],  # type: ignore[arg-type]
        confirmed_tps=tuple(value["confirmed_tps"]),  # type: ignore[arg-type]
        profile=profile_from_json(profile, path),
    )
