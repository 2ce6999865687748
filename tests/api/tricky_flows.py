"""Operators that reach a list of theirs on a roundabout way through containers and iterators, and change it."""

# ruff: noqa: B905, C406, C408, C409, F841, PIE800, PIE804, RUF015

from __future__ import annotations

import functools
import heapq
import itertools
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, replace

from judged import unknown


def give(t, out):
    return t.sym, float(out)


class State:
    def __init__(self):
        self.d = {}
        self.log = []
        self.od = OrderedDict()


@unknown
class Flow1(State):
    def process(self, t):
        self.od[t.sym] = 1
        self.od.move_to_end(t.sym)
        yield give(t, 1)


@unknown
class Flow2(State):
    def process(self, t):
        x = [self.log]
        for y in x:
            y.append(1)
        yield give(t, len(self.log))


@unknown
class Flow3(State):
    def process(self, t):
        f = functools.partial(self.log.append, 1)
        f()
        yield give(t, len(self.log))


@unknown
class Flow4(State):
    def process(self, t):
        (self.log if t.n else []).append(1)
        yield give(t, len(self.log))


@unknown
class Flow5(State):
    def process(self, t):
        (self.log or self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow6(State):
    def process(self, t):
        a, b = self.log, self.d
        a += [1]
        yield give(t, len(self.log))


@unknown
class Flow7(State):
    def process(self, t):
        d = {"x": self.log}
        d["x"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow8(State):
    def process(self, t):
        def f():
            return self.log

        f().append(1)
        yield give(t, len(self.log))


@unknown
class Flow9(State):
    def process(self, t):
        g = (y for y in [self.log])
        next(g).append(1)
        yield give(t, len(self.log))


@unknown
class Flow10(State):
    def process(self, t):
        max([self.log, [0]], key=len).append(1)
        yield give(t, len(self.log))


@unknown
class Flow11(State):
    def process(self, t):
        sorted([self.log], key=len)[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow12(State):
    def process(self, t):
        functools.reduce(lambda a, b: a, [self.log, 1]).append(1)
        yield give(t, len(self.log))


@unknown
class Flow13(State):
    def process(self, t):
        next(itertools.chain([self.log])).append(1)
        yield give(t, len(self.log))


@unknown
class Flow14(State):
    def process(self, t):
        dict(a=self.log).get("a").append(1)
        yield give(t, len(self.log))


@unknown
class Flow15(State):
    def process(self, t):
        dict.fromkeys("a", self.log)["a"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow16(State):
    def process(self, t):
        list(zip([self.log], [1]))[0][0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow17(State):
    def process(self, t):
        [x for _, x in enumerate([self.log])][0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow18(State):
    def process(self, t):
        {1: self.log}.popitem()[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow19(State):
    def process(self, t):
        list({1: self.log}.items())[0][1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow20(State):
    def process(self, t):
        q = deque([self.log])
        q.rotate(1)
        q.popleft().append(1)
        yield give(t, len(self.log))


@unknown
class Flow21(State):
    def process(self, t):
        ({"a": 1} | {"b": self.log})["b"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow22(State):
    def process(self, t):
        ([self.log] * 2)[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow23(State):
    def process(self, t):
        x = defaultdict(lambda: self.log)
        x[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow24(State):
    def process(self, t):
        x = [(1, self.log)]
        heapq.heappop(x)[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow25(State):
    def process(self, t):
        h = Hold(self.log)
        replace(h, n=2).xs.append(1)
        yield give(t, len(self.log))


@dataclass
class Hold:
    xs: list
    n: int = 0


@unknown
class Flow26(State):
    def process(self, t):
        h = Hold(self.log)
        h.xs.append(1)
        yield give(t, len(self.log))


@unknown
class Flow27(State):
    def process(self, t):
        h = Hold(n=2, xs=self.log)
        match h:
            case Hold(xs=xs):
                xs.append(1)
        yield give(t, len(self.log))


@unknown
class Flow28(State):
    def process(self, t):
        list(itertools.accumulate([self.log, 1], lambda a, b: a))[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow29(State):
    def process(self, t):
        for _, g in itertools.groupby([self.log], key=lambda x: 1):
            next(g).append(1)
        yield give(t, len(self.log))


@unknown
class Flow30(State):
    def process(self, t):
        list(itertools.starmap(lambda a, b: a, [(self.log, 1)]))[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow31(State):
    def process(self, t):
        next(itertools.product([self.log], [1]))[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow32(State):
    def process(self, t):
        next(itertools.repeat(self.log)).append(1)
        yield give(t, len(self.log))


@unknown
class Flow33(State):
    def process(self, t):
        next(iter([]), self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow34(State):
    def process(self, t):
        {}.get(1, self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow35(State):
    def process(self, t):
        {}.pop(1, self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow36(State):
    def process(self, t):
        max([], default=self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow37(State):
    def process(self, t):
        getattr(t, "nothing", self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow38(State):
    def process(self, t):
        list(itertools.zip_longest([], [1], fillvalue=self.log))[0][0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow39(State):
    def process(self, t):
        sum([], self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow40(State):
    def process(self, t):
        operator.getitem([self.log], 0).append(1)
        yield give(t, len(self.log))


@unknown
class Flow41(State):
    def process(self, t):
        list(filter(None, [self.log, [1]]))[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow42(State):
    def process(self, t):
        list(reversed([self.log]))[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow43(State):
    def process(self, t):
        tuple([self.log])[0:1][0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow44(State):
    def process(self, t):
        list(itertools.pairwise([self.log, 1]))[0][0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow45(State):
    def process(self, t):
        heapq.nsmallest(1, [self.log], key=len)[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow46(State):
    def process(self, t):
        {}.setdefault(1, self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow47(State):
    def process(self, t):
        OrderedDict(a=self.log).popitem()[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow48(State):
    def process(self, t):
        list({"a": self.log}.values())[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow49(State):
    def process(self, t):
        list({**{"a": self.log}}.values())[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow50(State):
    def process(self, t):
        t._replace(xs=self.log).xs.append(1)
        yield give(t, len(self.log))


@unknown
class Flow51(State):
    def process(self, t):
        t._replace(xs=self.log)._asdict()["xs"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow52(State):
    def process(self, t):
        functools.reduce(lambda a, b: b, [1], self.log)
        functools.reduce(lambda a, b: a, [], self.log).append(1)
        yield give(t, len(self.log))


@unknown
class Flow53(State):
    def process(self, t):
        list(itertools.accumulate([1], lambda a, b: a, initial=self.log))[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow54(State):
    def process(self, t):
        list(map(lambda *a: a[0], [self.log]))[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow55(State):
    def process(self, t):
        f(**{"log": self.log})
        yield give(t, len(self.log))


def f(**kw):
    kw["log"].append(1)


@unknown
class Flow56(State):
    def process(self, t):
        h(*[self.log])
        yield give(t, len(self.log))


def h(*a):
    a[0].append(1)


@unknown
class Flow57(State):
    def process(self, t):
        first, *rest = 1, self.log
        rest[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow58(State):
    def process(self, t):
        (*_, last) = [1, self.log]
        last.append(1)
        yield give(t, len(self.log))


@unknown
class Flow59(State):
    def process(self, t):
        list(map(list.append, [self.log], [1]))
        yield give(t, len(self.log))


@unknown
class Flow60(State):
    def process(self, t):
        Counter(a=self.log)["a"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow61(State):
    def process(self, t):
        deque([1], 1)
        q = deque([[]])
        q.extend([self.log])
        q[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow62(State):
    def process(self, t):
        x = [[]]
        x[0:1] = [self.log]
        x[0].append(1)
        yield give(t, len(self.log))


@unknown
class Flow63(State):
    def process(self, t):
        x = [[]]
        x += (self.log,)
        x[1].append(1)
        yield give(t, len(self.log))


@unknown
class Flow64(State):
    def process(self, t):
        d = {}
        d |= [("a", self.log)]
        d["a"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow65(State):
    def process(self, t):
        d = dict([("a", self.log)])
        d["a"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow66(State):
    def process(self, t):
        d = {}
        d.update(a=self.log)
        d["a"].append(1)
        yield give(t, len(self.log))


@unknown
class Flow67(State):
    def process(self, t):
        d = {}
        d.update([["a", self.log]])
        d["a"].append(1)
        yield give(t, len(self.log))
