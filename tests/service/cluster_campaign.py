"""Kills executors, the master of a cluster, the service and its jobs at random moments; afterwards all must be right.

    python -m tests.service.cluster_campaign --seeds 0:40

The cluster is real (a master and two workers on loopback addresses), and so are the jobs: an aggregation by key and a
job without state, each an application of Spark's. A master that is killed is started again some seconds later, and
knows nothing of the applications of before. At the end both jobs are done, each has run once at a time, no process is
left, and their files are to the byte what they would have been.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from penstock.base.process_tree import PROC, family, marked
from penstock.service.client import Client
from penstock.service.jobs.package import pack
from penstock.service.jobs.process import MARK, Attempt
from penstock.spark.cluster.local_cluster import MASTER_HOST, _start, start_cluster, stop_cluster

TUPLES = 6000
PROGRAM = f"""composite Totals {{ graph
    stream<int32 k, int32 x> A = Beacon() {{ param iterations: {TUPLES}u;
      output A: k = (int32) IterationCount() * 7 % 11, x = (int32) IterationCount(); }}
    stream<int32 k, int32 total> B = Aggregate(A) {{ window A: sliding, count(5), count(1), partitioned;
      param partitionBy: k; output B: k = Any(k), total = Sum(x); }}
    () as Sink = FileSink(B) {{ param file: "totals.csv"; }}
}}
composite Copies {{ graph
    stream<int32 x> A = Beacon() {{ param iterations: {TUPLES}u; output A: x = (int32) IterationCount(); }}
    stream<int32 x> B = Filter(A) {{ param filter: x % 3 != 1; }}
    () as Sink = FileSink(B) {{ param file: "copies.csv"; }}
}}
"""
JOBS = {"totals": "Totals", "copies": "Copies"}
KINDS = ("executor", "executor", "executor", "master", "service", "job")
PATIENCE_SECONDS = 900.0


def wanted() -> dict[str, str]:
    """The files, computed by hand."""
    last: dict[int, list[int]] = {}
    lines = []
    for x in range(TUPLES):
        window = last.setdefault(x * 7 % 11, [])
        window.append(x)
        del window[:-5]
        lines.append(f"{x * 7 % 11},{sum(window)}\n")
    return {"totals": "".join(lines), "copies": "".join(f"{x}\n" for x in range(TUPLES) if x % 3 != 1)}


class ClusterCampaign:
    """One seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance, self.folder = random.Random(seed), folder
        self.home, self.place = folder / "home", folder / "cluster"
        self.cluster = start_cluster(self.place, 2)
        self.master = self.cluster.process
        self.killed: list[str] = []
        self.twice: list[str] = []
        self.is_over = threading.Event()
        self.begin()
        (folder / "code").mkdir()
        (folder / "code" / "app.spl").write_text(PROGRAM)
        files = pack(folder / "code", [])
        for number, (name, composite) in enumerate(JOBS.items(), 1):
            template = {"app": "app.spl", "main": composite, "batch": 100, "channels": 1}
            job = {"name": name, "rank": number, "max_mips": 1000, "templates": [template], "files": files}
            self.client.post("jobs", body={**job, "out": str(folder / "out")})
        self.watch = threading.Thread(target=self.look, daemon=True)
        self.watch.start()

    def begin(self) -> None:
        command = [sys.executable, "-m", "penstock.cli", "serve", "--home", str(self.home), "--port", "0", "--json"]
        command += ["--master", self.cluster.master, "--mips", "2000", "--macro", "5"]
        with open(self.folder / "service.log", "ab") as log:
            self.service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.service.stdout is not None
        self.client = Client(self.service.stdout.readline().split('"')[3])

    def look(self) -> None:
        """Whether a job ever has two processes."""
        while not self.is_over.wait(0.2):
            for name in JOBS:
                runs = [Attempt(folder=folder) for folder in (self.home / "jobs" / name / "runs").glob("*")]
                alive = [run for run in runs if (p := run.process) is not None and p.state not in (None, "Z")]
                if len(alive) > 1:
                    self.twice.append(f"{name}: {[run.folder.name for run in alive]}")

    def disturb(self) -> None:
        """Let one thing be killed."""
        time.sleep(self.chance.uniform(1.0, 12.0))
        kind = self.chance.choice(KINDS)
        match kind:
            case "executor":
                found = [pid for worker in self.cluster.workers for pid in family(worker.process.pid) if executes(pid)]
                if not found:
                    return
                kill(self.chance.choice(found))
            case "master":
                kill(self.master.pid)
                with suppress(ChildProcessError):
                    os.waitpid(self.master.pid, 0)
                time.sleep(self.chance.uniform(0.0, 8.0))
                port = self.cluster.master.rpartition(":")[2]
                where = ("--host", MASTER_HOST, "--port", port, "--webui-port", str(self.cluster.web_port))
                self.master = _start(self.place, "master", MASTER_HOST, where)
            case "service":
                self.service.kill()
                self.service.wait()
                self.begin()
            case "job":
                name = self.chance.choice(list(JOBS))
                for folder in (self.home / "jobs" / name / "runs").glob("*"):
                    process = Attempt(folder=folder).process
                    if process is not None and process.state is not None:
                        kill(process.pid)
        self.killed.append(kind)

    def settle(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(job["state"] != "done" for job in self.client.get("jobs")):
            assert time.monotonic() < deadline, [
                (job["id"], job["state"], job["error"], job["reason"]) for job in self.client.get("jobs")
            ]
            time.sleep(0.5)

    def check(self) -> None:
        assert not self.twice, self.twice
        for name, text in wanted().items():
            assert (self.folder / "out" / f"{name}.csv").read_text() == text, f"the file of {name} is another"
            runs = (self.home / "jobs" / name / "runs").glob("*")
            left = [pid for run in runs for pid in marked(MARK, str(run))]
            assert not left, f"job {name} has left processes behind: {left}"

    def end(self) -> None:
        self.is_over.set()
        self.service.kill()
        self.service.wait()
        for run in self.home.glob("jobs/*/runs/*"):
            Attempt(folder=run).kill()
        kill(self.master.pid)
        stop_cluster(self.place)


def executes(pid: int) -> bool:
    try:
        return b"CoarseGrainedExecutorBackend" in (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def play(seed: int) -> list[str]:
    """One seed; what was killed in it."""
    with tempfile.TemporaryDirectory(prefix="penstock-cluster-campaign-") as folder:
        campaign = ClusterCampaign(seed, Path(folder))
        try:
            for _ in range(4):
                campaign.disturb()
            campaign.settle()
            campaign.check()
            return campaign.killed
        finally:
            campaign.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:40", help="FIRST:END")
    first, end = map(int, parser.parse_args().seeds.split(":"))
    for seed in range(first, end):
        began = time.monotonic()
        killed = play(seed)
        print(f"seed {seed}: {', '.join(killed)} killed: all right, {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    os.environ.pop("PENSTOCK_TOKEN", None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
