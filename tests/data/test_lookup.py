import pytest

from assay.data.lookup import closest, find, paths

ROW = {
    "a": {"b": {"c": 1}},
    "a.b": {"d": 2},
    "dotted.key": 3,
    "list": [{"x": 1, "y": [5, 6]}, {"x": 2}],
    "none": None,
    "zero": 0,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b.c", 1),
        ("a.b.d", 2),
        ("dotted.key", 3),
        ("list.0.x", 1),
        ("list.-1.x", 2),
        ("list.0.y.1", 6),
        ("list.x", [1, 2]),
        ("list.y", None),
        ("list.7.x", None),
        ("none", None),
        ("none.x", None),
        ("zero", 0),
        ("zero.x", None),
        ("missing", None),
        ("", None),
    ],
)
def test_find(path, value):
    assert find(ROW, path) == value


def test_paths_open_objects():
    assert list(paths({"a": {"b": {"c": {"d": 1}}}, "e": [1], "f": {}})) == ["a.b.c", "e"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("promt", "prompt"), ("PROMPT", "prompt"), ("ground_truth", "reward_model.ground_truth"), ("zzz", None)],
)
def test_closest(name, expected):
    assert closest(name, ["prompt", "reward_model.ground_truth", "extra"]) == expected
