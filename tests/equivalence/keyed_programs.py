"""Programs with keyed operators, drawn at random: wakes, times to live, expiry, cascades, windows by time."""

from __future__ import annotations

import enum
from collections import defaultdict
from random import Random

from penstock import App, KeyedOperator, Stream, after, agg, col, sliding, source, time, tumbling
from penstock.toolkit.core.program import Program

SCHEMA = "int32 n, rstring s, optional<float64> f"


class Mood(enum.Enum):
    CALM = 0
    WILD = 1


class Account:
    """State of the application's own."""

    def __init__(self):
        self.total = 0
        self.mood = Mood.CALM


class Counting(KeyedOperator):
    """Numbers the tuples of a key."""

    def __init__(self, step: int = 1):
        self.step, self.count = step, 0

    def process(self, t):
        self.count += self.step
        yield {"n": self.count, "s": t.s, "f": t.f}


class Forgetting(Counting):
    """Begins anew after two seconds."""

    ttl = 2.0


class Sessions(KeyedOperator):
    """Tells of a key when it has been quiet."""

    ttl = 1.5
    __slots__ = ("account", "last")

    def __init__(self):
        self.account, self.last = Account(), None

    def process(self, t):
        self.account.total += t.n
        self.account.mood = Mood.WILD if self.account.total > 12 else Mood.CALM
        self.last = t
        if t.n == 7:
            raise ValueError("seven")

    def on_expire(self):
        if self.account.mood is Mood.WILD:
            yield {"n": self.account.total, "s": self.last.s, "f": self.last.f}
        yield {"n": -1, "s": self.last.s, "f": self.now}


class Waking(KeyedOperator):
    """Lets tuples wait, tells several times, and takes a wake back now and then."""

    def __init__(self):
        self.waiting = []
        self.calls = defaultdict(lambda: 0)

    def process(self, t):
        self.waiting.append(t)
        if t.n % 5 == 0:
            self.wake(None)
        elif t.n % 3:
            self.wake([0.5, 1.0, 2.0][t.n % 3])
        for _ in range(t.n % 3):
            yield t

    def on_wake(self):
        self.calls["wake"] += 1
        if self.waiting and self.calls["wake"] % 4:
            self.wake(0.5)
        for t in self.waiting[:2]:
            yield {"n": self.calls["wake"], "s": t.s, "f": t.f}
        del self.waiting[:2]


class Both(Waking):
    """Wakes and expires, at the same time now and then."""

    ttl = 1.0

    def on_expire(self):
        for t in self.waiting:
            self.submit({"n": 100 + t.n, "s": t.s, "f": t.f})


class Ending(Counting):
    """Tells of every key at markers and at the end."""

    def on_punctuation(self, port):
        yield {"n": -self.count, "s": str(self.key[0]), "f": None}

    finish = lambda self: self.on_punctuation(0)  # noqa: E731 # as good as a method


KINDS = (Counting, Forgetting, Sessions, Waking, Both, Waking, Both, Sessions, Ending)
KEYS = ("s", "n", "f", ("s", "f"), "s", "s")


def draw_program(rng: Random, *, size: int = 4, length: int = 40) -> Program:
    """A chain with branches, a sink for each stream, and a source that waits by quarters of a second."""
    app = App("Drawn")
    floats = [None, 0.0, -0.0, float("nan"), 1.5]
    items = [
        after(rng.choice([0.25, 0.5, 0.5, 1.0, 2.0]))
        if rng.random() < 0.4
        else (rng.randrange(10), rng.choice("abc"), rng.choice(floats))
        for _ in range(rng.randrange(1, length))
    ]

    @source
    def given():
        yield from items

    streams = [app.source(given, SCHEMA, name="A")]
    for i in range(rng.randrange(1, size)):
        made = add_operator(rng, rng.choice(streams[-2:]), f"B{i}")
        made.write_file(f"{i}.csv", name=f"Sink{i}")
        streams.append(made)
    return app.program()


def add_operator(rng: Random, stream: Stream, name: str) -> Stream:
    kind = rng.randrange(10)
    if kind == 0:
        return stream.filter(col.n > 1, name=name)
    if kind == 1:
        window = rng.choice([tumbling(time(1.0)), tumbling(time(0.5)), sliding(time(2.0), every=time(1.0))])
        return stream.aggregate(window, by="s", n=agg.last(col.n), f=agg.last(col.f), name=name).to(SCHEMA)
    on_error = "skip" if rng.random() < 0.8 else "fail"
    made = rng.choice(KINDS)
    return stream.app.invoke(
        made,
        stream,
        outputs=[output(name)],
        params={"partition_by": rng.choice(KEYS)},
        on_error="skip" if issubclass(made, Sessions) else on_error,
    )[0]


def output(name: str):
    from penstock import Output

    return Output(schema=SCHEMA, name=name)
