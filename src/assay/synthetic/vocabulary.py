"""Open vocabularies, composed of syllables and morphemes: thousands of names, places, things and words of no language.

A closed list of names is learned by heart by a small judge, which then writes its own names for those it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from assay.judges.shield import Language

from .tables import split_words

if TYPE_CHECKING:
    from .draws import Draws

Compose: TypeAlias = "Callable[[Draws], str]"
"""Draws one word."""

_GIVEN = split_words(
    "Al Am Ar Be Bri Ca Cor Da Del El Em Fa Fe Ga Gre Ha He Ila In Ja Jo Ka Ki La Le Lo Ma Mi Na Ni O Pa Pe "
    "Ra Ro Sa Se Si Ta Te Tho U Va Vi Wa Ya Ze Zo"
)
_INNER = ("", "", *split_words("be da di la li lo ma mi na ne ni ra re ri ro sa sha ti va ve"))
_CLOSE = split_words(
    "ca da dan dor lan lia lin lis mon na nan nard nas nel ney nia ra ras rek ric rin ron ryn s sa ska ta than tin"
)
_FAMILY = split_words(
    "Alder Ash Bar Bern Black Brand Brock Cald Carl Clay Cross Dahl Dun East Eck Fair Fen Gold Grim Hag Hart "
    "Hol Kel Kling Lang Lind Lock March Mill Mor North Oster Pem Quin Rath Rosen Sand Scher Sten Stock "
    "Thorn Tor Ul Vall Wes Whit Win Wood York"
)
_FAMILY_END = split_words(
    "bach berg bourne by dale den er felt ford gate ham hart hoff houer ick ins ler ley lund man mere ov rich "
    "row sen son stad ton wald well wick worth"
)
_TOWN = split_words(
    "Ald Arn Bel Bram Car Chel Dor Ed Fal Glen Hal Har Ing Kal Kir Lan Lud Mar Nor Oak Or Pel Ras Rav Sal Sel "
    "Tam Tor Ul Var Vel Wen Wyn Yar Zel"
)
_TOWN_END = split_words(
    "bridge bury burg castle dale fell field gate ham haven hold holm ia mark mere mouth port stad stead ton "
    "vale ville wick"
)
_MATTER = split_words(
    "amber ash bamboo birch brass bronze canvas cedar ceramic clay copper cork cotton crystal ebony felt "
    "flint glass granite hemp ivory jade leather linen maple marble metal oak olive onyx paper pearl pewter "
    "pine plastic quartz rubber satin silk silver slate steel stone straw tin velvet walnut wax willow wool"
)
_THING = split_words(
    "anchor apron badge basket beam bell belt bench bottle bowl bracket bucket button cabinet candle chair "
    "clock coat comb crate cup curtain cushion drum fan flag flute folder frame funnel glove hammer handle "
    "hat helmet hook jar kettle kite ladder lamp lantern lid mat mirror mug needle paddle pillow pipe plate "
    "pot rack ring rope saddle screw shelf shield spoon stool table tile tray vase whistle"
)
_SYLLABLE = split_words(
    "ba bel bra ca cor dal del do fa fen fo gal gli ha hel ja jor ka kel lan lu ma mer mo na nel no or pa pel "
    "pra quo ra ren ri sa sel so ta tel tor u va ver vo wa zel zo"
)
_SYLLABLE_END = split_words(
    "ba dan den der din dra fen gan gen ket la lan len lin lon mar met min mor na nek nin nor pet ra ran rel "
    "ret rin ro san set sin ta tan tel tin ton van vek vin"
)

_ZH_FAMILY = "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章苏潘葛范彭"
_ZH_GIVEN = (
    "安邦彬晨承冲达丹东芳飞凤刚桂海涵航浩恒红辉佳建杰静娟军凯兰磊丽林玲龙梅敏明宁鹏平琪强青清荣瑞珊诗书淑涛婷伟文欣秀旭雪雅"
    "艳阳怡英宇玉远云泽哲珍志子"
)
_ZH_TOWN = (
    "安白宝长朝成池大东丰福高广海河和黄吉江金景兰莲临灵龙南宁平青清泉瑞山上石双水松泰天同桐万望文武西新兴阳宜永玉云竹"
)
_ZH_TOWN_END = ("县", "镇", "市", "村", "乡", "港")
_ZH_MATTER = split_words(
    "竹 木 铜 铁 银 锡 玉 石 陶 瓷 玻璃 塑料 棉布 丝绸 皮革 亚麻 羊毛 纸质 水晶 不锈钢 橡木 松木 蜡 草编"
)
_ZH_THING = split_words(
    "杯子 盒子 篮子 桌子 椅子 柜子 瓶子 盘子 勺子 刷子 梳子 帽子 手套 围巾 扇子 镜子 灯笼 花瓶 铃铛 "
    "钩子 梯子 箱子 水壶 茶壶 画框 书签 纽扣 垫子 靠枕 托盘 哨子 笛子 风筝 锤子 把手 门牌 徽章 绳子 挂钟 漏斗"
)


def given(draws: Draws) -> str:
    """A given name."""
    return draws.pick(_GIVEN) + draws.pick(_INNER) + draws.pick(_CLOSE)


def family(draws: Draws) -> str:
    """A family name."""
    return draws.pick(_FAMILY) + draws.pick(_FAMILY_END)


def place(draws: Draws) -> str:
    """A town."""
    return draws.pick(_TOWN) + draws.pick(_TOWN_END)


def things(draws: Draws) -> str:
    """Countable things, in the plural: ``copper lamps``."""
    thing = draws.pick(_THING)
    plural = {"shelf": "shelves", "candle": "candles"}.get(thing) or (
        thing + "es" if thing.endswith(("ch", "sh", "ss")) else thing + "s"
    )
    return f"{draws.pick(_MATTER)} {plural}"


def thing(draws: Draws) -> str:
    """A thing in the singular, without an article."""
    return f"{draws.pick(_MATTER)} {draws.pick(_THING)}"


def coined(draws: Draws) -> str:
    """A word of no language, in lower case: ``velmorin``."""
    middle = draws.pick(_SYLLABLE) if draws.chance(0.6) else ""
    return draws.pick(_SYLLABLE) + middle + draws.pick(_SYLLABLE_END)


def zh_name(draws: Draws) -> str:
    """A family name and one or two characters."""
    second = draws.pick(_ZH_GIVEN) if draws.chance(0.75) else ""
    return draws.pick(_ZH_FAMILY) + draws.pick(_ZH_GIVEN) + second


def zh_place(draws: Draws) -> str:
    """A town or a district."""
    return draws.pick(_ZH_TOWN) + draws.pick(_ZH_TOWN) + draws.pick(_ZH_TOWN_END)


def zh_things(draws: Draws) -> str:
    """A countable thing."""
    return draws.pick(_ZH_MATTER) + draws.pick(_ZH_THING)


def zh_coined(draws: Draws) -> str:
    """Two or three characters that make no common word."""
    return "".join(draws.some(_ZH_TOWN, draws.between(2, 3)))


SORTS: Mapping[Language, Mapping[str, Callable[[Draws], str]]] = {
    "en": {"name": given, "family": family, "place": place, "things": things, "thing": thing, "word": coined},
    "zh": {
        "name": zh_name,
        "family": zh_name,
        "place": zh_place,
        "things": zh_things,
        "thing": zh_things,
        "word": zh_coined,
    },
}
"""The sorts of words that a text may name in braces."""
