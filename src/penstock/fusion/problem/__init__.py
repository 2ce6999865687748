"""The fusion problem: its arrays, its JSON, objectives, costs, validity, and why nothing fits."""
