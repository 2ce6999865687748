"""Files that sinks write and sources read in blocks: names, records, locks."""
