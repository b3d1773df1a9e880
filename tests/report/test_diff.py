import io

import pytest
from rich.console import Console

from assay.core.errors import InputError
from assay.report.diff import Kind, diff
from assay.report.diff_text import print_diff


def kinds(before, after):
    return {change.before.item_id: change.kind for change in diff(before, after).changes}


def test_every_kind_of_change(row):
    before = [
        row("same", [8, 2]),
        row("scores", [8, 2]),
        row("flipped", [8, 2]),
        row("tied", [8, 2]),
        row("untied", [5, 5], choice=1),
        row("settled", [5, 5], choice=1),
        row("lost", [8, 2]),
        row("found", outcome="parse_error"),
        row("other", outcome="parse_error"),
        row("failed", outcome="timeout"),
    ]
    after = [
        row("same", [8, 2]),
        row("scores", [16, 4]),
        row("flipped", [2, 8]),
        row("tied", [6, 6], choice=0),
        row("untied", [5, 7]),
        row("settled", [5, 5], choice=0),
        row("lost", outcome="parse_error"),
        row("found", [8, 2]),
        row("other", outcome="truncated"),
        row("failed", outcome="timeout"),
    ]
    found = diff(before, after)
    assert kinds(before, after) == {
        "lost": Kind.LOST,
        "flipped": Kind.FLIPPED,
        "tied": Kind.TIED,
        "untied": Kind.UNTIED,
        "settled": Kind.SETTLED,
        "found": Kind.FOUND,
        "other": Kind.OTHER_FAILURE,
        "scores": Kind.SCORES,
    }
    assert [change.before.item_id for change in found.changes][:2] == ["lost", "flipped"], "the worst first"
    assert found.counts[Kind.SAME] == 2
    assert sum(found.counts.values()) == found.pairs == 10


def test_single_candidates_cross_one_half_on_a_unit_scale_only(row):
    assert kinds([row("a", 0.4)], [row("a", 0.6)]) == {"a": Kind.CROSSED}
    assert kinds([row("a", 0.6)], [row("a", 0.7)]) == {"a": Kind.SCORES}
    assert kinds([row("a", 0.4)], [row("a", 6)]) == {"a": Kind.SCORES}


def test_gold_says_what_was_mended_and_what_was_broken(row):
    before = [row("a", [8, 2], [0, 1]), row("b", [8, 2], [1, 0]), row("c", outcome="timeout", gold=[1, 0])]
    after = [row("a", [2, 8], [0, 1]), row("b", [5, 5], [1, 0]), row("c", [8, 2], [1, 0])]
    found = diff(before, after)
    assert (found.mended, found.broken) == (1, 1)
    assert (found.before.ranking.right.hits, found.after.ranking.right.hits) == (1, 2)


def test_votes_are_compared_as_judgments(row):
    def run(choice):
        decision = {"scores": [9.0, 9.0], "choice": choice, "flags": ["tie"]}
        return [row("a", [9, 1], vote=v, decision=decision, voting={"k": 2}) for v in (0, 1)]

    found = diff(run(0), run(1))
    assert (found.pairs, found.counts) == (1, {Kind.SETTLED: 1})


def test_partners_and_content(row):
    before = [row("a", 1, content_hash="x"), row("b", 1), row("c", 1)]
    found = diff(before, [row("a", 1, content_hash="y"), row("d", 1)])
    assert (found.pairs, found.only_before, found.only_after, found.other_content) == (1, 2, 1, 1)
    with pytest.raises(InputError, match="no judgment in common"):
        diff(before, [row("z", 1)])
    with pytest.raises(InputError, match=r"before holds several judges \(j, k\)"):
        diff([*before, row("a", 1, judge="k")], before)
    with pytest.raises(InputError, match="after holds no judgments"):
        diff(before, [])


def test_shown_with_examples(row):
    console = Console(file=io.StringIO(), width=100)
    before = [row("a", [8, 2], [0, 1], text="[bold]first[/] \\boxed{8, 2}"), row("b", [8, 2], [1, 0])]
    after = [row("a", [2, 8], [0, 1], text="second"), row("b", outcome="parse_error", detail="no box", gold=[1, 0])]
    print_diff(console, diff(before, after), examples=2)
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert "verdict became a failure 1 50.0 %" in lines
    assert "against gold: 1 wrong became right, 0 right became wrong" in lines
    assert "choice flipped: a gold 0, 1" in lines
    assert "before: scores 8, 2 wrong" in lines
    assert "after: parse_error: no box" in lines
    assert "[bold]first[/] \\boxed{8, 2}" in lines
    assert any(line.startswith("best on top 50.0 %") for line in lines)
