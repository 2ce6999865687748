"""Methods to run or inspect an app: `app.run()`, `app.check()`, `app.explain()`, `stream.collect()`, `stream.show()`.

The engines lie far above the API, so they are looked up when they are first asked for, here and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from penstock.running import Explanation, Run


def _running() -> ModuleType:
    from penstock import running

    return running


class AppRunning:
    """The methods of an application that look at it, or run it."""

    __slots__ = ()

    def check(self) -> str:
        """Check the whole application; the answer is a sentence that says how large it is.

        Raises:
            UserError: Something is wrong with it.

        Example:
            >>> from penstock import App
            >>> app = App("Numbers")
            >>> app.beacon("int32 x", iterations=3).print()
            >>> app.check()
            'Numbers: 2 operators, 1 streams, 1 subscriptions, no errors'
        """
        told: str = _running().check(self)
        return told

    def explain(self, stage: str = "logical", **options: Any) -> Explanation:
        """The application at a stage of its compilation: its text, and in a notebook also its graph.

        Args:
            stage: `logical`: the graph; `parallel`: the parallel regions, and why all else is sequential; `fused`: the
                PEs and the streams between them; `placed`: their hosts, which wants a profile; `generated`: the PEs
                with the code of each.
            options: `channels` and `fusion`, as `run` takes them, from `fused` on; by default 1 and `all`.

        Example:
            >>> from penstock import App, col
            >>> app = App("Numbers")
            >>> app.beacon("int32 x", iterations=3).filter(col.x > 0).print()
            >>> print(app.explain("parallel"))
            R1: ...
        """
        explanation: Explanation = _running().explain(self, stage, options)
        return explanation

    def run(self, engine: str = "spark", **options: Any) -> Run:
        """Run the application in the background; the answer is a handle on the run.

        Args:
            engine: `spark`; `local`: the same generated code in this process, without Spark; or `reference`: the
                sequential interpreter that defines every program.
            options: `spark`: a session of your own to run in; its settings stay as they are.
                `master`: the Spark cluster, where there is no session yet; by default this machine.
                `channels`: how many channels parallel regions get, or `auto`.
                `fusion`: which operators share a PE: `auto`, `all`, `none`, ...
                `checkpoint`: the folder where Spark keeps the state of the job, so that it can be resumed.
                `start_from`: a savepoint by `penstock savepoint` to go on from, with a new checkpoint.
                `allow_dropped_state`: whether a changed program may go on without the state of operators that are gone
                or are others now.
                `accept_changed_code`: whether to resume although the Python code of an operator with state has changed.
                `key_groups`: how many groups keys are divided into; the most channels that the job can ever have.
                `state_limit`: how many bytes of state a channel may hold; a job that needs more ends with a message.
                `data`: the folder that relative file names are resolved against; by default the folder `data` beside
                the program, or else the current folder.
                `out`: the folder where sinks write; by default the data folder.
                `set`: submission-time values, by name.
                `seconds`: when to stop.
                `batch`: how many tuples sources give for one batch on Spark.
                `continuous`: whether to wait for more where sources can have more; by default where they are made for
                it (a growing folder, a topic), or where `seconds` is given.

        Raises:
            UserError: The application is not complete, or an option is wrong. What goes wrong later is raised by the
                handle's `wait`.

        Example:
            >>> from penstock import App
            >>> app = App("Hello")
            >>> app.from_rows([("world",)], "rstring name").print()
            >>> app.run("reference").wait()
            {name="world"}
            <Run of Hello on reference: done>
        """
        run: Run = _running().run(self, {"engine": engine, **options})
        return run

    def _repr_html_(self) -> str:
        picture: str = _running().picture(self)
        return picture


class StreamRunning:
    """The methods of a stream that run what it is made of."""

    __slots__ = ()

    def collect(self, limit: int | None = None, **options: Any) -> list[Any]:
        """Run what the stream is made of, and return its tuples, in order, as named tuples.

        Nothing else runs, so no sink writes anything. `row._asdict()` makes a dict of a row. An attribute whose name
        Python forbids (`class`, `_x`) is in its place in the row: `row[0]`.

        Args:
            limit: How many tuples at most; the run then stops. Without it the sources have to end.
            options: As `App.run` takes them, `engine` too, which is `local` unless it is given.

        Example:
            >>> from penstock import App, agg
            >>> numbers = App().beacon("uint64 n", n=agg.iteration_count())
            >>> numbers.collect(limit=2)
            [Row(n=0), Row(n=1)]
        """
        rows: list[Any] = _running().collect(self, limit, options)
        return rows

    def show(self, n: int = 20, **options: Any) -> None:
        """Run what the stream is made of, and print its first tuples as a table.

        Example:
            >>> from penstock import App, agg
            >>> numbers = App().beacon("uint64 n", n=agg.iteration_count())
            >>> numbers.show(2)
            ┏━━━┓
            ┃ n ┃
            ┡━━━┩
            │ 0 │
            │ 1 │
            └───┘
            the first 2; there are more
        """
        _running().show(self, n, options)
