"""The state of classes that users write: what another version of a class has left, and what it holds."""
