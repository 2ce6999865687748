"""Sources at work: turns, reading by columns, filters applied where a source is read."""
