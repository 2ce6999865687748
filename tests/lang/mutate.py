"""Damages programs in the ways that people do, and in some that they do not; the same seed gives the same damage."""

import random
import re
from collections.abc import Callable

TOKEN = re.compile(
    r'\s+|//[^\n]*|"(?:[^"\\\n]|\\.)*"|[A-Za-z_$@]\w*|\d+\w*(?:\.\d+)?|::|[<>=!&|+*/-]=|&&|\|\||.', re.DOTALL
)
POOL = (
    "int32 rstring float64 list set map tuple stream composite graph param output window logic state onTuple onPunct "
    "config type expression if while for in switch case return mutable true null x y N S Out A B Functor Filter Beacon "
    'Custom Aggregate submit println Sum Count tumbling count partitioned 0 1 5ul 2.5 "text" ; , . : :: = == < > << >> '
    "( ) { } [ ] + - * / ! ~ ? ?: ?? $x @parallel as enum optional<int32> Sys.WindowMarker"
).split()

Tokens = list[str]
Mutation = Callable[[Tokens, int, random.Random], None]


def delete(tokens: Tokens, at: int, chance: random.Random) -> None:
    del tokens[at]


def duplicate(tokens: Tokens, at: int, chance: random.Random) -> None:
    tokens.insert(at, tokens[at] + " ")


def swap(tokens: Tokens, at: int, chance: random.Random) -> None:
    other = chance.randrange(len(tokens))
    tokens[at], tokens[other] = tokens[other], tokens[at]


def replace(tokens: Tokens, at: int, chance: random.Random) -> None:
    tokens[at] = chance.choice(POOL)


def insert(tokens: Tokens, at: int, chance: random.Random) -> None:
    tokens.insert(at, f" {chance.choice(POOL)} ")


def misspell(tokens: Tokens, at: int, chance: random.Random) -> None:
    token = tokens[at]
    cut = chance.randrange(len(token))
    tokens[at] = token[:cut] + chance.choice(["", "x", token[cut] * 2, "_"]) + token[cut + 1 :]


def copy_from_elsewhere(tokens: Tokens, at: int, chance: random.Random) -> None:
    tokens[at] = tokens[chance.randrange(len(tokens))]


def cut_short(tokens: Tokens, at: int, chance: random.Random) -> None:
    if chance.random() < 0.1:
        del tokens[at:]
    else:
        delete(tokens, at, chance)


MUTATIONS: tuple[Mutation, ...] = (
    delete,
    duplicate,
    swap,
    replace,
    insert,
    misspell,
    copy_from_elsewhere,
    cut_short,
)


def mutated(text: str, chance: random.Random) -> str:
    """The text with one to three mutations of tokens that are not blanks."""
    tokens = TOKEN.findall(text)
    for _ in range(chance.randint(1, 3)):
        places = [i for i, token in enumerate(tokens) if token.strip() and not token.startswith("//")]
        if places:
            chance.choice(MUTATIONS)(tokens, chance.choice(places), chance)
    return "".join(tokens)
