"""The standard operators, one module each: parameters, model, reference semantics, kernels."""
