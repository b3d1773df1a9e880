from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM

from assay.core.types import Message
from assay.rl.tokens import load_tokenizer
from assay.training.small import EOS, save_small


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("small"), "123>", seed=5, hidden=32, layers=1)


def test_every_character_is_a_token_and_text_comes_back_as_it_was(small: Path) -> None:
    tokenizer = load_tokenizer(str(small))
    ids = tokenizer.encode("321>")
    assert len(ids) == 4
    assert tokenizer.decode((*ids, EOS)) == "321>"


def test_a_conversation_is_its_text(small: Path) -> None:
    tokenizer = load_tokenizer(str(small))
    assert tokenizer.render((Message(role="user", content="321>"),)) == tokenizer.encode("321>")


def test_the_weights_follow_from_the_seed(small: Path, tmp_path: Path) -> None:
    def first(folder: Path) -> list[float]:
        model = AutoModelForCausalLM.from_pretrained(str(folder))
        return next(model.parameters()).flatten()[-8:].tolist()

    assert first(save_small(tmp_path / "same", "123>", seed=5, hidden=32, layers=1)) == first(small)
    assert first(save_small(tmp_path / "other", "123>", seed=6, hidden=32, layers=1)) != first(small)
