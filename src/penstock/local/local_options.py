"""Options of the compiler for the local engine."""

from __future__ import annotations

from dataclasses import replace

from penstock.compiler import Options
from penstock.compiler.fusion_names import AUTO


def fit_to_process(options: Options) -> Options:
    """The options with every choice that is left to the compiler made for one process.

    No PE or channel works while another does, so none gains.

    Example:
        >>> fitted = fit_to_process(Options(channels=AUTO, fusion="none"))
        >>> fitted.channels, fitted.fusion, fitted.loops, fitted.cores
        (1, 'none', 'inside', 1)
    """
    return replace(
        options,
        channels=1 if options.channels == AUTO else options.channels,
        fusion="all" if options.fusion == AUTO else options.fusion,
        loops="inside" if options.loops == AUTO else options.loops,
        cores=1,
    )
