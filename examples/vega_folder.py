"""Prints the folder in which the installed package vega_datasets keeps its data files.

    penstock run examples/stocks/stocks.spl --data "$(python examples/vega_folder.py)" --out results

The data is that of the package: monthly closing prices of five companies, and four years of weather in Seattle.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def folder() -> Path:
    """The folder; ends the program with advice where the package is not installed."""
    found = find_spec("vega_datasets")
    if found is None or found.origin is None:
        sys.exit("the data of this example is in the package vega_datasets: pip install 'penstock[examples]'")
    return Path(found.origin).parent / "_data"


if __name__ == "__main__":
    print(folder())
