"""Numbers as people read them in tables."""

from __future__ import annotations

_GROUPED = 1000


def figure(value: float, digits: int = 6) -> str:
    """A number with all digits before the point where it is large, and the leading ones where it is small.

    Example:
        >>> figure(1100000.0), figure(66.66666666), figure(0.000123456), figure(0.33333333, digits=4)
        ('1,100,000', '66.6667', '0.000123456', '0.3333')
    """
    return f"{value:,.0f}" if abs(value) >= _GROUPED else f"{value:.{digits}g}"
