"""From text to a syntax tree: grammar, parser, syntax errors."""
