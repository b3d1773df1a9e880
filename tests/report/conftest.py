import pytest

from assay.data import ResultRow


@pytest.fixture
def row():
    """A judgment, a verdict on one candidate unless said otherwise."""

    def make(item="a", score=None, gold=None, **more):
        values = {"judge": "j", "outcome": "verdict", **more}
        if score is not None:
            values["scores"] = tuple(score) if isinstance(score, list | tuple) else (float(score),)
            values.setdefault("n", len(values["scores"]))
        if gold is not None:
            values["gold"] = tuple(gold) if isinstance(gold, list | tuple) else (float(gold),)
        return ResultRow(item_id=item, **values)

    return make
