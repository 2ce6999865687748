"""What operators cost, measured while they run: submit signals, sampling, refined statistics, calibration."""
