"""Topological order: every vertex stands behind those that it reads.

A graph's vertices are kept in such an order, so that evaluation is a loop. Nothing here recurses.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

import wengert as wg
from wengert.graph.vertices import Vertex

T = TypeVar("T")


def visited(roots: Iterable[T], children: Callable[[T], Iterable[T]]) -> list[T]:
    """Return everything that ``roots`` reach, each behind its children: depth first, children from left to right.

    Raises CycleError if something reaches itself.
    """
    done: dict[T, bool] = {}  # False while its children are being visited
    order: list[T] = []
    for root in roots:
        stack = [(root, iter(children(root)))] if root not in done else []
        done.setdefault(root, False)
        while stack:
            at, rest = stack[-1]
            for child in rest:
                if child not in done:
                    done[child] = False
                    stack.append((child, iter(children(child))))
                    break
                if not done[child]:
                    raise cycle([str(x) for x, _ in stack[[x for x, _ in stack].index(child) :]] + [str(child)])
            else:
                done[at] = True
                order.append(at)
                stack.pop()
    return order


def in_order(vertices: dict[str, Vertex]) -> dict[str, Vertex]:
    """Return the vertices in topological order, each as near to its old place as it can be.

    If they are in order, that is ``vertices`` itself. Raises CycleError if there is no such order.
    """
    met: set[str] = set()
    for name, vertex in vertices.items():
        if not met.issuperset(vertex.inputs):
            break
        met.add(name)
    else:
        return vertices
    place = {name: k for k, name in enumerate(vertices)}
    waits = {name: len(set(vertex.inputs)) for name, vertex in vertices.items()}
    readers: dict[str, list[str]] = {name: [] for name in vertices}
    for name, vertex in vertices.items():
        for read in dict.fromkeys(vertex.inputs):
            readers[read].append(name)
    ready = [(place[name], name) for name, count in waits.items() if count == 0]
    heapq.heapify(ready)
    order: dict[str, Vertex] = {}
    while ready:
        _, name = heapq.heappop(ready)
        order[name] = vertices[name]
        for reader in readers[name]:
            waits[reader] -= 1
            if waits[reader] == 0:
                heapq.heappush(ready, (place[reader], reader))
    if len(order) < len(vertices):
        visited(vertices, lambda name: vertices[name].inputs)  # which names the cycle
    return order


def cycle(names: list[str]) -> wg.errors.CycleError:
    shown = names if len(names) <= 8 else [*names[:4], "...", *names[-3:]]
    return wg.errors.CycleError(
        wg.errors.message(
            f"the graph has a cycle: {' -> '.join(shown)}",
            tries=[
                "for a recurrence an input, which is given the value of the step before, and a loop around the graph"
            ],
        )
    )
