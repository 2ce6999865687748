"""Writes the events of Nexmark: people, auctions and bids of an auction house, with the constants of Beam's generator.

One person, three auctions and 46 bids in every 50 events; ids, hot ratios, prices and the length of auctions are drawn
as Beam and nexmark-flink do. Of the two variants of bidder ids this is theirs: a hot bidder is the one behind a
multiple of 100. All columns are made by numpy, and the same seed gives the same events.

The events are rows of one stream. `kind` is 0 for a person, 1 for an auction, 2 for a bid; an attribute that a kind
does not have is 0 or empty.

    ts            when it happened, in milliseconds since 1970
    person        the person; the seller of an auction; the bidder
    auction       the auction
    price         the first bid that an auction asks for; what is bid
    reserve, expires, category      of an auction
    name          of a person; of an auction's item; the channel of a bid
    detail        the mail address of a person; the description of an item; the URL of a bid
    city, state   of a person
    extra         text that makes events as long as Nexmark has them
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PERSONS, AUCTIONS, BIDS = 1, 3, 46
CYCLE = PERSONS + AUCTIONS + BIDS
FIRST_ID = 1000
ACTIVE_PEOPLE, PEOPLE_AHEAD = 1000, 10
AUCTIONS_IN_FLIGHT, AUCTIONS_AHEAD = 100, 10
HOT_SELLERS, HOT_AUCTIONS, HOT_BIDDERS, HOT_CHANNELS = 4, 2, 4, 2
"""One in so many is not hot."""

HOT_EVERY = 100
FIRST_CATEGORY, CATEGORIES = 10, 5
CHANNELS = 10_000
START_MS = 1_436_918_400_000
"""The fifteenth of July 2015, as Beam has it."""

FIRST_NAMES = "Peter Paul Luke John Saul Vicky Kate Julie Sarah Deiter Walter".split()
LAST_NAMES = "Shultz Abrams Spencer White Bartels Walton Smith Jones Noris".split()
STATES = ["AZ", "CA", "CA", "ID", "OR", "OR", "WA", "WA", "WA", "WY"]
CITIES = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
]
FAMOUS = ["Google", "Facebook", "Baidu", "Apple"]

Array = np.ndarray


def draw_events(count: int, *, seed: int = 1, rate: int = 10_000, disorder: int = 1) -> pa.Table:
    """The first events of an auction house.

    Args:
        count: How many.
        seed: What is drawn depends on it alone.
        rate: Events a second of event time.
        disorder: Events come in another order than they have happened within groups of so many.
    """
    random = np.random.default_rng(seed)
    number = np.arange(count, dtype=np.int64)
    offset = number % CYCLE
    kind = np.where(offset < PERSONS, 0, np.where(offset < PERSONS + AUCTIONS, 1, 2)).astype(np.int32)
    ts = START_MS + number * 1000 // rate
    is_person, is_auction, is_bid = (kind == k for k in range(3))
    last_person = number // CYCLE
    last_auction = _last_auction(number)
    zero = np.zeros(count, np.int64)
    price = np.rint(10 ** (random.random(count) * 6) * 100).astype(np.int64)
    reserve = price + np.rint(10 ** (random.random(count) * 6) * 100).astype(np.int64)
    horizon = (AUCTIONS_IN_FLIGHT * CYCLE // AUCTIONS) * 1000 // rate
    expires = ts + 1 + random.integers(0, max(horizon * 2, 1), count)
    name, detail = _texts(random, is_person, is_auction, is_bid)
    place = random.integers(0, len(CITIES), count)
    columns = {
        "kind": kind,
        "ts": ts,
        "person": FIRST_ID
        + np.select(
            [is_person, is_auction],
            [last_person, _person(random, last_person, HOT_SELLERS, 0)],
            _person(random, last_person, HOT_BIDDERS, 1),
        ),
        "auction": np.select([is_auction, is_bid], [last_auction, _auction(random, last_auction)], -FIRST_ID)
        + FIRST_ID,
        "price": np.where(is_person, zero, price),
        "reserve": np.where(is_auction, reserve, zero),
        "expires": np.where(is_auction, expires, zero),
        "category": np.where(is_auction, FIRST_CATEGORY + random.integers(0, CATEGORIES, count), 0).astype(np.int32),
        "name": name,
        "detail": detail,
        "city": np.where(is_person, np.array(CITIES, object)[place], ""),
        "state": np.where(is_person, np.array(STATES, object)[place], ""),
        "extra": _extra(random, kind),
    }
    table = pa.table({key: pa.array(column) for key, column in columns.items()})
    return table if disorder <= 1 else table.take(_disordered(random, count, disorder))


def _last_auction(number: Array) -> Array:
    """The last auction up to each event, counted from 0; before the first one it is -1."""
    offset = number % CYCLE
    return number // CYCLE * AUCTIONS + np.clip(offset - PERSONS, -1, AUCTIONS - 1)


def _person(random: np.random.Generator, last: Array, hot: int, behind: int) -> Array:
    """Who sells or bids: mostly somebody who does so often, else one of those who have come lately, or are to come."""
    people = last + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    anyone = people - active + random.integers(0, active + PEOPLE_AHEAD)
    return np.where(random.integers(0, hot, len(last)) > 0, last // HOT_EVERY * HOT_EVERY + behind, anyone)


def _auction(random: np.random.Generator, last: Array) -> Array:
    """What is bid for: every other time a hot auction, else one of those in flight, or soon to begin."""
    last = np.maximum(last, 0)
    first = np.maximum(last - AUCTIONS_IN_FLIGHT, 0)
    anyone = first + random.integers(0, last - first + 1 + AUCTIONS_AHEAD)
    return np.where(random.integers(0, HOT_AUCTIONS, len(last)) > 0, last // HOT_EVERY * HOT_EVERY, anyone)


def _words(random: np.random.Generator, length: int, count: int) -> Array:
    letters = random.integers(ord("a"), ord("z") + 1, (count, length), dtype=np.uint8)
    return np.array([row.tobytes().decode() for row in letters], object)


def _texts(random: np.random.Generator, is_person: Array, is_auction: Array, is_bid: Array) -> tuple[Array, Array]:
    """Names and details of events."""
    count = len(is_person)
    name, detail = np.full(count, "", object), np.full(count, "", object)
    people, auctions, bids = (int(mask.sum()) for mask in (is_person, is_auction, is_bid))
    first, last = (
        np.array(names, object)[random.integers(0, len(names), people)] for names in (FIRST_NAMES, LAST_NAMES)
    )
    name[is_person] = first + " " + last
    detail[is_person] = _words(random, 7, 997)[random.integers(0, 997, people)] + "@" + "random.com"
    name[is_auction] = _words(random, 16, 997)[random.integers(0, 997, auctions)]
    detail[is_auction] = _words(random, 80, 499)[random.integers(0, 499, auctions)]
    channels, urls = _channels(random)
    is_famous = random.integers(0, HOT_CHANNELS, bids) > 0
    chosen = np.where(
        is_famous, random.integers(0, len(FAMOUS), bids), len(FAMOUS) + random.integers(0, CHANNELS, bids)
    )
    name[is_bid], detail[is_bid] = channels[chosen], urls[chosen]
    return name, detail


def _channels(random: np.random.Generator) -> tuple[Array, Array]:
    """All channels and their URLs; nine in ten of those that are not famous say their number."""
    parts = _words(random, 5, 3 * (len(FAMOUS) + CHANNELS)).reshape(3, -1)
    urls = "https://www.nexmark.com/" + parts[0] + "/" + parts[1] + "/" + parts[2] + "/item.htm?query=1"
    says = np.append(np.zeros(len(FAMOUS), bool), random.integers(0, 10, CHANNELS) > 0)
    numbers = [f"&channel_id={int(f'{i:032b}'[::-1], 2)}" for i in range(CHANNELS)]
    urls[says] = urls[says] + np.array(["", "", "", "", *numbers], object)[says]
    return np.array([*FAMOUS, *(f"channel-{i}" for i in range(CHANNELS))], object), urls


def _extra(random: np.random.Generator, kind: Array) -> Array:
    """Text that brings a person to some 200 bytes, an auction to 500, a bid to 100."""
    pools = [
        np.array([w[: len(w) - i % 7] for i, w in enumerate(_words(random, n, 251))], object) for n in (90, 320, 50)
    ]
    return np.stack(pools)[kind, random.integers(0, 251, len(kind))]


def _disordered(random: np.random.Generator, count: int, group: int) -> Array:
    """Where events come from if groups of them arrive in any order."""
    return np.argsort(np.arange(count) // group + random.random(count), kind="stable")


def generate(path: Path, count: int = 100_000, **options: int) -> None:
    """Write events to a Parquet file."""
    pq.write_table(draw_events(count, **options), path)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("path", type=Path)
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--rate", type=int, default=10_000, help="events a second of event time")
    arguments.add_argument("--disorder", type=int, default=1, help="events are out of order within groups of so many")
    given = vars(arguments.parse_args())
    generate(given.pop("path"), given.pop("count"), **given)
