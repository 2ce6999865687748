"""Dividing units of resource among components: Fox, Galil and Megiddo, dynamic programming."""
