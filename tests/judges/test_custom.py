import pytest

from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Failure, FailureKind, Verdict
from assay.judges import build_judge, content_hash, load_judge

POLITE = """
name = "polite"
prompt = "Is this reply polite? Say yes or no.\\n\\n{candidates}"
parser = "label"
[labels]
yes = 1
no = 0
"""
RANKER = """
name = "ranker"
system = "You rank."
prompt = "{conversation}\\n{candidates}\\nScores in \\\\boxed{x, x}."
parser = "scores"
lenient = true
"""
GRADER = """
name = "grader"
prompt = "Q: {question}\\nA: {answer}\\nTruth: {reference}\\nGrade from 0 to 100."
parser = "number"
range = [0, 100]
answer = "final"
"""


@pytest.fixture
def load(tmp_path):
    def make(text, files=None, **options):
        for name, content in (files or {}).items():
            (tmp_path / f"{name}.txt").write_text(content, encoding="utf-8")
        path = tmp_path / "judge.toml"
        path.write_text(text, encoding="utf-8")
        return load_judge(path, **options)

    return make


def messages(judge, item, draw):
    (request,) = judge.plan(item, draw)
    assert isinstance(request.prompt, ChatPrompt)
    return [(message.role, message.text) for message in request.prompt.messages]


def test_a_label_judge(load, make_item, make_draw, reply):
    judge = load(POLITE)
    assert (judge.name, judge.rule, judge.per_candidate) == ("polite", False, True)
    item = make_item("thank you", reference=None)
    ((role, text),) = messages(judge, item, make_draw())
    assert role == "user"
    assert text.startswith("Is this reply polite? Say yes or no.\n\n[[response 1 ")
    outcome = judge.read(item, make_draw(), reply("yes"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (1.0,)
    assert isinstance(judge.read(item, make_draw(), reply("yes, it is")), Failure)


def test_a_judge_of_scores_shows_all_candidates_and_undoes_the_order(load, make_item, make_draw, reply):
    judge = load(RANKER)
    assert not judge.per_candidate
    item, draw = make_item("zero", "one"), make_draw(1, 0)
    (system, user) = messages(judge, item, draw)
    assert system == ("system", "You rank.")
    assert user[1].index("one\n[[") < user[1].index("zero\n[[")
    assert user[1].endswith(r"Scores in \boxed{x, x}.")
    outcome = judge.read(item, draw, reply(r"\boxed{9; 4}"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (4, 9)
    assert outcome.flags == ("lenient",)


def test_a_judge_of_one_number(load, make_item, make_draw, reply):
    judge = load(GRADER)
    item = make_item("long\nAnswer: \\boxed{42}")
    assert judge.content(item) == {"question": "What is 6 times 7?", "answer": ["\\boxed{42}"], "reference": "42"}
    ((_, text),) = messages(judge, item, make_draw())
    assert text == "Q: What is 6 times 7?\nA: [boxed: 42]\nTruth: 42\nGrade from 0 to 100."
    outcome = judge.read(item, make_draw(), reply("85"))
    assert isinstance(outcome, Verdict)
    assert outcome.scores == (85.0,)
    assert isinstance(judge.read(item, make_draw(), reply("850")), Failure)
    with pytest.raises(InputError, match="no reference"):
        judge.content(make_item("42", reference=None))


def test_choices(load, make_item, make_draw, reply):
    judge = load(POLITE.replace("[labels]", "choices = true\nmin_mass = 0.5\n[labels]"))
    (request,) = judge.plan(make_item("thanks"), make_draw())
    assert request.choices == ("yes", "no")
    outcome = judge.read(make_item("thanks"), make_draw(), reply("", choice_logprobs=(-3.0, -4.0)))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.LOW_MASS


def test_only_what_the_prompt_shows_is_content(load, make_item):
    judge = load(POLITE)
    one, two = make_item("hi", question="a"), make_item("hi", question="b")
    assert content_hash(judge, one) == content_hash(judge, two)


def test_a_prompt_file_is_found_beside_the_judge(load, make_item, make_draw):
    judge = load(
        POLITE.replace("prompt =", "#").replace("parser", 'prompt_file = "p.txt"\nparser'), {"p": "Polite?\n{answer}\n"}
    )
    assert messages(judge, make_item("hi"), make_draw()) == [("user", "Polite?\nhi")]


def test_identity_follows_prompt_labels_and_options(load):
    texts = [
        POLITE,
        POLITE.replace("polite?", "kind?"),
        POLITE.replace("no = 0", "no = -1"),
        POLITE.replace("yes = 1\nno = 0", "no = 0\nyes = 1"),
        POLITE.replace("[labels]", "lenient = true\n[labels]"),
        POLITE.replace('"polite"', '"kind"'),
    ]
    assert len({load(text).identity for text in texts}) == len(texts)
    assert load(POLITE, lenient=True).identity == load(texts[4]).identity


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("yes = 1\nno = 0", "yes = 1"), "labels: parser 'label' needs at least two labels"),
        (("yes = 1\nno = 0", "yes = 1\nno = 1"), "different scores, got {'yes': 1.0, 'no': 1.0}"),
        (("no = 0", "no = nan"), "labels.no"),
        (("no = 0", "no = false"), "labels.no: must be a number, not true or false"),
        (("[labels]", "choices = 1\n[labels]"), "choices: must be true or false, not a number"),
        (("[labels]", "choises = true\n[labels]"), "choises: there is no such option .* did you mean 'choices'"),
        (("no = 0", 'no = "x"'), "labels.no.*'x'"),
        (("no = 0", '" no" = 0'), "labels. no"),
        (('"label"', '"regex"'), "parser: .*'regex'"),
        (('"polite"', '"po lite"'), "name: .*'po lite'"),
        (("[labels]", "temperature = 1\n[labels]"), "temperature: .*1"),
        (("[labels]", "mode = '0-1'\n[labels]"), "mode: belongs to parser 'scores', not to 'label'"),
        (("[labels]", "range = [0, 1]\n[labels]"), "range: belongs to parser 'number'"),
        (("[labels]", "min_mass = 0.5\n[labels]"), "min_mass: 0.5 has no effect without choices"),
        (("[labels]", "per_candidate = false\n[labels]"), "per_candidate: parser 'label' gives one score"),
        (("[labels]", "prompt_file = 'p.txt'\n[labels]"), "prompt, prompt_file: .*both are given"),
        (("prompt =", "system ="), "prompt, prompt_file: .*neither is given"),
        (("{candidates}", "{candidate}"), r"prompt: unknown placeholder \{candidate\}; known: \{question\}"),
        (("{candidates}", ""), "prompt: shows no candidate"),
        (("[labels]", "[labels"), "not valid TOML.*line"),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_value(load, change, words):
    with pytest.raises(InputError, match=f"(?s)judge.toml.*{words}"):
        load(POLITE.replace(*change))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RANKER.replace("{candidates}", "{answer}"), r"\{answer\} is one candidate, but per_candidate is false"),
        (RANKER.replace("lenient = true", "mode = '0-1'\nper_candidate = false"), "mode '0-1' gives one score"),
        (GRADER.replace("[0, 100]", "[100, 0]"), r"range: .*\(100.0, 0.0\)"),
        (GRADER.replace("range = [0, 100]", ""), "range: .*None"),
        (GRADER.replace("range = [0, 100]", "range = [0]"), "range"),
    ],
)
def test_other_wrong_combinations(load, text, words):
    with pytest.raises(InputError, match=words):
        load(text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"missing\.toml.*No such file"):
        load_judge(tmp_path / "missing.toml")
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(InputError, match=r"latin\.toml.*not UTF-8"):
        load_judge(tmp_path / "latin.toml")
    (tmp_path / "judge.toml").write_text(POLITE.replace("prompt =", "prompt_file = 'gone.txt' #"))
    with pytest.raises(InputError, match=r"prompt_file.*gone\.txt"):
        load_judge(tmp_path / "judge.toml")


def test_options_that_stand_in_the_file_are_refused_from_outside(load):
    with pytest.raises(InputError, match="no option 'mode'"):
        load(RANKER, mode="0-1")


def test_a_path_is_a_judge(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(POLITE)
    assert build_judge(str(path)).name == "polite"
    path.write_bytes(b"\xef\xbb\xbf" + POLITE.encode())
    assert build_judge(str(path)).name == "polite", "a byte-order mark is no part of the text"
