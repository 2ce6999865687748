"""Sources written in Python: partitions that can be read again, and files of lines with times."""
