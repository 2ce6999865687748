"""Basic and Advanced COLA: pre-processor, PE schedulers, post-processor."""
