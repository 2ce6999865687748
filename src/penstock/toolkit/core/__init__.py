"""The base of every operator: definitions, invocations, outputs, the runtime and its state."""
