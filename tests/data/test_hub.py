import sys
from types import ModuleType, SimpleNamespace

import pytest

from assay.core.errors import InputError
from assay.data import load_items
from assay.data.hub import hub_commit

ROWS = [{"prompt": "q", "chosen": "a", "rejected": "b"}, {"prompt": "r", "chosen": "c", "rejected": "d"}]


@pytest.fixture
def hub(monkeypatch):
    calls = []

    def load_dataset(name, config, *, split, revision, streaming):
        calls.append((name, config, split) if revision is None else (name, revision, config, split))
        if name != "team/pairs":
            raise FileNotFoundError(f"no dataset {name}")
        table = {"train": ROWS, "test": ROWS[:1]} if config == "two" else {"train": ROWS}
        return table if split is None else table[split]

    module = ModuleType("datasets")
    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return calls


def test_a_name_with_a_slash_is_a_hub_dataset(hub):
    loaded = load_items("team/pairs")
    assert [i.id for i in loaded.items] == ["team-pairs-1", "team-pairs-2"]
    assert hub == [("team/pairs", None, None)]


def test_split_and_config(hub):
    assert len(load_items("hub:team/pairs:two:test").items) == 1
    assert len(load_items("team/pairs:train").items) == 2
    assert hub == [("team/pairs", "two", "test"), ("team/pairs", None, "train")]


def test_a_revision_is_pinned(hub):
    assert len(load_items("hub:team/pairs@1f3a:two:test").items) == 1
    assert hub == [("team/pairs", "1f3a", "two", "test")]
    with pytest.raises(InputError, match="written hub:owner/name"):
        load_items("hub:team/pairs@:test")


def test_the_commit_of_a_dataset_is_asked_of_the_hub(monkeypatch):
    class Api:
        def dataset_info(self, repo, *, revision):
            if repo != "team/pairs":
                raise OSError("no such dataset")
            return SimpleNamespace(sha="1f3a" if revision is None else revision)

    module = ModuleType("huggingface_hub")
    module.HfApi = Api
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    assert (hub_commit("team/pairs"), hub_commit("team/pairs@77:train")) == ("1f3a", "77")
    with pytest.raises(InputError, match="commit of the hub dataset 'team/none': no such dataset"):
        hub_commit("team/none")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install assay\[hub\]"):
        hub_commit("team/pairs")


def test_what_can_go_wrong_is_said(hub, monkeypatch):
    with pytest.raises(InputError, match=r"cannot load the hub dataset 'team/none': no dataset"):
        load_items("team/none")
    with pytest.raises(InputError, match="written hub:owner/name"):
        load_items("hub:team/pairs:a:b:c")
    with pytest.raises(InputError, match="written hub:owner/name"):
        load_items("hub:team/pairs:")


def test_several_splits_are_listed(hub, monkeypatch):
    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", lambda *_, **__: {"train": ROWS, "test": ROWS})
    with pytest.raises(InputError, match=r"has the splits \['train', 'test'\]: say hub:team/pairs:train"):
        load_items("team/pairs")


def test_a_stream_that_breaks_off_says_where(hub, monkeypatch):
    def rows():
        yield ROWS[0]
        raise ConnectionError("gone")

    monkeypatch.setattr(sys.modules["datasets"], "load_dataset", lambda *_, **__: rows())
    with pytest.raises(InputError, match="breaks off after row 1: gone"):
        load_items("team/pairs:train")


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install assay\[hub\]"):
        load_items("team/pairs")
