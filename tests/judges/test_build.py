import subprocess
import sys

import pytest
from pydantic import ValidationError

from assay.core.errors import InputError
from assay.judges import JUDGES, JudgeOptions, build_judge
from assay.judges.pointwise import PointwiseJudge
from assay.judges.verifier import VerifierJudge


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_of_the_table_is_built_under_its_name(name):
    assert build_judge(name).name == name
    assert build_judge(name).identity == build_judge(name, JudgeOptions()).identity


def test_options_reach_the_judge():
    options = JudgeOptions(choices=True, min_mass=0.3, lenient=True, labels=("yes", "no"), language="zh")
    expected = VerifierJudge(choices=True, min_mass=0.3, lenient=True, labels=("yes", "no"), language="zh")
    assert build_judge("verifier", options) == expected
    options = JudgeOptions(mode="0-1", reference=False, lenient=True, language="zh")
    expected = PointwiseJudge(mode="0-1", reference=False, lenient=True, language="zh")
    assert build_judge("pointwise", options) == expected


def test_an_unknown_judge_is_refused_with_the_list():
    with pytest.raises(InputError, match=r"'verifyer'.*verifier, pointwise, math.*\.toml"):
        build_judge("verifyer")


@pytest.mark.parametrize(
    ("judge", "options", "words"),
    [
        ("math", {"lenient": True}, "'math' has no option 'lenient' .got True.; it has no options"),
        ("verifier", {"mode": "0-1"}, "'verifier' has no option 'mode' .got '0-1'"),
        ("pointwise", {"choices": True}, "'pointwise' has no option 'choices'"),
        ("pointwise", {"labels": ("a", "b")}, "'pointwise' has no option 'labels'"),
    ],
)
def test_an_option_that_a_judge_does_not_have_is_refused_by_name(judge, options, words):
    with pytest.raises(InputError, match=words):
        build_judge(judge, JudgeOptions(**options))


def test_options_are_checked():
    with pytest.raises(ValidationError):
        JudgeOptions(min_mass=2)
    with pytest.raises(ValidationError):
        JudgeOptions(leniant=True)


def test_judges_import_nothing_heavy():
    code = (
        "import sys; from assay.judges import build_judge; [build_judge(n) for n in ('verifier', 'pointwise', 'math')];"
        "print([m for m in ('torch', 'transformers', 'ray', 'fastapi', 'aiohttp', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
