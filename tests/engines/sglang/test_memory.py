from pathlib import Path

import pytest

from assay.core.errors import StartError
from assay.engines.sglang.config import SGLangConfig
from assay.engines.sglang.gpu import Card, NvmlCards, bytes_held, choose_gpus
from assay.engines.sglang.memory import GIB, available_bytes, check_host_memory, free_fraction


def card(total: int, free: int, held: dict[int, int] | None = None, name: str = "0") -> Card:
    return Card(name=name, total=total, free=free, held=held or {})


def test_a_share_of_the_card_becomes_a_share_of_what_is_free() -> None:
    # 0.6 of a card of 140, of which 97 are free: 84 / 97.
    assert free_fraction(0.6, (card(140 * GIB, 97 * GIB),)) == pytest.approx(84 / 97)
    assert free_fraction(0.3, (card(140 * GIB, 140 * GIB),)) == pytest.approx(0.3)
    tight = (card(100 * GIB, 100 * GIB), card(100 * GIB, 50 * GIB, name="1"))
    assert free_fraction(0.3, tight) == pytest.approx(0.6)


def test_a_share_that_is_not_free_is_refused_with_the_numbers() -> None:
    with pytest.raises(StartError, match=r"mem_fraction_static=0.8 of GPU 0 is 112.0 GiB, and 97.0 of its 140.0 GiB"):
        free_fraction(0.8, (card(140 * GIB, 97 * GIB),))
    with pytest.raises(StartError):
        free_fraction(0.1, (card(140 * GIB, 0),))


def test_main_memory_must_hold_the_backups_of_all_engines() -> None:
    config = SGLangConfig(model="judge", backups_on_host=3)
    check_host_memory(config, 10 * GIB, 30 * GIB)
    with pytest.raises(StartError, match=r"'judge': 3 x 10.0 GiB take 30.0 GiB, 29.0 GiB are available"):
        check_host_memory(config, 10 * GIB, 29 * GIB)
    with pytest.raises(StartError, match=r"the weights take 10.0 GiB"):
        check_host_memory(SGLangConfig(model="judge"), 10 * GIB, 9 * GIB)


def test_without_a_backup_main_memory_does_not_matter() -> None:
    for options in ({"weights_cpu_backup": False}, {"memory_saver": False}, {"check_host_memory": False}):
        check_host_memory(SGLangConfig.model_validate({"model": "m", **options}), 10 * GIB, GIB)
    check_host_memory(SGLangConfig(model="m"), 10 * GIB, None)


def test_main_memory_is_that_of_the_control_group_if_it_has_less(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       1000 kB\nMemAvailable:    800 kB\n")
    assert available_bytes(meminfo, tmp_path) == 800 * 1024
    (tmp_path / "memory.current").write_text("1024")
    (tmp_path / "memory.max").write_text("max")
    assert available_bytes(meminfo, tmp_path) == 800 * 1024
    (tmp_path / "memory.max").write_text("5120")
    assert available_bytes(meminfo, tmp_path) == 4096
    assert available_bytes(tmp_path / "none", tmp_path) is None


def test_an_engines_memory_is_its_own_where_the_driver_tells_whose_it_is() -> None:
    cards = (card(100, 20, {7: 30, 8: 50}), card(100, 90, {7: 10}, "1"))
    assert bytes_held(cards, {7, 99}) == 40
    # Nobody's share is known: what both cards hold.
    assert bytes_held((card(100, 20), card(100, 90)), {7}) == 90


@pytest.mark.parametrize(
    ("asked", "count", "visible", "chosen"),
    [
        ((2, "GPU-abc"), 2, "0,1", ("2", "GPU-abc")),
        (None, 2, "4, 5,6", ("4", "5")),
        (None, 2, None, ("0", "1")),
        (None, 1, "", ()),
    ],
)
def test_gpus_are_those_asked_for_or_the_first_that_are_visible(
    asked: tuple[int | str, ...] | None, count: int, visible: str | None, chosen: tuple[str, ...]
) -> None:
    assert choose_gpus(asked, count, visible) == chosen


def test_without_a_driver_the_cards_cannot_be_read_and_nothing_breaks(caplog: pytest.LogCaptureFixture) -> None:
    cards = NvmlCards(["GPU-that-does-not-exist"])
    assert cards.read() == ()
    assert "GPU memory cannot be read" in caplog.text
