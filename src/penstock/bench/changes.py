"""`penstock bench changes`: jobs whose plans change while they are killed; sinks must hold what the reference gives.

Each seed is a job of one of ten shapes (`workloads.changing_jobs`): windows by count, by time and by delta, joins,
sorts, keyed classes, custom code, loops, several sources, Kafka to PostgreSQL. Its fusion, channels and batch size
change two to five times at random moments: it is stopped and started again, killed and started again, or rescaled while
it runs. Most changes are hit by SIGKILL, for the driver, Java and all workers at once, in one of these phases, and the
job then goes on with yet another plan:

- `a batch`: at a moment behind some batch of the plan before, so that the change has a batch to finish;
- `before the savepoint`, at a moment at which what was begun is finished, or state is read;
- `the savepoint is written`, `the savepoint is complete`, `state is dealt out`;
- `the new plan stands`: before the first batch of the new plan is done.

The phase that is counted is the one that the checkpoint shows behind the kill. In the end every sink is compared with
the reference: files byte by byte; a table by the rows of each key, which tell their order.

A run that is interrupted goes on with the seeds that are left when it is begun again with the same `-o`.

The last shape needs servers, which `python -m servers penstock bench changes`, with `tests` on the PYTHONPATH, starts;
or name those that run in `PENSTOCK_BENCH_KAFKA` and `PENSTOCK_BENCH_POSTGRES`. Without them its seeds are left out.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.bench import Bench
from penstock.bench.workloads.changing_jobs import OUTSIDE, SHAPES, TABLES, Ends, make_job, shape_of, write_messages
from penstock.bench.workloads.changing_process import WorkerProcess
from penstock.bench.workloads.changing_worker import CHECKPOINT, OUT, Leg
from penstock.compiler.resuming import read_record
from penstock.expr.environment import Environment
from penstock.reference import run as run_reference
from penstock.spark.checkpoint.plan_record import SWITCHING
from penstock.spark.checkpoint.spark_files import FOLDER
from penstock.spark.savepoints.rescale_requests import drop_request, write_request
from penstock.spark.savepoints.switch_plan import OWN

SEEDS = 60
KAFKA, POSTGRES = "PENSTOCK_BENCH_KAFKA", "PENSTOCK_BENCH_POSTGRES"
_AT_ONCE = 2
_LAST_BATCH = 120
_FEWEST, _MOST = 2, 4
"""Changes of a job before the last one."""

_MOST_LEGS = 10
_BOOK = "changes.lives"
"""The file with the lives that have ended: a run that is interrupted, and begun again, goes on from there."""

_KILLED, _RESCALED = 0.5, 0.3
"""The shares of changes that are hit, and that come while the job runs."""


BATCH, BEFORE, WRITTEN, COMPLETE, DEALT, STANDS = PHASES = (
    "a batch",
    "before the savepoint",
    "the savepoint is written",
    "the savepoint is complete",
    "state is dealt out",
    "the new plan stands",
)


@dataclass(slots=True)
class Life:
    """What has become of one job.

    Attributes:
        seed: That it was drawn from.
        changes: How often its plan changed.
        rescales: How often it was asked for other channels while it ran.
        kills: In which phases it was killed.
        problem: What was wrong in the end, if anything.
        seconds: How long it took.
    """

    seed: int
    changes: int = 0
    rescales: int = 0
    kills: list[str] = field(default_factory=list)
    problem: str = ""
    seconds: float = 0.0


def run(bench: Bench) -> None:
    """Change and kill the jobs of all seeds; of one where it must be quick."""
    seeds = [seed for seed in range(1 if bench.quick else SEEDS) if _has_servers(bench, seed)]
    book = bench.out / _BOOK
    lives = [Life(**json.loads(line)) for line in book.read_text().splitlines()] if book.exists() else []
    known = {life.seed for life in lives}
    fewest, most = (_FEWEST, _FEWEST) if bench.quick else (_FEWEST, _MOST)
    for life in change_jobs([seed for seed in seeds if seed not in known], bench.out, range(fewest, most + 1)):
        what = life.problem or "equal"
        bench.progress(f"seed {life.seed}, {shape_of(life.seed)}: killed in {life.kills}: {what}")
        lives.append(life)
        with book.open("a") as lines:
            lines.write(json.dumps(asdict(life)) + "\n")
    book.unlink(missing_ok=True)
    for life in sorted(lives, key=lambda life: life.seed):
        bench.row(
            seed=life.seed,
            shape=shape_of(life.seed),
            changes=life.changes,
            rescales=life.rescales,
            killed=", ".join(life.kills),
            seconds=life.seconds,
            equal=not life.problem,
        )
    kills = Counter(phase for life in lives for phase in life.kills)
    with bench.figure("changes", title="When jobs were killed", xlabel="", ylabel="kills") as axes:
        axes.bar([phase.replace(" ", "\n") for phase in PHASES], [kills[phase] for phase in PHASES])
    equal = sum(not life.problem for life in lives) / len(lives)
    bench.check("share of jobs whose sinks equal the reference", equal, at_least=1.0)
    bench.check("jobs", len(lives), at_least=1 if bench.quick else SEEDS)
    bench.check("fewest changes of plans of a job", min(life.changes for life in lives), at_least=_FEWEST)
    if not bench.quick:
        bench.check("shapes of jobs", len({shape_of(life.seed) for life in lives}), at_least=len(SHAPES))
        bench.check("phases in which jobs were killed", len(kills), at_least=len(PHASES))


def _has_servers(bench: Bench, seed: int) -> bool:
    if shape_of(seed) != OUTSIDE or (KAFKA in os.environ and POSTGRES in os.environ):
        return True
    bench.progress(f"seed {seed} is left out: {KAFKA} and {POSTGRES} name no servers")
    return False


def change_jobs(seeds: Sequence[int], kept: Path, changes: range) -> Iterator[Life]:
    """Let the job of each seed live, two at a time; what became of each, as they end.

    Args:
        seeds: One for each job.
        kept: Where the folder of a job goes that was not equal.
        changes: How often plans may change.
    """
    waiting, own = deque(seeds), threading.local()
    workers: list[WorkerProcess] = []

    def live(root: Path) -> Life:
        if not hasattr(own, "worker"):
            own.worker = WorkerProcess(root / f"errors-{threading.get_ident()}")
            workers.append(own.worker)
        seed = waiting.popleft()
        folder = root / str(seed)
        life = _live(own.worker, seed, folder, changes)
        if life.problem:
            shutil.copytree(folder, kept / f"changes-{seed}", dirs_exist_ok=True)
        shutil.rmtree(folder)
        return life

    with tempfile.TemporaryDirectory(prefix="penstock-changes-") as root, ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            for done in as_completed([pool.submit(live, Path(root)) for _ in seeds]):
                yield done.result()
        finally:
            waiting.clear()
            for worker in workers:
                worker.kill()


def _live(worker: WorkerProcess, seed: int, folder: Path, changes: range) -> Life:
    """Change the plan of a job, and kill it, until it is done."""
    began, life, rng = time.monotonic(), Life(seed=seed), Random(f"life/{seed}")
    for name in (OUT, "wanted"):
        (folder / name).mkdir(parents=True)
    write_messages(seed, folder)
    run_reference(make_job(seed), environment=Environment(data_directory=folder, output_directory=folder / "wanted"))
    job = _Job(worker, folder, life, rng, _draw_ends(seed))
    job.live(rng.choice(changes))
    if not life.problem:
        life.problem = _compare(folder, job.ends)
    if job.ends is not None:
        _drop_tables(job.ends)
    life.seconds = time.monotonic() - began
    return life


class _Job:
    """A job, from its first batch to its last.

    Args:
        worker: Runs it.
        folder: Its own.
        life: Is told what happens.
        rng: For plans and moments.
        ends: Where it reads and writes that needs servers.
    """

    def __init__(self, worker: WorkerProcess, folder: Path, life: Life, rng: Random, ends: Ends | None) -> None:
        self.ends = ends
        self._worker, self._folder, self._life, self._rng = worker, folder, life, rng
        self._checkpoint = folder / CHECKPOINT
        self._first_batch = 0

    def live(self, changes: int) -> None:
        """Run, while its plan changes so many times, and then with yet another one until it is done, or fails."""
        event, legs = self._run(self._draw_leg(), None), 0
        while event in ("stopped", "killed") and self._life.changes < changes and legs < _MOST_LEGS:
            phase = PHASES[(self._life.seed + legs) % len(PHASES)] if self._rng.random() < _KILLED else None
            event = self._run(self._draw_leg(), phase, rescales=self._rng.random() < _RESCALED)
            legs += 1
        if event in ("stopped", "killed"):
            event = self._run(replace(self._draw_leg(), batch=_LAST_BATCH, batches=None), None)
        if event != "done":
            self._life.problem = f"{event}: {self._worker.last_errors()}"

    def _draw_leg(self) -> Leg:
        rng = self._rng
        return Leg(
            folder=str(self._folder),
            seed=self._life.seed,
            fusion=rng.randrange(1 << 30),
            channels=rng.choice((1, 2, 3)),
            batch=rng.choice((3, 5, 10, 15)),
            batches=rng.randint(1, 2),
            ends=self.ends,
        )

    def _run(self, leg: Leg, phase: str | None, *, rescales: bool = False) -> str:
        """Run a leg, and kill it in a phase; how it ended."""
        if rescales and leg.batches is not None:
            leg = replace(leg, batches=leg.batches + 2)
        self._worker.begin(leg)
        if rescales:
            event = self._worker.watch(lambda: self._worker.batches > 0)
            if event:
                return self._ended(event)
            self._note_changes()
            self._ask_for_channels(leg.channels % 3 + 1)
        moment = None if phase is None else self._moment(phase)
        event = self._worker.watch(moment)
        if not event:
            self._worker.kill()
            self._life.kills.append(self._phase())
            event = "killed"
        return self._ended(event)

    def _ask_for_channels(self, channels: int) -> None:
        self._life.rescales += 1
        self._worker.batches = 0
        write_request(self._checkpoint, channels)

    def _ended(self, event: str) -> str:
        self._note_changes()
        if self._checkpoint.exists():
            drop_request(self._checkpoint)
        return event

    def _note_changes(self) -> None:
        """Count a change of plans if there was one."""
        first = self._record().get("first_batch", 0)
        self._life.changes += first != self._first_batch
        self._first_batch = first

    def _record(self) -> dict[str, Any]:
        # It is replaced while we look.
        with suppress(OSError, ValueError, UserError):
            return dict(read_record(self._checkpoint) or {})
        return {}

    def _moment(self, phase: str) -> Callable[[], bool]:
        """Tells whether it is the time to kill."""
        wait = self._rng.uniform(0.0, 0.8)
        until = time.monotonic() + wait

        def behind_batch() -> bool:
            nonlocal until
            if not self._worker.batches:
                until = time.monotonic() + wait
                return False
            return time.monotonic() >= until

        if phase == BATCH:
            return behind_batch
        if phase == BEFORE:
            return lambda: time.monotonic() >= until
        return lambda: self._phase() == phase

    def _phase(self) -> str:
        """The phase in which a checkpoint is."""
        if self._worker.batches:
            return BATCH
        record = self._record()
        if SWITCHING in record:
            return COMPLETE if (self._checkpoint / FOLDER).exists() else DEALT
        if record.get("first_batch", 0) != self._first_batch:
            return STANDS
        return WRITTEN if (self._checkpoint / OWN).exists() else BEFORE


def _draw_ends(seed: int) -> Ends | None:
    """A topic and tables that nobody has used, for the shape that needs them."""
    if shape_of(seed) != OUTSIDE:
        return None
    name = f"changes_{seed}_{uuid.uuid4().hex[:8]}"
    return Ends(kafka=os.environ[KAFKA], topic=name, postgres=os.environ[POSTGRES], table=name)


def _compare(folder: Path, ends: Ends | None) -> str:
    """Which sinks do not hold what the reference gives them."""
    wanted = {path.name: path.read_bytes() for path in sorted((folder / "wanted").iterdir())}
    if ends is None:
        found = {name: (folder / OUT / name).read_bytes() for name in wanted if (folder / OUT / name).exists()}
    else:
        # Rows of several keys come in any order; those of one key tell theirs.
        wanted = {name: b"\n".join(sorted(text.splitlines())) for name, text in wanted.items()}
        found = {f"{name}.csv": _rows_of(ends, name) for name in TABLES}
    different = [name for name in wanted if found.get(name) != wanted[name]]
    return f"{', '.join(different)} differ" if different else ""


def _rows_of(ends: Ends, name: str) -> bytes:
    import psycopg

    with psycopg.connect(ends.postgres) as connection:
        rows = connection.execute(f"SELECT k, n, total FROM {ends.table}_{name.lower()}").fetchall()
    return b"\n".join(sorted(",".join(map(str, row)).encode() for row in rows))


def _drop_tables(ends: Ends) -> None:
    import psycopg

    with psycopg.connect(ends.postgres, autocommit=True) as connection:
        for name in TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {ends.table}_{name.lower()}")
