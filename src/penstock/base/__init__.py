"""The helpers that several packages share: errors, files, deadlines, a JSON reader, a builder of integer programs."""
