"""Names as the analysis resolves them: bindings, the objects behind them, lookup tables, syntax trees."""
