"""`ParSink`: a file for each user, so users are independent of each other."""

from __future__ import annotations

from penstock import sink


@sink
def ParSink(t, *, environment) -> None:
    """Append the total to the file of the user."""
    with (environment.output_directory / f"user{t.uid}.txt").open("a") as file:
        file.write(f"{t.total}\n")
