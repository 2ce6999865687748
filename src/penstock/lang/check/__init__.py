"""From a syntax tree to typed operators: names, types, expressions, statements, invocations."""
