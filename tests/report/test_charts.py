import re

from assay.core.intervals import Interval
from assay.report.charts import Part, histogram, stacked_bar, whisker


def test_a_stacked_bar_gives_each_count_its_share():
    drawn = stacked_bar([Part(name="ok", count=3, style="ok"), Part(name="<bad>", count=1, style="bad0")])
    assert re.findall(r'x="([\d.]+)%" width="([\d.]+)%"', drawn) == [("0.00", "75.00"), ("75.00", "25.00")]
    assert 'aria-label="ok 3, &lt;bad&gt; 1"' in drawn


def test_what_is_rare_can_still_be_seen():
    drawn = stacked_bar([Part(name="ok", count=99_999, style="ok"), Part(name="bad", count=1, style="bad0")])
    assert 'width="0.40%"' in drawn


def test_a_whisker_stands_where_its_interval_is():
    drawn = whisker(Interval(value=0.5, low=0.25, high=0.75), 0.1, 'say "it"')
    assert 'cx="50.00%"' in drawn
    assert 'x1="25.00%" x2="75.00%"' in drawn
    assert 'x1="10.00%" x2="10.00%"' in drawn
    assert 'aria-label="say &quot;it&quot;"' in drawn


def test_a_histogram_puts_right_above_and_wrong_below():
    drawn = histogram([1.0, 1.0, 0.0], [0.0], 0.0, 1.0)
    right = re.findall(r'gold-right" x="([\d.]+)%" width="[\d.]+%" y="([\d.]+)%" height="([\d.]+)%"', drawn)
    wrong = re.findall(r'gold-wrong" x="([\d.]+)%" width="[\d.]+%" y="([\d.]+)%" height="([\d.]+)%"', drawn)
    # The tallest share is that of the wrong ones, 1; right ones have a third and two thirds.
    assert wrong == [("0.40", "50.00", "48.00")]
    assert right == [("0.40", "34.00", "16.00"), ("95.40", "18.00", "32.00")]


def test_scores_that_are_all_equal_are_one_bar():
    assert histogram([5.0, 5.0], [], 5.0, 5.0).count("<rect") == 1
