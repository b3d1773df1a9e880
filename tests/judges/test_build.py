import subprocess
import sys

import pytest

from assay.core.errors import InputError
from assay.judges import JUDGES, build_all, build_judge
from assay.judges.pointwise import PointwiseJudge
from assay.judges.verifier import VerifierJudge


@pytest.mark.parametrize("name", JUDGES)
def test_every_judge_of_the_table_is_built_under_its_name(name):
    assert build_judge(name).name == name
    assert {"name", "asks", "identity", "rule", "per_candidate", "reduce", "scale"} <= set(dir(build_judge(name)))


def test_options_reach_the_judge():
    options = {"choices": True, "min_mass": 0.3, "lenient": True, "labels": ("yes", "no"), "language": "zh"}
    assert build_judge("verifier", **options) == VerifierJudge(**options)
    options = {"mode": "0-1", "reference": False, "lenient": True, "language": "zh"}
    assert build_judge("pointwise", **options) == PointwiseJudge(**options)


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
def test_options_and_judge_have_the_same_defaults(judge):
    """So that a judge made by hand is the one that is built by name."""
    assert judge.make() == judge.make(**dict(judge.options()))


def test_an_unknown_judge_is_refused_with_the_list():
    with pytest.raises(InputError, match=r"'verifyer'.*verifier, .*math.*\.toml"):
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
        build_judge(judge, **options)


def test_options_are_checked():
    with pytest.raises(InputError, match=r"judge 'verifier': min_mass: .*less than or equal to 1 .got 2"):
        build_judge("verifier", min_mass=2)
    with pytest.raises(InputError, match=r"'verifier' has no option 'leniant' .got True.; it has lenient, choices"):
        build_judge("verifier", leniant=True)
    with pytest.raises(InputError, match=r"judge 'pointwise': mode: .*got '1-5'"):
        build_judge("pointwise", mode="1-5")


def test_options_for_all_judges_go_to_those_that_have_them():
    judges = {judge.name: judge for judge in build_all({"*": {"lenient": True}, "verifier": {"choices": True}})}
    assert list(judges) == list(JUDGES)
    assert judges["verifier"] == VerifierJudge(lenient=True, choices=True)
    assert judges["pointwise"] == PointwiseJudge(lenient=True)


def test_options_of_one_judge_win_over_those_of_all():
    judges = {judge.name: judge for judge in build_all({"*": {"language": "zh"}, "verifier": {"language": "en"}})}
    assert judges["verifier"] == VerifierJudge()
    assert judges["pointwise"] == PointwiseJudge(language="zh")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"verifyer": {}}, "judge 'verifyer': there are verifier, "),
        ({"*": {"leniant": True}}, "no judge has an option 'leniant' .got True"),
        ({"math": {"lenient": True}}, "'math' has no option 'lenient'"),
    ],
)
def test_wrong_options_by_judge_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        build_all(options)


def test_judges_import_nothing_heavy():
    code = (
        "import sys; from assay.judges import build_judge; [build_judge(n) for n in ('verifier', 'pointwise', 'math')];"
        "print([m for m in ('torch', 'transformers', 'ray', 'fastapi', 'aiohttp', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
