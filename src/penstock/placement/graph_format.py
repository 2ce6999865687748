"""METIS `.graph` files in, `.part.K` files out.

A file of ten million edges is parsed with whole-array operations, in a few bytes of memory for each byte of text: find
where tokens and lines begin, turn all tokens into integers at once, and cut the one long array up by line.

Example:
    >>> parse_graph(b"3 2 001\\n2 5\\n1 5 3 7\\n2 7\\n", "row.graph").traffic.tolist()
    [5.0, 5.0, 7.0, 7.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from penstock.base.diagnostics import UserError
from penstock.placement.graph_text import Complaints, check_characters, cut_up
from penstock.placement.problem import CommunicationGraph, Flags, Ints, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    tasks: int
    edges: int
    has_volumes: bool
    weights: int
    has_traffic: bool
    line: int

    @property
    def lead(self) -> int:
        """How many numbers stand before the neighbours of a task."""
        return self.weights + self.has_volumes


def read_graph(path: Path) -> CommunicationGraph:
    """Read a METIS graph file.

    Raises:
        UserError: The file cannot be read, or is not a graph; every kind of mistake is told once, with its line.
    """
    try:
        data = np.fromfile(path, np.uint8)
    except OSError as error:
        raise UserError(f"cannot read `{path}`: {error.strerror}") from error
    return _parse(data, str(path))


def parse_graph(content: bytes, path: str) -> CommunicationGraph:
    """Parse the content of a METIS graph file; `path` is for messages."""
    return _parse(np.frombuffer(content, np.uint8).copy(), path)


def write_partition(path: Path, machine_of: Ints) -> None:
    """Write the machine of each task on a line of its own, as `gpmetis` does.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_partition(Path(folder) / "g.graph.part.2", np.array([0, 1]))
        ...     (Path(folder) / "g.graph.part.2").read_text()
        '0\\n1\\n'
    """
    try:
        path.write_text("".join(f"{machine}\n" for machine in machine_of.tolist()))
    except OSError as error:
        raise UserError(f"cannot write `{path}`: {error.strerror}") from error


def _parse(data: NDArray[np.uint8], path: str) -> CommunicationGraph:
    text = cut_up(data, path)
    complaints = Complaints(text)
    check_characters(text, complaints)
    complaints.found.raise_if_any()
    # Of blank text numpy makes a number.
    values = np.fromstring(text.data.tobytes(), np.int64, sep=" ") if len(text.tokens) else np.zeros(0, np.int64)
    lines = np.flatnonzero(~text.is_comment)
    before = np.searchsorted(text.tokens, np.append(text.ends[lines], len(text.data)))
    counts = np.diff(np.r_[0, before[:-1]])
    header = _header(values[: counts[0]] if len(lines) else values, lines, complaints)
    _check_lines(header, lines[1:], counts[1:], complaints)
    complaints.found.raise_if_any()
    task_lines, task_counts = lines[1 : header.tasks + 1], counts[1 : header.tasks + 1]
    return _graph(header, values[counts[0] :], task_counts, task_lines, complaints)


def _header(numbers: Ints, lines: Ints, complaints: Complaints) -> _Header:
    line = int(lines[0]) if len(lines) else 0
    if not len(lines) or not 2 <= len(numbers) <= 4:
        complaints.add(
            f"the header has {len(numbers)} numbers", line, hint="write: TASKS EDGES [FORMAT [WEIGHTS_PER_TASK]]"
        )
        complaints.found.raise_if_any()
    given: list[int] = numbers.tolist()
    tasks, edges, flags, weights = given + [0, 1][len(given) - 2 :]
    if flags not in {0, 1, 10, 11, 100, 101, 110, 111}:
        complaints.add(f"the format is {flags}", line, hint="it has three digits, each 0 or 1, e.g. 011")
    if tasks == 0:
        complaints.add("the graph has no tasks", line)
    if weights == 0 and flags // 10 % 10:
        complaints.add("the format says that tasks have weights, and their number is 0", line)
    complaints.found.raise_if_any()
    return _Header(
        tasks=tasks,
        edges=edges,
        has_volumes=flags >= 100,
        weights=weights if flags // 10 % 10 else 0,
        has_traffic=flags % 10 == 1,
        line=line,
    )


def _check_lines(header: _Header, lines: Ints, counts: Ints, complaints: Complaints) -> None:
    if len(lines) < header.tasks:
        complaints.add(
            f"the header says {header.tasks} tasks and {len(lines)} lines follow it",
            len(complaints.text.ends) - 1,
            hint="the file is cut short, or a task without neighbours lacks its empty line",
        )
    beyond = lines[header.tasks :][counts[header.tasks :] > 0]
    if len(beyond):
        complaints.add(f"this line comes after those of all {header.tasks} tasks", int(beyond[0]))
    lines, counts = lines[: header.tasks], counts[: header.tasks]
    short = np.flatnonzero(counts < header.lead)
    if len(short):
        message = f"task {short[0] + 1} has {counts[short[0]]} numbers and needs {header.lead} before its neighbours"
        complaints.add(message, int(lines[short[0]]), others=len(short) - 1)
    odd = np.flatnonzero((counts >= header.lead) & ((counts - header.lead) % 2 == 1))
    if header.has_traffic and len(odd):
        message = f"the last neighbour of task {odd[0] + 1} has no edge weight"
        complaints.add(message, int(lines[odd[0]]), others=len(odd) - 1)


def _graph(header: _Header, values: Ints, counts: Ints, lines: Ints, complaints: Complaints) -> CommunicationGraph:
    first = np.cumsum(counts) - counts
    leads = [values[first + i] for i in range(header.lead)]
    is_neighbour = np.ones(len(values), np.bool_)
    for i in range(header.lead):
        is_neighbour[first + i] = False
    rest = values[is_neighbour]
    adjacent = (rest[0::2] if header.has_traffic else rest) - 1
    traffic = rest[1::2].astype(np.float64) if header.has_traffic else np.ones(len(adjacent))
    degrees = (counts - header.lead) // (1 + header.has_traffic)
    sources = np.repeat(np.arange(header.tasks), degrees)
    _check_entries(header, sources, adjacent, traffic, lines, complaints)
    complaints.found.raise_if_any()
    matrix = sparse.csr_array((traffic, adjacent, np.r_[0, np.cumsum(degrees)]), shape=(header.tasks,) * 2)
    matrix.sort_indices()
    _check_symmetry(matrix, lines, complaints)
    complaints.found.raise_if_any()
    _check_count(header, len(adjacent), complaints)
    complaints.found.raise_if_any()
    weights = leads[int(header.has_volumes) :] or [np.ones(header.tasks)]
    return CommunicationGraph(
        starts=matrix.indptr.astype(np.int64),
        adjacent=matrix.indices.astype(np.int64),
        traffic=matrix.data,
        weights=np.column_stack(weights).astype(np.float64),
        volumes=leads[0].astype(np.float64) if header.has_volumes else np.ones(header.tasks),
    )


def _check_entries(
    header: _Header, sources: Ints, adjacent: Ints, traffic: NDArray[np.float64], lines: Ints, complaints: Complaints
) -> None:
    def complain(wrong: Flags, say: str) -> None:
        where = np.flatnonzero(wrong)
        if len(where):
            task, other = int(sources[where[0]]), int(adjacent[where[0]])
            message = say.format(task=task + 1, other=other + 1, tasks=header.tasks)
            complaints.add(message, int(lines[task]), others=len(where) - 1)

    complain(
        (adjacent < 0) | (adjacent >= header.tasks),
        "task {task} has the neighbour {other}, and tasks are numbered 1 to {tasks}",
    )
    complain(adjacent == sources, "task {task} is a neighbour of itself")
    complain(traffic <= 0, "the edge from task {task} to task {other} weighs nothing; edge weights are 1 at least")


def _check_count(header: _Header, entries: int, complaints: Complaints) -> None:
    """Last, because an edge that only one of its tasks lists spoils the count too, and is the better thing to name."""
    if entries != 2 * header.edges:
        said = f"the header says {header.edges} edges and the lines hold {entries // 2}"
        complaints.add(said, header.line, hint="an edge stands in the lines of both its tasks and counts once")


def _check_symmetry(matrix: Matrix, lines: Ints, complaints: Complaints) -> None:
    sources = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    twice = np.flatnonzero((sources[1:] == sources[:-1]) & (matrix.indices[1:] == matrix.indices[:-1]))
    if len(twice):
        task, other = int(sources[twice[0]]), int(matrix.indices[twice[0]])
        complaints.add(
            f"task {task + 1} lists its neighbour {other + 1} twice", int(lines[task]), others=len(twice) - 1
        )
        return
    mirror = matrix.T.tocsr()
    mirror.sort_indices()
    if not np.array_equal(mirror.indptr, matrix.indptr) or not np.array_equal(mirror.indices, matrix.indices):
        _complain_of_missing(matrix, mirror, lines, complaints)
    elif not np.array_equal(mirror.data, matrix.data):
        wrong = np.flatnonzero(mirror.data != matrix.data)
        task, other = int(sources[wrong[0]]), int(matrix.indices[wrong[0]])
        message = (
            f"the edge between tasks {task + 1} and {other + 1} weighs {matrix.data[wrong[0]]:g} here "
            f"and {mirror.data[wrong[0]]:g} in line {lines[other] + 1}"
        )
        complaints.add(message, int(lines[task]), others=len(wrong) // 2 - 1)


def _complain_of_missing(
    matrix: Matrix,
    mirror: Matrix,
    lines: Ints,
    complaints: Complaints,
) -> None:
    ones = [sparse.csr_array((np.ones(m.nnz), m.indices, m.indptr), shape=m.shape) for m in (matrix, mirror)]
    lonely = sparse.coo_array(ones[0] - ones[1])
    there = np.flatnonzero(lonely.data > 0)
    task, other = int(lonely.row[there[0]]), int(lonely.col[there[0]])
    message = (
        f"task {task + 1} lists task {other + 1} as its neighbour, but line {lines[other] + 1}, "
        f"that of task {other + 1}, does not list task {task + 1}"
    )
    complaints.add(
        message, int(lines[task]), others=len(there) - 1, hint="an edge stands in the lines of both its tasks"
    )
