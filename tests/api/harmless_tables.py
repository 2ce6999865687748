"""What the application's other module offers: constants, tables, helpers."""

from __future__ import annotations

import re
from dataclasses import dataclass

PRICE_FACTORS = {"a": 1.5, "b": 2.0}
DOMAIN_SUFFIXES = [".com", ".org"]
CODE = re.compile(r"^[a-z]+$")


@dataclass(frozen=True)
class Band:
    name: str
    low: float
    high: float = 10.0


BANDS = (Band("low", 0.0), Band("high", 10.0, 1000.0))


def clean(text: str) -> str:
    """Lower case, without blanks around."""
    return text.strip().lower()


def scale(value: float, *, by: float = 2.0) -> float:
    return value * by


def band_of(price: float) -> str:
    for band in BANDS:
        if band.low <= price < band.high:
            return band.name
    return "none"
