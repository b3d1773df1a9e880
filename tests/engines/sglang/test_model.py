import json
import struct
from pathlib import Path

import pytest

from assay.core.errors import GenerationError, InputError
from assay.core.types import FailureKind
from assay.engines.model_files import tensor_shapes
from assay.engines.sglang.model import read_model, replacement

from .conftest import write_model


def rewrite(file: Path, **changes: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_ids_beyond_the_vocabulary_are_named_with_its_size(tmp_path: Path) -> None:
    files = read_model(write_model(tmp_path / "m"))
    files.check_ids([0, 299])
    for ids, named in (
        ([1, 300], "token id 300 is outside the vocabulary of 300: 0..299"),
        ([-1], "-1"),
        ([], "empty"),
    ):
        with pytest.raises(GenerationError, match=named) as caught:
            files.check_ids(ids)
        assert caught.value.kind is FailureKind.BAD_REQUEST


def test_texts_of_tokens_without_an_embedding_are_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    decoder = {"299": {"content": "<in>"}, "300": {"content": "[PAD]"}}
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": [{"id": 301, "content": "<extra>"}]}))
    (folder / "added_tokens.json").write_text(json.dumps({"<late>": 302, "<early>": 3}))
    files = read_model(folder)
    assert files.poison == ("<extra>", "<late>", "[PAD]")
    files.check_text("<in> <early> fine")
    with pytest.raises(GenerationError, match=r"'\[PAD\]', a token beyond the model's vocabulary of 300"):
        files.check_text("an answer with [PAD] in it")


def test_the_context_is_capped_by_the_models_own_limit_where_that_is_known(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    files = read_model(folder)
    assert [files.context_len(wanted) for wanted in (100, 8192, None)] == [100, 512, 512]
    rewrite(folder / "config.json", rope_scaling={"rope_type": "yarn", "factor": 4})
    assert [read_model(folder).context_len(wanted) for wanted in (8192, None)] == [8192, None]
    rewrite(folder / "config.json", rope_scaling={"rope_type": "default"})
    assert read_model(folder).context_len(8192) == 512


def test_a_multimodal_models_language_part_counts(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m")
    rewrite(folder / "config.json", vocab_size=None, text_config={"vocab_size": 77, "max_position_embeddings": 9})
    files = read_model(folder)
    assert (files.vocab_size, files.max_positions) == (77, 9)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config.json.*is the model's folder complete"):
        read_model(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="names no vocab_size"):
        read_model(tmp_path)


def test_weights_of_the_same_shapes_may_take_the_place_of_others(tmp_path: Path) -> None:
    served = read_model(write_model(tmp_path / "a"))
    assert replacement(served, str(write_model(tmp_path / "b", marker=1))).config["marker"] == 1
    assert tensor_shapes(served.path) == {"embed.weight": (300, 8)}


def test_weights_of_other_shapes_are_refused_with_the_first_difference(tmp_path: Path) -> None:
    served = read_model(write_model(tmp_path / "a"))
    with pytest.raises(InputError, match="hidden_size is 16, the engine runs 8"):
        replacement(served, str(write_model(tmp_path / "b", hidden_size=16)))
    # The configuration may agree where the tensors do not.
    liar = write_model(tmp_path / "c", hidden_size=16)
    rewrite(liar / "config.json", hidden_size=8)
    with pytest.raises(InputError, match=r"tensor 'embed.weight' is \(300, 16\), the engine has \(300, 8\)"):
        replacement(served, str(liar))
    with pytest.raises(InputError, match=r"tensor 'new.bias' is \(1,\), the engine has none"):
        replacement(served, str(write_model(tmp_path / "d", extra="new.bias")))
    with pytest.raises(InputError, match=r"is no folder with config.json"):
        replacement(served, str(tmp_path / "nowhere"))


def test_tied_weights_may_be_saved_under_one_name_or_two(tmp_path: Path) -> None:
    one, two = write_model(tmp_path / "a"), write_model(tmp_path / "b", extra="lm_head.weight")
    for folder in (one, two):
        rewrite(folder / "config.json", tie_word_embeddings=True)
    replacement(read_model(one), str(two))


def test_a_broken_weight_file_is_named(tmp_path: Path) -> None:
    served = read_model(write_model(tmp_path / "a"))
    broken = write_model(tmp_path / "b")
    (broken / "model.safetensors").write_bytes(struct.pack("<Q", 1 << 60))
    with pytest.raises(InputError, match=r"model.safetensors' is no safetensors file"):
        replacement(served, str(broken))
