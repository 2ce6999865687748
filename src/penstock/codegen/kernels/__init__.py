"""The kernels that generated modules call: windows, joins and folds for all keys at once."""
