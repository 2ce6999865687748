"""DataFrames in, DataFrames out: `penstock.spark.transform` and `penstock.spark.write`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.base.submission_values import submission_values
from penstock.codegen.plan.physical import is_sink
from penstock.compiler import CompiledJob, Options, compile
from penstock.expr.environment import Environment
from penstock.ir.graph import Application, ErrorPolicy, Operator
from penstock.ir.models import State
from penstock.runtime.sources.waiting import waits_for_time
from penstock.runtime.verify.verify_models import verify_some
from penstock.spark.checkpoint.code_fingerprint import fingerprint_code
from penstock.spark.checkpoint.plan_record import PLAN, record_of
from penstock.spark.frames.bound_frames import bind, check_frame, session_with
from penstock.spark.frames.row_types import check_columns
from penstock.spark.frames.transformation import Input, Transformation
from penstock.spark.job.pickling import ship_user_modules
from penstock.spark.job.program_file import ship_program
from penstock.spark.job.session import SETTINGS, cores_of
from penstock.spark.sources.data_source import pickle_job
from penstock.spark.workers.state_mark import StateMark
from penstock.toolkit.core.program import Program
from penstock.toolkit.frames.from_spark import DEFINITION as FROM_SPARK
from penstock.toolkit.frames.from_spark import inputs_of
from penstock.toolkit.frames.to_spark import DEFINITION as TO_SPARK
from penstock.toolkit.frames.to_spark import outputs_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.api.application import App

Writer = Callable[["DataFrame", int], Any]
"""Writes an output of one batch, as a function for `foreachBatch` does: called with its DataFrame and its number."""

CHANNELS_OF_STREAMS = 2
"""The channels of regions with keys where nothing else is said: a checkpoint belongs to their number."""

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def transform(
    app: App | Program,
    inputs: Mapping[str, DataFrame],
    *,
    channels: int | None = None,
    fusion: str = "all",
    plan: str | Path | None = None,
    order_by: str | Mapping[str, str] | None = None,
    ordered: bool = True,
    dead_letters: str | None = None,
    data: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    accept_changed_code: bool = False,
) -> dict[str, DataFrame]:
    """The outputs of an application as DataFrames: streams, if its inputs are, and otherwise tables.

    Nothing runs before an output is written, in the user's own query with the user's own checkpoint. Each DataFrame
    computes the application from its inputs; `write` writes several in one query.

    Args:
        app: With `app.from_spark(name, schema)` for each input and `stream.to_spark(name)` for each output.
        inputs: The DataFrames by name.
        channels: How many channels regions with keys get; without it 2 for streams, and else as many as tasks run at
            a time. What has neither state nor key runs in the partitions of the input, whatever their number.
        fusion: Which operators share a PE, as `penstock run --fusion` has it.
        plan: A plan file of `penstock optimize` that says so instead.
        order_by: The column that tells the order of rows, or one for some inputs, by name; without it rows are in the
            order of the partitions.
        ordered: Whether an output has the one order of the sequential program; otherwise each of its partitions has
            the order of a channel, and writing it is not left to one task.
        dead_letters: The name of one more DataFrame, with what operators set aside (`on_error="skip"`).
        data: The folder that relative file names of operators are resolved against.
        set: Submission-time values by name.
        accept_changed_code: Whether to resume a checkpoint although code of operators with state has changed.

    Raises:
        UserError: Inputs, outputs or columns do not fit the application, or it cannot run so.
    """
    made = _Arguments(app, inputs, order_by, dead_letters, data, set)
    job = made.compile(channels, fusion, plan)
    end = made.transformation(job, accept_changed_code=accept_changed_code).line()
    found = {name: end.take(sink, ordered=ordered) for name, sink in made.outputs.items()}
    return found if dead_letters is None else {**found, dead_letters: end.letters()}


def write(
    app: App | Program,
    inputs: Mapping[str, DataFrame],
    writers: Mapping[str, Writer],
    *,
    checkpoint: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
    query_name: str | None = None,
    **options: Any,
) -> StreamingQuery | None:
    """Write all outputs of an application, which is computed once, in one query.

    Args:
        app: As `transform` takes it.
        inputs: Likewise.
        writers: For each output a function of its DataFrame and the number of the batch, as for `foreachBatch`. It is
            called again with the same number where a batch is run again, so what it does must be idempotent.
        checkpoint: Of the query, where the inputs are streams.
        trigger: Of the query, as `DataStreamWriter.trigger` takes it: `{"availableNow": True}`.
        query_name: Of the query.
        options: As `transform` takes them.

    Returns:
        The query, which has been started; None where the inputs are no streams and all is written.

    Raises:
        UserError: As of `transform`, or an output has no writer.
    """
    letters = options.pop("dead_letters", None)
    channels, fusion = options.pop("channels", None), options.pop("fusion", "all")
    plan, ordered = options.pop("plan", None), options.pop("ordered", True)
    accepts = options.pop("accept_changed_code", False)
    names = ("order_by", "data", "set")
    unknown = [name for name in options if name not in names]
    if unknown:
        raise UserError(f"`write` has no option `{unknown[0]}`", hint=did_you_mean(unknown[0], names))
    made = _Arguments(app, inputs, options.get("order_by"), letters, options.get("data"), options.get("set"))
    made.check_writers(writers)
    transformation = made.transformation(made.compile(channels, fusion, plan), accept_changed_code=accepts)
    end = transformation.line().rows()

    def write_batch(batch: DataFrame, number: int) -> None:
        batch.persist()
        try:
            part = replace(end, frame=batch)
            for name, writer in writers.items():
                sink = made.outputs.get(name)
                writer(part.letters() if sink is None else part.take(sink, ordered=ordered), number)
        finally:
            batch.unpersist()

    if not transformation.streams:
        write_batch(end.frame, 0)
        return None
    query = end.frame.writeStream.foreachBatch(write_batch)
    if checkpoint is not None:
        query = query.option("checkpointLocation", str(checkpoint))
    if trigger is not None:
        query = query.trigger(**trigger)
    return query.queryName(query_name).start() if query_name else query.start()


class _Arguments:
    """What `transform` and `write` were given, checked."""

    def __init__(
        self,
        app: App | Program,
        frames: Mapping[str, DataFrame],
        order_by: str | Mapping[str, str] | None,
        dead_letters: str | None,
        data: str | Path | None,
        settings: Mapping[str, Any] | None,
    ) -> None:
        self.program = verify_some(app if isinstance(app, Program) else app.program())
        application = self.program.application
        self.frames, self.inputs = dict(frames), inputs_of(application)
        self.outputs, self._letters = outputs_of(application), dead_letters
        self.order = _orders(order_by, self.inputs)
        self._check_operators(application)
        self._check_inputs()
        self.streams = any(frame.isStreaming for frame in self.frames.values())
        self._check_time(application)
        self.environment = _environment(self.program, data, settings)
        self.session = next(iter(self.frames.values())).sparkSession

    def compile(self, channels: int | None, fusion: str, plan: str | Path | None) -> CompiledJob:
        """The compiled application."""
        cores = cores_of(self.session)
        options = Options(
            environment=self.environment,
            channels=channels or (CHANNELS_OF_STREAMS if self.streams else max(2, cores)),
            fusion=fusion,
            plan=None if plan is None else Path(plan),
            cores=cores,
        )
        return compile(self.program, options)

    def transformation(self, job: CompiledJob, *, accept_changed_code: bool) -> Transformation:
        """The application over the inputs, in a session that has what it needs."""
        ship_user_modules(job.program)
        has_state = any(pe.role == "stateful" for pe in job.plan.pes)
        wanted = {}
        if has_state and self.streams:
            wanted = {name: SETTINGS[name] for name in (_PROVIDER, _CHANGELOG)}
            wanted["spark.sql.shuffle.partitions"] = str(job.plan.channels)
        session = session_with(self.session, wanted)
        frames = self.frames if session is self.session else {n: bind(f, session) for n, f in self.frames.items()}
        given = {
            operator.id: Input(frame=frames[name], operator=operator, order_by=self.order.get(name))
            for name, operator in self.inputs.items()
        }
        pickled = pickle_job(job.program, job.plan, self.environment, job.build)
        program = ship_program(session, pickled)
        return Transformation(
            job=job, program=program, inputs=given, streams=self.streams, mark=_mark(job, accept_changed_code)
        )

    def check_writers(self, writers: Mapping[str, Writer]) -> None:
        """Refuse writers of what there is not, and outputs that nobody writes."""
        names = [*self.outputs, *([self._letters] if self._letters else [])]
        _check_names("output", names, writers, "give a function of a DataFrame and the number of its batch")

    def _check_operators(self, application: Application) -> None:
        found = Diagnostics()
        for operator in application.operators:
            if not operator.inputs and operator.kind != FROM_SPARK.kind:
                message = f"`{operator.id}` ({operator.kind}) is a source of its own"
                found.error(message, operator.span, hint="begin with `app.from_spark`, or run it: app.run(inputs=...)")
            elif is_sink(operator) and operator.kind != TO_SPARK.kind:
                message = f"`{operator.id}` ({operator.kind}) is a sink of its own"
                found.error(message, operator.span, hint="end with `to_spark`, or run it: app.run(inputs=...)")
            elif operator.on_error is ErrorPolicy.SKIP and self._letters is None:
                message = f"`{operator.id}` sets aside what it cannot process, and nobody takes that"
                found.error(message, operator.span, hint='name a DataFrame for it: dead_letters="rejected"')
        if not self.outputs:
            found.error("the application has no output", None, hint='end a stream with `stream.to_spark("name")`')
        if self._letters in self.outputs:
            found.error(f"there is an output `{self._letters}` already", None, hint="name the dead letters otherwise")
        found.raise_if_any()

    def _check_inputs(self) -> None:
        _check_names("input", list(self.inputs), self.frames, "give a DataFrame for each `app.from_spark`")
        for name, operator in self.inputs.items():
            frame = self.frames[name]
            check_frame(name, frame)
            by_case = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
            check_columns(name, frame.schema, operator.outputs[0].schema, is_case_sensitive=by_case)
            column = self.order.get(name)
            if column is not None and column not in frame.columns:
                hint = did_you_mean(column, frame.columns)
                raise UserError(f"the input `{name}` has no column `{column}` to be ordered by", hint=hint)
        if len({frame.isStreaming for frame in self.frames.values()}) > 1:
            hint = "give all as streams, or run the application: `stream.lookup` takes a table in app.run(inputs=...)"
            raise UserError("some inputs are streams, and others are tables, which end", hint=hint)

    def _check_time(self, application: Application) -> None:
        if self.streams and waits_for_time(application):
            message = "an operator acts when time passes, and the rows of a DataFrame bring no time"
            raise UserError(message, hint="let it count tuples, or run the application: app.run(inputs=...)")


def _check_names(what: str, wanted: list[str], given: Mapping[str, Any], hint: str) -> None:
    missing = [name for name in wanted if name not in given]
    strange = [name for name in given if name not in wanted]
    if strange:
        near = did_you_mean(strange[0], wanted) or f"it has {', '.join(wanted) or 'none'}"
        raise UserError(f"the application has no {what} `{strange[0]}`", hint=near)
    if missing:
        raise UserError(f"there is nothing for the {what} `{missing[0]}`", hint=hint)


def _orders(given: str | Mapping[str, str] | None, inputs: Mapping[str, Operator]) -> dict[str, str]:
    if given is None:
        return {}
    if isinstance(given, str):
        return dict.fromkeys(inputs, given)
    strange = next((name for name in given if name not in inputs), None)
    if strange is not None:
        raise UserError(f"`order_by` names no input: `{strange}`", hint=did_you_mean(strange, inputs))
    return dict(given)


def _environment(program: Program, data: str | Path | None, settings: Mapping[str, Any] | None) -> Environment:
    values = submission_values(settings or {})
    folder = Path() if data is None else Path(data)
    if not folder.is_dir():
        raise UserError(f"there is no data folder `{folder}`")
    return Environment(
        submission_values=values,
        compile_values=values,
        data_directory=folder.absolute(),
        application_directory=program.directory.absolute(),
    )


def _mark(job: CompiledJob, accepts_changed_code: bool) -> StateMark:
    """What the state of a job is written under."""
    record = record_of(job.plan)
    plan = {name: record[name] for name in ("format", "application", "graph", *PLAN)}
    operator = job.plan.application.operator
    code = {
        id_: digest
        for id_, digest in fingerprint_code(job.program).items()
        if id_ in operator and operator[id_].model.state is not State.STATELESS
    }
    return StateMark(
        plan=repr(sorted(plan.items())),
        code=repr((record["python"], sorted(code.items()))),
        accepts_changed_code=accepts_changed_code,
    )
