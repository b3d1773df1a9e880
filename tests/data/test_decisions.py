from assay.core.types import Candidate, Item, Message
from assay.data import ResultRow
from assay.data.decisions import by_judgment, judgments
from assay.data.export import best_of_n


def row(item="a", vote=0, **more):
    return ResultRow(**{"item_id": item, "judge": "j", "outcome": "verdict", "vote": vote, **more})


def test_votes_are_put_together_in_their_own_order():
    rows = [row("a", 1), row("b", 0), row("a", 0), row("a", 0, candidate=1)]
    assert [[(r.item_id, r.candidate, r.vote) for r in group] for group in by_judgment(rows)] == [
        [("a", None, 0), ("a", None, 1)],
        [("b", None, 0)],
        [("a", 1, 0)],
    ]


def test_a_judgment_that_was_made_twice_is_two_judgments():
    rows = [row(vote=0), row(vote=1), row(vote=0), row(vote=1)]
    assert [len(group) for group in by_judgment(rows)] == [2, 2]
    plain = [row(outcome="timeout"), row(scores=(1.0,)), row(scores=(0.0,))]
    assert judgments(plain) == plain


def test_the_best_of_n_is_what_the_votes_came_to():
    decision = {"scores": [9.0, 9.0], "choice": 1, "flags": ["tie"]}
    rows = [row(vote=v, scores=(9.0, 1.0), n=2, decision=decision) for v in (0, 1)]
    third = {"scores": [9.0, 9.0, 1.0], "choice": 1, "flags": ["tie"]}
    rows += [row("b", v, scores=(1.0, 1.0, 9.0), n=3, decision=third) for v in (0, 1)]
    items = [
        Item(
            id=name,
            messages=(Message(role="user", content="q"),),
            candidates=tuple(Candidate(text=f"{name}{place}") for place in range(n)),
        )
        for name, n in (("a", 2), ("b", 3))
    ]
    made = best_of_n(rows, items)
    assert (made.ties, [r["response"] for r in made.rows]) == (1, ["b1"])
