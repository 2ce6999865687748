"""microW in a hurry: keep the nodes in use, hand out the mips, then feed the hungriest units while moves remain."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.microw.setting import BELOW_MINIMUM, Grant, Setting, cost_of

_ROUNDS = 4


def hand_out_quickly(setting: Setting, deadline: Deadline) -> Grant:
    """Mips that keep every limit; not always the nearest to the goals."""
    nodes = [_nodes_in_use(setting, unit) for unit in range(len(setting.units))]
    _start_new_units(setting, nodes)
    grant = hand_out(setting, nodes, deadline)
    for _ in range(_ROUNDS):
        if deadline.has_passed():
            break
        fed = _feed_the_hungry(setting, nodes, grant)
        if fed == nodes:
            break
        again = hand_out(setting, fed, deadline)
        if cost_of(setting, again) >= cost_of(setting, grant) - 1e-9:
            break
        nodes, grant = fed, again
    return grant


def _feed_the_hungry(setting: Setting, nodes: list[list[str]], grant: Grant) -> list[list[str]]:
    """Give the units that miss most another node with mips to spare: one more, or in place of their poorest."""
    spare = dict(setting.capacity)
    for shares in grant.values():
        for node, mips in shares.items():
            spare[node] -= mips
    missed = [_goal(setting, u) - _got(unit, grant) for u, unit in enumerate(setting.units)]
    fed = [list(used) for used in nodes]
    for unit in sorted(range(len(missed)), key=lambda u: -missed[u]):
        if missed[unit] <= 1e-6:
            break
        others = [node for node in setting.candidates[unit] if node not in fed[unit]]
        if not others:
            continue
        node = max(others, key=spare.__getitem__)
        poorest = _poorest(setting, unit, fed[unit], grant)
        gain = (
            min(spare[node], missed[unit]) if poorest is None else spare[node] - _got_at(setting, unit, poorest, grant)
        )
        kept = [used for used in fed[unit] if used != poorest]
        if gain > 1e-6 and _moves_allowed(setting, fed, unit, [*kept, node]):
            fed[unit] = [*kept, node]
            spare[node] -= min(spare[node], _goal(setting, unit))
    return fed


def _poorest(setting: Setting, unit: int, used: list[str], grant: Grant) -> str | None:
    """The node to give up for another; None while the unit may have one more."""
    if len(used) < setting.degree[unit]:
        return None
    return min(used, key=lambda node: _got_at(setting, unit, node, grant))


def _got(members: tuple[str, ...], grant: Grant) -> float:
    return sum(sum(grant[pe].values()) for pe in members)


def _got_at(setting: Setting, unit: int, node: str, grant: Grant) -> float:
    return sum(grant[pe].get(node, 0.0) for pe in setting.units[unit])


def _moves_allowed(setting: Setting, nodes: list[list[str]], unit: int, now: list[str]) -> bool:
    """Whether the limits on moves hold with one unit's nodes changed."""
    limit = setting.max_moves_per_node
    if setting.max_moves is None and limit is None:
        return True
    started: dict[str, int] = {}
    for other, used in enumerate(nodes):
        for node in now if other == unit else used:
            started[node] = started.get(node, 0) + setting.moves_at(other, node)
    in_all = setting.max_moves is None or sum(started.values()) <= setting.max_moves
    return in_all and (limit is None or max(started.values(), default=0) <= limit)


def _nodes_in_use(setting: Setting, unit: int) -> list[str]:
    ran = setting.ran(unit)
    kept = [node for node in setting.candidates[unit] if node in ran and setting.moves_at(unit, node) == 0]
    return kept[: setting.degree[unit]]


def _load(setting: Setting, nodes: list[list[str]]) -> dict[str, float]:
    """The load of each node: the goal of each unit, spread evenly over the nodes that the unit uses."""
    load = dict.fromkeys(setting.capacity, 0.0)
    for unit, used in enumerate(nodes):
        for node in used:
            load[node] += _goal(setting, unit) / len(used)
    return load


def _goal(setting: Setting, unit: int) -> float:
    return sum(setting.goals[pe] for pe in setting.units[unit])


def _room(setting: Setting, load: Mapping[str, float], node: str) -> float:
    return setting.capacity[node] - load[node]


def _start_new_units(setting: Setting, nodes: list[list[str]]) -> None:
    """A unit that never ran starts where there is most room, on more nodes only if one has not enough."""
    load = _load(setting, nodes)
    new = [unit for unit in range(len(setting.units)) if not setting.ran(unit)]
    for unit in sorted(new, key=lambda unit: -_goal(setting, unit)):
        _start(setting, nodes, load, unit)


def _start(setting: Setting, nodes: list[list[str]], load: dict[str, float], unit: int) -> None:
    goal = _goal(setting, unit)
    choice = sorted(setting.candidates[unit], key=lambda name: -_room(setting, load, name))
    # The first candidate is the one that macroW planned, where it has room.
    choice.sort(key=lambda name: _room(setting, load, name) < goal or name != setting.candidates[unit][0])
    nodes[unit] = choice[:1]
    for node in choice[1 : setting.degree[unit]]:
        if sum(max(_room(setting, load, name), 0.0) for name in nodes[unit]) >= goal:
            break
        nodes[unit] = [*nodes[unit], node]
    for node in nodes[unit]:
        load[node] += goal / len(nodes[unit])


def hand_out(setting: Setting, nodes: list[list[str]], deadline: Deadline) -> Grant:
    """The mips nearest to the goals, with the nodes of each unit set: a linear program, or none where all fits."""
    easy = _all_that_is_asked(setting, nodes)
    return easy if easy is not None else _nearest(setting, nodes, deadline)


def _all_that_is_asked(setting: Setting, nodes: list[list[str]]) -> Grant | None:
    """Every goal spread evenly over its nodes, if no node is asked for more than it has."""
    if any(not used for used in nodes):
        return None
    if any(asked > setting.capacity[node] for node, asked in _load(setting, nodes).items()):
        return None
    even: Grant = {}
    for unit, used in enumerate(nodes):
        for pe in setting.units[unit]:
            goal = setting.goals[pe]
            even[pe] = {node: goal / len(used) for node in used} if goal > 0 else {}
    return even


def _nearest(setting: Setting, nodes: list[list[str]], deadline: Deadline) -> Grant:
    # A full node holds back the others through the least fraction; such a unit does better on its best node alone.
    alone = [used[:1] for used in nodes]
    tried = [_solve(setting, nodes, deadline), _solve(setting, alone, deadline) if alone != nodes else None]
    found = [grant for grant in tried if grant is not None] or [_shrink(setting, alone)]
    return min(found, key=lambda grant: cost_of(setting, grant))


def _shrink(setting: Setting, alone: list[list[str]]) -> Grant:
    """Mips where there is no time for a program: each unit on one node, minima first, the rest in proportion."""
    asked: dict[str, list[tuple[str, float, float]]] = {}
    for pe in setting.pes:
        goal = setting.goals[pe.id]
        for node in alone[setting.unit_of[pe.id]]:
            asked.setdefault(node, []).append((pe.id, min(pe.min_mips, goal), goal))
    grant: Grant = {pe.id: {} for pe in setting.pes}
    for node, asking in asked.items():
        least, most = sum(floor for _, floor, _ in asking), sum(goal for _, _, goal in asking)
        room = min(setting.capacity[node], most)
        part = min(1.0, room / least) if least > 0 else 1.0
        more = max(room - least, 0.0) / (most - least) if most > least else 0.0
        for pe_id, floor, goal in asking:
            mips = part * floor + more * (goal - floor)
            if mips > 0:
                grant[pe_id][node] = mips
    return grant


def _solve(setting: Setting, nodes: list[list[str]], deadline: Deadline) -> Grant | None:
    if deadline.has_passed():
        return None
    program = IntegerProgram()
    at_node: dict[str, list[int]] = {node: [] for node in setting.capacity}
    columns: dict[tuple[str, str], int] = {}
    for pe in setting.pes:
        goal, used = setting.goals[pe.id], nodes[setting.unit_of[pe.id]]
        share = setting.least_share(setting.unit_of[pe.id]) if len(used) > 1 else 0.0
        mine = program.columns(len(used), upper=goal)
        (missed,) = program.columns(1, upper=goal, cost=1.0)
        program.row([*((column, 1.0) for column in mine), (missed, 1.0)], least=goal, most=goal)
        if pe.min_mips > 0:
            (below,) = program.columns(1, cost=BELOW_MINIMUM)
            program.row([(missed, -1.0), (below, 1.0)], least=min(pe.min_mips, goal) - goal)
        for node, column in zip(used, mine, strict=True):
            program.row([(column, 1.0), (missed, share)], least=share * goal)
            at_node[node].append(column)
            columns[pe.id, node] = column
    for node, here in at_node.items():
        program.row([(column, 1.0) for column in here], most=setting.capacity[node])
    values = program.solve(deadline).values
    if values is None:
        return None
    grant: Grant = {pe.id: {} for pe in setting.pes}
    for (pe_id, node), column in columns.items():
        if values[column] > 1e-7:
            grant[pe_id][node] = float(values[column])
    return grant
