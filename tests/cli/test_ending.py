from __future__ import annotations

import pytest

from assay.cli.ending import end, exit_code


@pytest.mark.parametrize(("skipped", "made", "code"), [(False, 3, 0), (True, 3, 1), (False, 0, 1), (True, 0, 1)])
def test_one_rule_for_all_verbs(skipped: bool, made: int, code: int) -> None:
    assert exit_code(skipped=skipped, made=made) == code


def test_the_process_ends_only_where_there_is_something_to_tell() -> None:
    end(skipped=False, made=1)
    with pytest.raises(SystemExit) as ended:
        end(skipped=True, made=1)
    assert ended.value.code == 1
