"""Deciding: an immutable view of the world goes in, a plan comes out, and nothing else happens here."""
