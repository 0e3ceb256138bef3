"""What parts say of widths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.graph.layers import Conv, Linear
from wengert import graph
from wengert.graph.rules import Own, followed, rule_of

IMAGE = wg.spec((2, 3, 4, 5), "float32")


@pytest.mark.parametrize(
    ("part", "operands", "expected"),
    [
        (np.tanh, [IMAGE], graph.Same),
        (np.add, [IMAGE, IMAGE], graph.Same),
        (np.multiply, [IMAGE, wg.spec((2, 1, 4, 5), "float32")], graph.Same),
        (lambda x: np.mean(x, axis=(2, 3)), [IMAGE], graph.Same),
        (lambda x: x.reshape(2, -1), [IMAGE], graph.Times),
        (lambda x, y: np.concatenate([x, y], axis=1), [IMAGE, IMAGE], graph.Joined),
        (lambda x: x[:, :2], [IMAGE], graph.Fixed),
        (lambda x: np.mean(x), [IMAGE], graph.Fixed),
        (lambda x: x.reshape(2, 3, 20), [IMAGE], graph.Fixed),
        (graph.Call(np.add, (graph.Call, np.ones(3))), [IMAGE], graph.Fixed),
        (graph.Constant(np.ones(3)), [], graph.Fixed),
    ],
)
def test_functions_are_tried_with_twice_the_width(part: Any, operands: Any, expected: type) -> None:
    assert type(rule_of(part, operands, [1] * len(operands))) is expected


def test_flattening_counts_pixels_and_concatenation_looks_at_its_axis() -> None:
    found = rule_of(lambda x: x.reshape(2, -1), [IMAGE], [1])
    assert isinstance(found, graph.Times) and found.count == 20
    x, y = graph.input("x"), graph.input("y")
    for axis, expected in ((1, graph.Joined), (-3, graph.Joined), (2, graph.Same), (0, graph.Same)):
        part = graph.concat(x, y, axis=axis).part
        assert type(rule_of(part, [IMAGE, IMAGE], [1, 1])) is expected


def test_layers_have_theirs_by_their_type() -> None:
    assert isinstance(graph.rule(Linear(3), []), graph.Own)
    assert isinstance(graph.rule(Conv(6, 3), [IMAGE]), graph.Times)
    assert graph.rule(object(), []) is None


def test_parameters_follow() -> None:
    tree = {"w": np.arange(12.0).reshape(4, 3), "inner": {"b": np.arange(4.0)}, "other": np.ones(2)}
    rule = Own(params={"w": ("out", "in"), "inner.b": ("out",)})
    out, ins = np.array([3, -1, 0]), np.array([0, 2, -1])
    fresh = {"w": np.full((3, 3), 7.0), "inner": {"b": np.full(3, 8.0)}, "other": np.zeros(2)}
    for new, seven, eight in ((None, 0.0, 0.0), (fresh, 7.0, 8.0)):
        found = followed(tree, rule, ins, out, new)
        np.testing.assert_array_equal(found["w"], [[9, 11, 0], [seven] * 3, [0, 2, 0]])
        np.testing.assert_array_equal(found["inner"]["b"], [3, eight, 0])
        assert found["other"] is tree["other"] or np.array_equal(found["other"], tree["other"])


def test_parameters_that_have_the_features_several_times_over() -> None:
    tree = {"w": np.arange(8.0)}
    found = followed(tree, Own(params={"w": (("out", 4),)}), np.arange(1), np.array([1, -1]), None)
    np.testing.assert_array_equal(found["w"], [1, 0, 3, 0, 5, 0, 7, 0])
