"""Its place puts this folder on the import path, so that all tests find the helpers that lie here."""
