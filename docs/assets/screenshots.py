"""Makes the pictures of the service's page that the guides show, from the jobs of its tutorial.

    python docs/assets/screenshots.py docs/images

It starts a service with three jobs, waits until they have run for a while, and lets Chromium (in Debian: the package
`chromium`) take the pictures. The programs are those of `docs/guides/service.md`, with more tuples to work on.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from penstock.service.client import Client

GUIDE = Path(__file__).parents[1] / "guides/service.md"
JOBS = {
    "alerts": ("Alerts", "--rank", "1", "--required", "--min-mips", "300", "--value", "High=50"),
    "report": ("Report", "--rank", "2", "--min-mips", "300", "--max-mips", "500", "--value", "Means=100"),
    "archive": ("Archive", "--rank", "3", "--min-mips", "400"),
}
PICTURES = {
    "service.png": ("/", 1280, 1150),
    "service-job.png": ("/jobs/report", 1280, 1500),
    "service-phone.png": ("/", 390, 1500),
}
PENSTOCK = (sys.executable, "-m", "penstock.cli")
PATIENCE_SECONDS, SAMPLES = 300.0, 25


def main(out: Path) -> None:
    """Take all pictures."""
    if shutil.which("chromium") is None:
        sys.exit("there is no `chromium`; install it, for example with `apt-get install chromium`")
    with tempfile.TemporaryDirectory(prefix="penstock-screenshots-") as temporary:
        folder = Path(temporary)
        serve = [*PENSTOCK, "serve", "--home", str(folder / "home"), "--port", "0", "--json"]
        serve += ["--mips", "900", "--macro", "5"]
        with open(folder / "log", "wb") as log:
            service = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=log, text=True)
        assert service.stdout is not None
        client = Client(json.loads(service.stdout.readline())["url"])
        try:
            submit(client, folder)
            wait(client)
            for name, (path, width, height) in PICTURES.items():
                take(f"{client.url}{path}", out / name, width, height, folder)
        finally:
            for name in JOBS:
                client.post("jobs", name, "cancel")
            while any(job["state"] != "cancelled" for job in client.get("jobs")):
                time.sleep(0.5)
            service.terminate()
            service.wait()


def submit(client: Client, folder: Path) -> None:
    """Give the service the jobs of the guide."""
    programs = re.findall(r'```spl title="(jobs/\w+\.spl)"\n(.*?)```', GUIDE.read_text(), re.DOTALL)
    for name, text in programs:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(re.sub(r"iterations: \d+u", "iterations: 100000000u", text))
    for name, (composite, *options) in JOBS.items():
        command = [*PENSTOCK, "submit", str(folder / f"jobs/{name}.spl"), "--main", composite, *options]
        subprocess.run([*command, "--server", client.url], check=True)


def wait(client: Client) -> None:
    """Return when the jobs that have a place have been measured often enough."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while any(len(client.get("jobs", name)["samples"]) < SAMPLES for name in ("alerts", "report")):
        if time.monotonic() > deadline:
            sys.exit(f"the jobs have not worked for long enough within {PATIENCE_SECONDS:g} s")
        time.sleep(1.0)


def take(url: str, path: Path, width: int, height: int, folder: Path) -> None:
    """One picture."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--user-data-dir={folder / 'chromium'}", f"--window-size={width},{height}"]
    command += [f"--screenshot={path.absolute()}", "--virtual-time-budget=3000", url]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
