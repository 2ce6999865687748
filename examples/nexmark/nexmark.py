"""The queries of Nexmark, q0 to q22, each an application: `penstock run examples/nexmark/nexmark.py:q5 --data DIR`.

They read `events.parquet` (`generate.py`) and write `qN.csv`. An answer that SQL would correct later (q4, q6, q9, q18,
q19) is given anew whenever it changes, and the last one for a key holds.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from classes import BestBids, CategoryMeans, MatchedBids, MatchedSellers, NewSellers, SellerMeans, TopBids

from penstock import App, Stream, agg, col, fn, lhs, rhs, when
from penstock import windows as w

EVENTS = """int32 kind, int64 ts, int64 person, int64 auction, int64 price, int64 reserve, int64 expires,
int32 category, rstring name, rstring detail, rstring city, rstring state, rstring extra"""
LATENESS = "2 s"
PERSON, AUCTION, BID = 0, 1, 2
SIDE = {key: f"value-{key * 7 % 10_000}" for key in range(10_000)}
"""The table that q13 looks up in."""

Query = Callable[[Stream], Stream]
QUERIES: dict[str, Query] = {}


def query(function: Query) -> Callable[[], App]:
    """Add a query to the list; its name then stands for the function that makes its application."""
    name = function.__name__
    QUERIES[name] = function
    return lambda: application(name)


def bids(events: Stream) -> Stream:
    """The bids in the order in which they arrive."""
    attributes = ["auction", {"bidder": col.person}, "price", {"channel": col.name, "url": col.detail}, "ts", "extra"]
    return events.filter(col.kind == BID).select(*attributes)


def in_order(stream: Stream) -> Stream:
    """A stream in the order of event time."""
    ordered, _ = stream.by_event_time("ts", resolution="ms", lateness=LATENESS)
    return ordered


def milliseconds(column: str) -> object:
    """The bound of a window as events tell time."""
    return fn.get_seconds(col[column]) * 1000


@query
def q0(events: Stream) -> Stream:
    """Pass bids through."""
    return bids(events).select("auction", "bidder", "price", "ts", "extra")


@query
def q1(events: Stream) -> Stream:
    """Prices in euros."""
    euros = col.price.cast("float64") * 0.908
    return bids(events).select("auction", "bidder", euros.alias("price"), "ts", "extra")


@query
def q2(events: Stream) -> Stream:
    """Bids for some auctions."""
    return bids(events).filter(col.auction % 123 == 0).select("auction", "price")


@query
def q3(events: Stream) -> Stream:
    """Who sells in category 10, in three states."""
    chosen = (col.kind == PERSON) & col.state.is_in(["OR", "ID", "CA"]) | (col.kind == AUCTION) & (col.category == 10)
    found = events.filter(chosen).select("kind", "person", "auction", "name", "city", "state")
    return found.apply(
        MatchedSellers, "rstring name, rstring city, rstring state, int64 auction", partition_by="person"
    )


def best_bids(events: Stream) -> Stream:
    """The best bid for each auction so far, whenever there is a better one."""
    moves = in_order(events.filter(col.kind != PERSON).drop("city", "state"))
    schema = """int64 auction, rstring item, rstring description, int64 initial, int64 reserve, int64 ts, int64 expires,
    int64 seller, int32 category, int64 bidder, int64 price, int64 bid_at, int64 before"""
    return moves.apply(BestBids, schema, partition_by="auction")


@query
def q4(events: Stream) -> Stream:
    """The mean of the winning bids by category."""
    return best_bids(events).apply(CategoryMeans, "int32 category, float64 mean", partition_by="category")


@query
def q5(events: Stream) -> Stream:
    """The auctions with most bids in the last ten seconds, every two seconds."""
    counted = in_order(bids(events)).aggregate(w.sliding_time("10 s", "2 s"), by="auction", num=agg.count())
    most = counted.aggregate(w.tumbling_time("2 s"), most=agg.max(col.num), start=agg.any(col.window_start))
    hot = counted.join_within(
        most,
        {"auction": lhs.auction, "num": lhs.num, "window_start": lhs.window_start},
        on=(lhs.window_start, rhs.start),
        match=lhs.num >= rhs.most,
        within=(0, 0),
        time=("window_start", "start"),
    )
    return hot.select("auction", "num", start=milliseconds("window_start"))


@query
def q6(events: Stream) -> Stream:
    """The mean price of the last ten auctions of each seller."""
    return best_bids(events).apply(SellerMeans, "int64 seller, float64 mean", partition_by="seller")


@query
def q7(events: Stream) -> Stream:
    """The highest bids of every ten seconds."""
    ordered = in_order(bids(events))
    most = ordered.aggregate(w.tumbling_time("10 s"), most=agg.max(col.price))
    columns = {name: lhs[name] for name in ("auction", "price", "bidder", "ts", "extra")}
    return ordered.join_within(
        most, columns, on=(lhs.price, rhs.most), within=("-9999 ms", 0), time=("ts", "window_start")
    )


@query
def q8(events: Stream) -> Stream:
    """People who open an auction within the ten seconds in which they have come."""
    ordered = in_order(events.filter(col.kind != BID).select("kind", "ts", "person", "name"))
    return ordered.apply(NewSellers, "int64 person, rstring name, int64 start", partition_by="person")


@query
def q9(events: Stream) -> Stream:
    """The winning bid of each auction."""
    return best_bids(events).drop("before")


@query
def q10(events: Stream) -> Stream:
    """Bids with their day and minute, for a file system."""
    return bids(events).map(
        dated, "int64 auction, int64 bidder, int64 price, int64 ts, rstring extra, rstring day, rstring minute"
    )


def dated(bid):
    moment = datetime.fromtimestamp(bid.ts // 1000, UTC)
    return bid.auction, bid.bidder, bid.price, bid.ts, bid.extra, moment.strftime("%Y-%m-%d"), moment.strftime("%H:%M")


@query
def q11(events: Stream) -> Stream:
    """How many bids a person makes without a pause of ten seconds."""
    sessions = in_order(bids(events)).aggregate(w.session("10 s"), by="bidder", num=agg.count(), start=agg.min(col.ts))
    return sessions.select("bidder", "num", "start")


@query
def q12(events: Stream) -> Stream:
    """How many bids a person makes in every ten seconds."""
    counted = in_order(bids(events)).aggregate(w.tumbling_time("10 s"), by="bidder", num=agg.count())
    return counted.select("bidder", "num", start=milliseconds("window_start"))


@query
def q13(events: Stream) -> Stream:
    """Bids with a value from a table."""
    return bids(events).map(looked_up, "int64 auction, int64 bidder, int64 price, int64 ts, rstring value")


def looked_up(bid):
    return bid.auction, bid.bidder, bid.price, bid.ts, SIDE[bid.auction % 10_000]


@query
def q14(events: Stream) -> Stream:
    """Large bids, by the time of the day, with a count of letters."""
    schema = "int64 auction, int64 bidder, float64 price, rstring daytime, int64 ts, rstring extra, int32 letters"
    euros = bids(events).with_columns(price=col.price.cast("float64") * 0.908)
    large = euros.filter((col.price > 1_000_000.0) & (col.price < 50_000_000.0))
    hour = col.ts / 3_600_000 % 24
    night = when((hour <= 6) | (hour >= 20), "nightTime", "otherTime")
    return large.with_columns(daytime=when((hour >= 8) & (hour <= 18), "dayTime", night)).map(count_letters, schema)


def count_letters(bid):
    return bid.auction, bid.bidder, bid.price, bid.daytime, bid.ts, bid.extra, bid.extra.count("c")


RANKS = {
    "low": col.price < 10_000,
    "middle": (col.price >= 10_000) & (col.price < 1_000_000),
    "high": col.price >= 1_000_000,
}


def count_ranks() -> dict[str, object]:
    """How many bids there are, of every rank."""
    return {"bids": agg.count(), **{f"{rank}_bids": agg.sum(when(test, 1, 0)) for rank, test in RANKS.items()}}


def count_distinct(what: str) -> dict[str, object]:
    """How many different values there are, in all and of every rank; what is of another rank counts once as -1."""
    ranks = {
        f"{rank}_{what}s": agg.count_distinct(when(test, col[what], -1)) - agg.max(when(test, 0, 1))
        for rank, test in RANKS.items()
    }
    return {f"{what}s": agg.count_distinct(col[what]), **ranks}


@query
def q15(events: Stream) -> Stream:
    """Figures of each day."""
    columns = {**count_ranks(), **count_distinct("bidder"), **count_distinct("auction")}
    days = in_order(bids(events)).aggregate(w.tumbling_time("1 day"), columns)
    return days.select({"day": milliseconds("window_start")}, *columns)


@query
def q16(events: Stream) -> Stream:
    """Figures of each channel and day."""
    minute = {"minute": agg.max(col.ts / 60_000 % 1440)}
    columns = {**minute, **count_ranks(), **count_distinct("bidder"), **count_distinct("auction")}
    days = in_order(bids(events)).aggregate(w.tumbling_time("1 day"), columns, by="channel")
    return days.select("channel", {"day": milliseconds("window_start")}, *columns)


@query
def q17(events: Stream) -> Stream:
    """Figures of each auction and day."""
    prices = {name: getattr(agg, name)(col.price) for name in ("min", "max", "sum")}
    columns = {**count_ranks(), **prices, "mean": agg.avg(col.price.cast("float64"))}
    days = in_order(bids(events)).aggregate(w.tumbling_time("1 day"), columns, by="auction")
    return days.select("auction", {"day": milliseconds("window_start")}, *columns)


@query
def q18(events: Stream) -> Stream:
    """The last bid of each person for each auction: each bid takes the place of the one before."""
    return in_order(bids(events)).select("bidder", "auction", "price", "ts")


@query
def q19(events: Stream) -> Stream:
    """The ten highest bids for each auction: every bid that is one of them when it comes."""
    schema = "int64 auction, int64 price, int64 bidder, int64 ts"
    return in_order(bids(events)).apply(TopBids, schema, partition_by="auction")


@query
def q20(events: Stream) -> Stream:
    """Bids for auctions of category 10, with the auction."""
    moves = events.filter(col.kind != PERSON).select("kind", "ts", "person", "auction", "price", "category", "name")
    schema = "int64 auction, int64 bidder, int64 price, int64 ts, rstring item, int64 seller, int64 initial"
    return moves.apply(MatchedBids, schema, partition_by="auction")


@query
def q21(events: Stream) -> Stream:
    """The ids of channels, from their names or URLs."""
    pattern = "(&|^)channel_id=([^&]*)"
    known = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    channel = fn.lower(col.channel)
    number = fn.regex_match(col.url, pattern)[2]
    for name, value in known.items():
        number = when(channel == name, value, number)
    has_number = channel.is_in(list(known)) | (fn.size(fn.regex_match(col.url, pattern)) > 0)
    return bids(events).filter(has_number).select("auction", "bidder", "price", "channel", channel_id=number)


@query
def q22(events: Stream) -> Stream:
    """The folders of URLs."""
    parts = fn.tokenize(col.url, "/", True)
    folders = {f"dir{i}": parts[i + 2] for i in (1, 2, 3)}
    return bids(events).select("auction", "bidder", "price", "channel", folders)


def application(name: str) -> App:
    """The application of a query."""
    app = App(name)
    QUERIES[name](app.read_parquet("events.parquet", EVENTS, name="Events")).write_csv(f"{name}.csv", name="Answer")
    return app
