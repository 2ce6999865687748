"""The costs of operators, measured while they run: submit signals, sampling, refined statistics, calibration."""
