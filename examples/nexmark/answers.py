"""The answers to Nexmark's queries by SQL, on DuckDB, over the same events: what the programs must give.

Rows are compared without their order. Of queries that give an answer anew whenever it changes the last one of a key
counts (`LAST`), and of q19 the ten highest bids for an auction.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

VIEWS = """
CREATE VIEW events AS SELECT *, file_row_number AS arrival FROM read_parquet('{path}', file_row_number = true);
CREATE VIEW person AS SELECT person AS id, name, city, state, ts FROM events WHERE kind = 0;
CREATE VIEW auction AS SELECT auction AS id, name AS item, detail AS description, price AS initial, reserve, ts,
    expires, person AS seller, category FROM events WHERE kind = 1;
CREATE VIEW bid AS SELECT auction, person AS bidder, price, name AS channel, detail AS url, ts, extra, arrival
    FROM events WHERE kind = 2;
CREATE VIEW won AS SELECT A.*, B.bidder, B.price, B.ts AS bid_at FROM auction A JOIN bid B ON A.id = B.auction
    WHERE B.ts BETWEEN A.ts AND A.expires
    QUALIFY row_number() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.ts, B.arrival) = 1;
CREATE VIEW hop AS SELECT auction, start, count(*) AS num FROM (SELECT auction, unnest(range(
    ts // 2000 * 2000 - 8000, ts // 2000 * 2000 + 1, 2000)) AS start FROM bid) GROUP BY auction, start;
"""

_RANKS = {"low": "price < 10000", "middle": "price >= 10000 AND price < 1000000", "high": "price >= 1000000"}


def _counts(what: str) -> str:
    return ", ".join([f"count({what})", *(f"count({what}) FILTER ({test})" for test in _RANKS.values())])


_FIGURES = ", ".join(_counts(what) for what in ("*", "DISTINCT bidder", "DISTINCT auction"))
_DAY = "ts // 86400000 * 86400000"

SQL = {
    "q0": "SELECT auction, bidder, price, ts, extra FROM bid",
    "q1": "SELECT auction, bidder, price * 0.908::DOUBLE, ts, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """SELECT P.name, P.city, P.state, A.id FROM auction A JOIN person P ON A.seller = P.id
        WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')""",
    "q4": "SELECT category, avg(price) FROM won GROUP BY category",
    "q5": """SELECT auction, num, start FROM hop
        QUALIFY num = max(num) OVER (PARTITION BY start)""",
    "q6": """SELECT seller, avg(price) FROM (SELECT * FROM won
        QUALIFY row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) <= 10) GROUP BY seller""",
    "q7": """SELECT auction, price, bidder, ts, extra FROM bid
        QUALIFY price = max(price) OVER (PARTITION BY ts // 10000)""",
    "q8": """SELECT P.id, P.name, P.ts // 10000 * 10000 FROM person P
        WHERE EXISTS (SELECT 1 FROM auction A WHERE A.seller = P.id AND A.ts // 10000 = P.ts // 10000)""",
    "q9": """SELECT id, item, description, initial, reserve, ts, expires, seller, category, bidder, price, bid_at
        FROM won""",
    "q10": """SELECT auction, bidder, price, ts, extra, strftime(epoch_ms(ts), '%Y-%m-%d'),
        strftime(epoch_ms(ts), '%H:%M') FROM bid""",
    "q11": """SELECT bidder, count(*), min(ts) FROM (SELECT *, sum(CASE WHEN pause <= 10000 THEN 0 ELSE 1 END)
        OVER (PARTITION BY bidder ORDER BY ts, arrival) AS number FROM (SELECT *, ts - lag(ts)
        OVER (PARTITION BY bidder ORDER BY ts, arrival) AS pause FROM bid)) GROUP BY bidder, number""",
    "q12": "SELECT bidder, count(*), ts // 10000 * 10000 FROM bid GROUP BY bidder, ts // 10000",
    "q13": "SELECT auction, bidder, price, ts, 'value-' || (auction % 10000 * 7 % 10000) FROM bid",
    "q14": """SELECT auction, bidder, euros, CASE WHEN hour BETWEEN 8 AND 18 THEN 'dayTime'
        WHEN hour <= 6 OR hour >= 20 THEN 'nightTime' ELSE 'otherTime' END, ts, extra,
        length(extra) - length(replace(extra, 'c', ''))
        FROM (SELECT *, price * 0.908::DOUBLE AS euros, ts // 3600000 % 24 AS hour FROM bid)
        WHERE euros > 1000000 AND euros < 50000000""",
    "q15": f"SELECT {_DAY}, {_FIGURES} FROM bid GROUP BY {_DAY}",
    "q16": f"SELECT channel, {_DAY}, max(ts // 60000 % 1440), {_FIGURES} FROM bid GROUP BY channel, {_DAY}",
    "q17": f"""SELECT auction, {_DAY}, {_counts("*")}, min(price), max(price), sum(price), avg(price)
        FROM bid GROUP BY auction, {_DAY}""",
    "q18": """SELECT bidder, auction, price, ts FROM bid
        QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY ts DESC, arrival DESC) = 1""",
    "q19": """SELECT auction, price, bidder, ts FROM bid
        QUALIFY row_number() OVER (PARTITION BY auction ORDER BY price DESC, ts, arrival) <= 10""",
    "q20": """SELECT B.auction, B.bidder, B.price, B.ts, A.item, A.seller, A.initial FROM bid B
        JOIN auction A ON B.auction = A.id WHERE A.category = 10""",
    "q21": """SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
        WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END
        FROM bid WHERE lower(channel) IN ('apple', 'google', 'facebook', 'baidu')
        OR regexp_matches(url, '(&|^)channel_id=([^&]*)')""",
    "q22": """SELECT auction, bidder, price, channel, split_part(url, '/', 4), split_part(url, '/', 5),
        split_part(url, '/', 6) FROM bid""",
}

LAST = {"q4": (0,), "q6": (0,), "q9": (0,), "q18": (0, 1)}
"""The columns of the key of each answer that is given anew."""

Row = tuple[str, ...]


def answers_by_sql(events: Path, names: Iterable[str] = SQL) -> dict[str, Counter[Row]]:
    """The answers of DuckDB."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(VIEWS.format(path=events))
    return {name: Counter(_row(row) for row in connection.execute(SQL[name]).fetchall()) for name in names}


def read_answer(name: str, path: Path) -> Counter[Row]:
    """The answer that a program has written."""
    with path.open(newline="") as file:
        return final_answer(name, csv.reader(file))


def final_answer(name: str, rows: Iterable[Iterable[Any]]) -> Counter[Row]:
    """The answer that counts, of rows in the order in which they were given."""
    found = [_row(row) for row in rows]
    if name in LAST:
        return Counter({tuple(row[i] for i in LAST[name]): row for row in found}.values())
    if name == "q19":
        highest: defaultdict[str, list[Row]] = defaultdict(list)
        for row in found:
            highest[row[0]].append(row)
        return Counter(row for own in highest.values() for row in sorted(own, key=lambda r: -int(r[1]))[:10])
    return Counter(found)


def _row(values: Iterable[Any]) -> Row:
    """A row as text; numbers that are no integers to twelve digits, for sums of floats have no order in SQL."""
    return tuple(_text(value) for value in values)


def _text(value: Any) -> str:
    text = str(value)
    if isinstance(value, float) or (isinstance(value, str) and _is_float(text)):
        return f"{float(text):.12g}"
    return text


def _is_float(text: str) -> bool:
    try:
        return "." in text and float(text) is not None
    except ValueError:
        return False
