"""The problems, programs and input that the experiments run."""
