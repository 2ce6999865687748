"""SPL: grammar, parser, checker, expansion of composites to the graph."""

from penstock.lang.compile import compile_file, compile_text

__all__ = ["compile_file", "compile_text"]
