"""The first thing that the process of a job does: it writes down who it is, then it becomes the job.

It is run as a script, by the interpreter alone, so that a process says its name within milliseconds. The file is made
only once: a process that finds it there was given up by the service, and ends at once. So whatever moment the service
is killed at, a launch has either a process that is known, or none.
"""

import json
import os
import sys


def _identity() -> dict[str, int]:
    """The process, and when it started, in ticks since the machine did; a later one of the same id started later."""
    try:
        with open("/proc/self/stat") as file:
            started = int(file.read().rpartition(") ")[2].split()[19])
    except OSError:
        started = 0
    return {"pid": os.getpid(), "started": started}


def main() -> None:
    """Write the identity to the first argument, and become the command of all others."""
    path, command = sys.argv[1], sys.argv[2:]
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w") as file:
        json.dump(_identity(), file)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        sys.exit(75)
    finally:
        os.unlink(fresh)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
