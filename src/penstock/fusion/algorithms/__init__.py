"""The algorithms of `penstock fuse`, one module each; COLA has a folder of its own."""
