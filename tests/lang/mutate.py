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


NAMES = "x y n s N S A B T sum name key id Functor Filter Custom Aggregate println size Sum Count csv $p Main".split()
TYPES = "boolean int8 int32 int64 uint32 float32 float64 decimal64 rstring ustring timestamp blob void".split()
OPERATORS = "+ - * / % == != < > <= >= && || | ^ & << in ?: .+".split()
VALUES = '0 -1 3 5ul 300ub 2.5 1e400 "text" "u"u true null [] {} [1,"a"] {a=1} {1:2}'.split()


def replace_by_kin(tokens: Tokens, at: int, chance: random.Random) -> None:
    """A name for a name, a type for a type: the text stays grammatical, but no longer makes sense."""
    token = tokens[at]
    for kin in (TYPES, OPERATORS, VALUES):
        if token in kin or (kin is VALUES and token[0] in '"0123456789'):
            tokens[at] = chance.choice(kin)
            return
    if token.isidentifier():
        words = [t for t in tokens if t.isidentifier()]
        tokens[at] = chance.choice(words if chance.random() < 0.5 else NAMES)


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
    """The text with one to three mutations of tokens that are not blanks; half of all texts stay grammatical."""
    tokens = TOKEN.findall(text)
    mutations = MUTATIONS if chance.random() < 0.5 else (replace_by_kin,)
    for _ in range(chance.randint(1, 3)):
        places = [i for i, token in enumerate(tokens) if token.strip() and not token.startswith("//")]
        if places:
            chance.choice(mutations)(tokens, chance.choice(places), chance)
    return "".join(tokens)
