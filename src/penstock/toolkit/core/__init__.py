"""What every operator is built on: definitions, invocations, outputs, the runtime and its state."""
