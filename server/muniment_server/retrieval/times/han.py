"""Times in Chinese and Japanese, which share the characters of dates.

The text has simplified characters for traditional ones, so that each pattern has one form of them.
"""

import re
from collections.abc import Iterator
from datetime import date

from muniment_server.retrieval.times import makers, spans
from muniment_server.retrieval.times.digits import YEAR
from muniment_server.retrieval.times.makers import Named
from muniment_server.retrieval.times.spans import FEW, Part, Rule, Span, alternatives, relative_day, rule

_DIGITS = {char: number for number, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_WEEKDAYS = {char: number for number, char in enumerate("一二三四五六日")} | {"天": 6}
_JAPANESE_WEEKDAYS = {char: number for number, char in enumerate("月火水木金土日")}
_SEASONS = {"春": 3, "夏": 6, "秋": 9, "冬": spans.WINTER}
_YEARS = {
    "大前": -3,
    "前": -2,
    "一昨": -2,
    "去": -1,
    "昨": -1,
    "上一": -1,
    "今": 0,
    "本": 0,
    "明": 1,
    "来": 1,
}
_YEARS |= {"下一": 1, "后": 2, "再来": 2, "大后": 3}
_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}
_JAPANESE = {"先々": -2, "先先": -2, "先": -1, "今": 0, "来": 1, "再来": 2}
_UNITS = {
    "天": "day",
    "日间": "day",
    "日": "day",
    "周间": "week",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
}
_UNITS |= {"周末": "weekend", "月": "month", "季度": "quarter", "年": "year", "年间": "year"}
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925}

_HOLIDAYS: dict[str, tuple[int, int, int]] = {
    **dict.fromkeys(("元旦", "元日"), (1, 1, 1)),
    **dict.fromkeys(("圣诞节", "クリスマス"), (12, 25, 1)),
    **dict.fromkeys(("平安夜", "圣诞夜", "クリスマスイブ"), (12, 24, 1)),
    **dict.fromkeys(("国庆节", "国庆假期", "国庆长假", "国庆期间"), (10, 1, 7)),
    "劳动节": (5, 1, 1),
    "大晦日": (12, 31, 1),
    "跨年夜": (12, 31, 1),
}

_ONES = "一二三四五六七八九"
_MONTH = rf"(?:1[0-2]|0?[1-9](?!\d)|十[一二]?|[{_ONES}](?!十))"
_DAY = rf"(?:3[01]|[12]\d|0?[1-9](?!\d)|三十一?|二?十[{_ONES}]?|[{_ONES}](?!十))"
_YEAR = rf"(?:{YEAR}|[一二][九零〇][{_ONES}零〇]{{2}}|(?:{'|'.join(_ERAS)})(?:\d{{1,2}}|元))"
_NEAR_YEAR = r"(?<![之以从近历未原本往\d年月])(?:大前|前|一昨|去|昨|今|本|明|再来|来|大后|后|上一|下一)"
_OF_YEAR = rf"(?:(?P<year>{_YEAR}) ?年[的の]? ?|(?P<near>{_NEAR_YEAR})年[的の]? ?)"
_COUNT = rf"\d{{1,3}}|[{_ONES}两十]{{1,3}}|[几数半]"
_UNIT = "天|日间?|周间?|星期|礼拜|月|年间?"
# 月 with a number alone is the month of that number, and 日 behind it its day.
_COUNTED = (
    rf"(?<![\d.月{_ONES}十])(?<!月 )(?P<count>{_COUNT}) ?(?:[个か箇ヶケヵカ]|(?!月)|(?<=[两几数半]))"
    rf"(?P<unit>{_UNIT})(?P<half>半)?"
)
_SO_MANY = rf"(?P<count>{_COUNT}) ?个?(?P<unit>{_UNIT})(?P<half>半)?"
_WEEK = "周|星期|礼拜"
# 晚上, 早上, 网上 and 以下 end as what would begin here.
_REPEATED = r"(?<![晚早马网路身楼手天之以地])(?P<which>上{1,3}|下{1,3}|[这本])一?个?"
_REPEATED_WEEK = _REPEATED.replace("P<which>", "P<week>")
_TIE = r" ?(?:到|至|-|–|—|~|〜|～|から) ?"
_NIGHT = "(?:[一]?夜|晚上?|早上|早晨|上午|中午|下午|夜里)?"


def _number(text: str) -> int:
    if text.isdigit() and text.isascii():
        return int(text)
    tens, found, units = text.partition("十")
    if found:
        return 10 * _DIGITS.get(tens or "一", 1) + _DIGITS.get(units or "零", 0)
    return int("".join(str(_DIGITS[char]) for char in text))


def _count(text: str) -> float:
    return FEW if text in ("几", "数") else 0.5 if text == "半" else float(_number(text))


def _year_number(text: str) -> int:
    for era, before in _ERAS.items():
        if text.startswith(era):
            return before + (1 if text.endswith("元") else int(text[len(era) :]))
    return _number(text)


def _offset(text: str) -> int:
    """上 is the last one, 上上 the one before it; 下 and 下下 alike."""
    return _JAPANESE[text] if text in _JAPANESE else {"上": -1, "下": 1}.get(text[0], 0) * len(text)


def _weekday(text: str) -> int:
    return _WEEKDAYS[text] if text in _WEEKDAYS else _JAPANESE_WEEKDAYS[text]


def _half(named: Named, today: date) -> Iterator[Span]:
    years = makers.years_of(named, today) if "year" in named or "near" in named else [today.year]
    for year in years:
        yield spans.months(year, named["half_year"], 6)


def _day(named: Named, today: date) -> Iterator[Span]:
    yield spans.unit("day", named["relative"], today)


_by = makers.reading(
    year=_year_number,
    near=_YEARS.__getitem__,
    which=_offset,
    week=_offset,
    month=_number,
    day=_number,
    until=_number,
    last=_number,
    weekday=_weekday,
    last_weekday=_weekday,
    season=_SEASONS.__getitem__,
    quarter=_number,
    half=str,
    half_year=lambda text: 1 if text == "上" else 7,
    unit=_UNITS.__getitem__,
    count=_count,
    ago=_number,
    holiday=_HOLIDAYS.__getitem__,
    relative=_DAYS.__getitem__,
)


_DATE = rf"(?P<month>{_MONTH}) ?月(?: ?(?P<day>{_DAY}) ?[日号]?"
_ALONE = rf"(?<![\d.{_ONES}十个几])(?<!\d年)"
# A date is blank when weekdays are looked for: "5月5日(周二)" is one day.
_NO_DATE = r"(?<!\x00)(?<!\x00[ (])"
_YEARS_AGO = rf"(?<![\d.{_ONES}十])(?P<ago>\d{{1,3}}|[{_ONES}两十]{{1,3}}) ?年[之以]?前的?の?"
_HOLIDAY = rf"(?P<holiday>{alternatives(_HOLIDAYS)})"
_NO_THING_OF = "(?!ツリー|ケーキ|プレゼント|パーティー|カード|ソング|礼物|树|贺卡|晚会|活动)"

# The order counts: what a rule has read is not read again by those below it.
RULES: tuple[Rule, ...] = (
    rule(rf"{_YEARS_AGO}(?P<month>{_MONTH}) ?月(?: ?(?P<day>{_DAY}) ?[日号])?", _by(makers.a_date)),
    rule(rf"{_YEARS_AGO}(?P<season>[春夏秋冬])[天季]?", _by(makers.season)),
    rule(rf"{_OF_YEAR}{_HOLIDAY}", _by(makers.holiday)),
    rule(rf"(?<![\u4e00-\u9fff]年){_HOLIDAY}{_NO_THING_OF}", _by(makers.holiday)),
    rule(rf"{_COUNTED}[之以]?前", _by(makers.away, sign=-1)),
    rule(rf"{_COUNTED}[之以]?后", _by(makers.away, sign=1)),
    rule(
        rf"(?:最近|过去|近)的?这?{_SO_MANY}",
        _by(makers.within, sign=-1),
    ),
    rule(
        rf"(?:未来|接下来|今后)的?{_SO_MANY}",
        _by(makers.within, sign=1),
    ),
    rule(
        r"前几天|前些天|前两天|前些日子|这几天|这两天|数日前",
        _by(makers.away, sign=-1, count=FEW, unit="day"),
    ),
    rule(rf"(?:{_OF_YEAR}|{_ALONE}){_DATE}{_TIE}(?P<until>{_DAY}) ?[日号])(?:まで)?", _by(makers.a_date)),
    rule(
        rf"(?:{_OF_YEAR}|{_ALONE})(?P<month>{_MONTH}) ?月?{_TIE}"
        rf"(?P<last>{_MONTH}) ?月(?! ?{_DAY} ?[日号])(?:まで)?",
        _by(makers.some_months),
    ),
    rule(rf"{_OF_YEAR}(?P<month>{_MONTH}) ?月(?: ?(?P<day>{_DAY}) ?[日号]?)?", _by(makers.a_date)),
    rule(
        rf"{_ALONE}(?P<month>{_MONTH}) ?月(?: ?(?P<day>{_DAY}) ?[日号](?![楼线])|(?![饼号天兰经]|[一两]次))",
        _by(makers.a_date),
    ),
    rule(rf"{_OF_YEAR}(?P<half_year>[上下])半年", _by(_half)),
    rule(r"(?<!年)(?P<half_year>[上下])半年", _by(_half)),
    rule(rf"{_OF_YEAR}第?(?P<quarter>[1-4一二三四])季度", _by(makers.quarter)),
    rule(rf"{_OF_YEAR}(?P<season>[春夏秋冬])[天季]?", _by(makers.season)),
    rule(r"(?:这个?(?=.[天季])|今)(?P<season>[春夏秋冬])[天季]?", _by(makers.season, which=0)),
    rule(r"(?P<season>[春夏秋冬])(?:[天季]|(?=に))", _by(makers.season)),
    rule(r"一昨日|おととい", relative_day(-2)),
    rule(r"明后日|(?<!し)あさって", relative_day(2)),
    rule(
        rf"(?<![之以从])(?P<relative>大前|(?<![天月年周])前|昨|今|明|大后|(?<![今最])后)天(?![性形才]){_NIGHT}",
        _by(_day),
    ),
    rule(
        r"昨[日晚夜]|昨儿|夕べ|(?<![ぁ-ん])(?:きのう|ゆうべ)(?![ぁ-ん])|(?<![ぁ-ん])きのう(?=[はのもに何])",
        relative_day(-1),
    ),
    rule(
        r"今[日晚早晨夜朝晩]|本日|(?<![ぁ-ん])きょう(?![ぁ-ん])|(?<![ぁ-ん])きょう(?=[はのもに]|何)",
        relative_day(0),
    ),
    rule(r"昨[晩晚]", relative_day(-1)),
    rule(r"明[日晚早晨晩朝]|(?<![ぁ-ん])(?:あした|あす)(?:(?![ぁ-ん])|(?=[はのもに]))", relative_day(1)),
    rule(
        rf"{_REPEATED_WEEK}(?:{_WEEK})(?P<weekday>[一二三四五六日天])(?![程常记])",
        _by(makers.weekday),
    ),
    rule(r"(?P<week>先[々先]|再来|先|今|来)周の?(?P<weekday>[月火水木金土日])曜?日?", _by(makers.weekday)),
    rule(
        rf"(?<![每\d{_ONES}])(?:{_WEEK})(?P<weekday>[一二三四五六日天])(?:到|至|-|~)"
        rf"(?:{_WEEK})(?P<last_weekday>[一二三四五六日天])",
        _by(makers.some_weekdays),
    ),
    rule(
        rf"{_NO_DATE}(?<![每各双单上下这本几两\d{_ONES}十])(?:{_WEEK})(?P<weekday>[一二三四五六日天])(?![次个天年月周程常记报志\d{_ONES}])",
        _by(makers.weekday),
    ),
    rule(
        r"(?P<weekday>[月火水木金土日])曜日?(?:から|~|-)(?P<last_weekday>[月火水木金土日])曜日?(?:まで)?",
        _by(makers.some_weekdays),
    ),
    rule(
        _NO_DATE + r"(?<![毎每]周)(?P<weekday>[月火水木金土日])曜(?:日(?!ごと)|(?!日))", _by(makers.weekday)
    ),
    rule(rf"{_REPEATED}月的?(?P<day>{_DAY}) ?[日号]", _by(makers.day_of_month)),
    rule(rf"(?P<which>先[々先]|再来|先|今|来)月の?(?P<day>{_DAY}) ?日", _by(makers.day_of_month)),
    # 5号线 and 住在5号 are no days.
    rule(
        rf"(?<![\d月第{_ONES}十住选坐投穿买在])(?P<day>{_DAY})号"
        r"(?=[那早晚上下中我你他她咱做去发有说干要会吃见跟和到]|之[前后]|以[前后来]|[前后](?![门面台排])|\W|$)",
        _by(makers.day_of_month),
    ),
    rule(rf"{_REPEATED}(?P<unit>周末|周(?!围)|星期|礼拜|月(?![球亮饼])|季度)", _by(makers.near_unit)),
    rule(r"(?<![从未])(?P<which>先[々先]|再来|先|今|来)(?P<unit>周末|周|月)", _by(makers.near_unit)),
    rule(rf"(?<![每\d{_ONES}])周末", _by(makers.the_weekend)),
    rule(r"おととし", _by(makers.a_year, near=-2)),
    rule(rf"(?P<near>{_NEAR_YEAR})年(?!年)", _by(makers.a_year)),
    rule(rf"(?P<year>{_YEAR}) ?年", _by(makers.a_year)),
)
HINT = re.compile(
    r"[年月日周曜天季礼春夏秋冬号]|星期|[昨今明][晚早夜晨朝]|[おきあゆ夕昨]"
    r"|元旦|圣诞|平安夜|国庆|劳动节|クリスマス"
)
PARTS: tuple[Part, ...] = ((HINT, RULES),)
