"""`penstock submit`: give the service a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from penstock.base.diagnostics import UserError
from penstock.base.json_reader import Object, load_object
from penstock.cli import print_json
from penstock.cli.options.option_types import LocalFolder, Number
from penstock.cli.options.service_options import asks_service, json_option
from penstock.service.client import Client
from penstock.service.jobs.package import pack


@click.command()
@click.argument("app")
@click.option("--name", metavar="NAME", help="Of the job. Default: as the file is called.")
@click.option("--rank", type=click.IntRange(min=1), default=None, metavar="N", help="From 1, the best. Default: 1.")
@click.option("--required", is_flag=True, help="It must be admitted.")
@click.option("--weight", type=Number(min=0.0), metavar="N", help="What its streams count. Default: 1.")
@click.option(
    "--value",
    "values",
    multiple=True,
    metavar="STREAM=N",
    help="What a tuple a second of a stream is worth; may be given several times. Default: 1 for those of sources.",
)
@click.option("--min-mips", type=Number(min=0.0), metavar="N", help="The least that it takes. Default: 200.")
@click.option("--max-mips", type=Number(min=0.0), metavar="N", help="The most that it may take. Default: all.")
@click.option("--main", metavar="COMPOSITE", help="The main composite, where a file has several.")
@click.option(
    "--toolkit", multiple=True, type=LocalFolder(), metavar="DIR", help="A toolkit; it is packed with the code."
)
@click.option("--data", type=LocalFolder(), metavar="DIR", help="What relative file names are resolved against.")
@click.option(
    "--out", type=LocalFolder(), metavar="DIR", help="Where its sinks write. Default: a folder of the service."
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A submission-time value.")
@click.option("--continuous", is_flag=True, help="Go on when the sources have no more for now.")
@click.option(
    "--job",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The rest of the submission as JSON, such as templates and tables of values; docs/formats/submission.md.",
)
@asks_service
@json_option
def command(app: str, client: Client, as_json: bool, job: Path | None, **given: Any) -> int:
    """Pack APP with its code and give it to the service, which runs it when it has a place.

    All code in the folder of APP is packed; data stays where it is, on the machine of the service. A job with several
    templates is described in a file: `--job`.

    \b
    Example:
        penstock submit examples/bargains/bargains.spl --rank 2 --value Report=5
        penstock submit alerts.py:app --name alerts --required --max-mips 1000
    """
    path = Path(app.partition(":")[0])
    if not path.is_file():
        raise UserError(f"there is no file `{path}`", hint="give FILE.spl or FILE.py:app; modules are given as files")
    document = _document(app, path, job, given)
    toolkits = [Path(toolkit) for toolkit in given["toolkit"]]
    for toolkit in toolkits:
        if not toolkit.is_dir():
            raise UserError(f"there is no toolkit folder `{toolkit}`")
    document["files"] = pack(path.resolve().parent, toolkits)
    answer = client.post("jobs", body=document)
    if as_json:
        print_json(answer)
    else:
        click.echo(
            f"job {answer['id']} is {answer['state']}; `penstock status {answer['id']}` says how it goes", err=True
        )
    return 0


def _document(app: str, path: Path, job: Path | None, given: dict[str, Any]) -> Object:
    """The submission: what the file says, and what the options say."""
    document = {} if job is None else load_object(job, '{"templates": [{"id": "full", "app": "a.spl"}]}')
    document.setdefault("name", given["name"] or path.stem.replace(".", "-"))
    named = {"rank": given["rank"], "weight": given["weight"], "out": _absolute(given["out"])}
    named |= {"min_mips": given["min_mips"], "max_mips": given["max_mips"], "name": given["name"]}
    document |= {key: value for key, value in named.items() if value is not None}
    if given["required"]:
        document["required"] = True
    if given["values"]:
        document["values"] = {**document.get("values", {}), **dict(_valued(value) for value in given["values"])}
    template = {
        "main": given["main"],
        "data": _absolute(given["data"]) or _default_data(path),
        "toolkits": [f"toolkits/{number}" for number in range(len(given["toolkit"]))],
        "set": dict(_pair(setting, "--set") for setting in given["settings"]),
        "continuous": given["continuous"],
    }
    told = {key: value for key, value in template.items() if value}
    templates = document.get("templates") or [{"app": path.name + app[len(str(path)) :] if ":" in app else path.name}]
    document["templates"] = [{**told, **entry} if isinstance(entry, dict) else entry for entry in templates]
    return document


def _absolute(folder: Path | None) -> str | None:
    return None if folder is None else str(Path(folder).absolute())


def _default_data(path: Path) -> str | None:
    folder = path.resolve().parent / "data"
    return str(folder) if folder.is_dir() else None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"`{text}` is not NAME=VALUE", param_hint=option)
    return name, value


def _valued(text: str) -> tuple[str, dict[str, float]]:
    name, value = _pair(text, "--value")
    try:
        return name, {"linear": float(value)}
    except ValueError:
        raise click.BadParameter(f"`{text}` is not STREAM=NUMBER", param_hint="--value") from None
