"""Times in Chinese and Japanese, which share the characters of dates.

The text has simplified characters for traditional ones, so that each pattern has one form of them.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta

from muniment_server.retrieval.times import spans
from muniment_server.retrieval.times.digits import YEAR
from muniment_server.retrieval.times.spans import FEW, Rule, Span, relative_day, rule

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
_WEEK = "周|星期|礼拜"
# 晚上, 早上, 网上 and 以下 end as what would begin here.
_REPEATED = r"(?<![晚早马网路身楼手天之以地])(?P<which>上{1,3}|下{1,3}|[这本])一?个?"
_TIE = r" ?(?:到|至|-|–|—|~|〜|～|から) ?"
_NIGHT = "(?:[一]?夜|晚上?|早上|早晨|上午|中午|下午|夜里)?"


def _number(text: str) -> int:
    if text.isdigit() and text.isascii():
        return int(text)
    tens, found, units = text.partition("十")
    if found:
        return 10 * _DIGITS.get(tens or "一", 1) + _DIGITS.get(units or "零", 0)
    return int("".join(str(_DIGITS[char]) for char in text))


def _count(match: re.Match[str]) -> float:
    text = match["count"]
    count = FEW if text in ("几", "数") else 0.5 if text == "半" else float(_number(text))
    return count + 0.5 if match["half"] and count else count


def _year_number(text: str) -> int:
    for era, before in _ERAS.items():
        if text.startswith(era):
            return before + (1 if text.endswith("元") else int(text[len(era) :]))
    return _number(text)


def _years(match: re.Match[str], today: date) -> Iterable[int]:
    found = match.groupdict()
    if found.get("year"):
        return [_year_number(found["year"])]
    if found.get("near"):
        return [today.year + _YEARS[found["near"]]]
    return spans.possible_years(today)


def _date(match: re.Match[str], today: date) -> Iterator[Span]:
    found = match.groupdict()
    day, until = found.get("day"), found.get("until")
    yield from spans.dates(
        _years(match, today),
        _number(match["month"]),
        _number(day) if day else None,
        _number(until) if until else None,
    )


def _months(match: re.Match[str], today: date) -> Iterator[Span]:
    first, last = _number(match["month"]), _number(match["last"])
    for year in _years(match, today):
        yield spans.months(year if first <= last else year - 1, first, (last - first) % 12 + 1)


def _year(match: re.Match[str], today: date) -> Iterator[Span]:
    for year in _years(match, today):
        yield spans.years(year)


def _half(match: re.Match[str], today: date) -> Iterator[Span]:
    found = match.groupdict()
    years = _years(match, today) if found.get("year") or found.get("near") else [today.year]
    for year in years:
        yield spans.months(year, 1 if match["half"] == "上" else 7, 6)


def _season(match: re.Match[str], today: date) -> Iterator[Span]:
    yield from spans.seasons(_SEASONS[match["season"]], _years(match, today))


def _quarter(match: re.Match[str], today: date) -> Iterator[Span]:
    for year in _years(match, today):
        yield spans.months(year, 3 * _number(match["quarter"]) - 2, 3)


def _near_season(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.season(_SEASONS[match["season"]], 0, today)


def _day(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.days(today + timedelta(days=_DAYS[match["day"]]))


def _repeated(which: str) -> int:
    """上 is the last one, 上上 the one before it; 下 and 下下 alike."""
    return {"上": -1, "下": 1}.get(which[0], 0) * len(which)


def _near(match: re.Match[str], today: date) -> Iterator[Span]:
    offset = _JAPANESE[match["which"]] if match["which"] in _JAPANESE else _repeated(match["which"])
    yield spans.unit(_UNITS[match["unit"]], offset, today)


def _day_of_month(match: re.Match[str], today: date) -> Iterator[Span]:
    which = match["which"]
    offset = _JAPANESE[which] if which in _JAPANESE else _repeated(which)
    yield from spans.day_of_month(_number(match["day"]), offset, today)


def _last_such_day(match: re.Match[str], today: date) -> Iterator[Span]:
    day = _number(match["day"])
    yield from spans.day_of_month(day, 0 if day <= today.day else -1, today)


def _weekday_of_week(match: re.Match[str], today: date) -> Iterator[Span]:
    which, day = match["which"], match["weekday"]
    number = _WEEKDAYS[day] if which not in _JAPANESE else _JAPANESE_WEEKDAYS[day]
    yield spans.weekday_of_week(number, _JAPANESE[which] if which in _JAPANESE else _repeated(which), today)


def _weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.last_weekday(_WEEKDAYS[match["weekday"]], today)


def _weekdays(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.weekdays(_WEEKDAYS[match["weekday"]], _WEEKDAYS[match["last"]], today)


def _japanese_weekday(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.last_weekday(_JAPANESE_WEEKDAYS[match["weekday"]], today)


def _japanese_weekdays(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.weekdays(_JAPANESE_WEEKDAYS[match["weekday"]], _JAPANESE_WEEKDAYS[match["last"]], today)


def _away(sign: int) -> spans.Make:
    return lambda match, today: [spans.away(_UNITS[match["unit"]], _count(match), sign, today)]


def _within(sign: int) -> spans.Make:
    return lambda match, today: [spans.within(_UNITS[match["unit"]], _count(match), today, sign)]


def _few_days(match: re.Match[str], today: date) -> Iterator[Span]:
    yield spans.away("day", FEW, -1, today)


_DATE = rf"(?P<month>{_MONTH}) ?月(?: ?(?P<day>{_DAY}) ?[日号]?"
_ALONE = rf"(?<![\d.{_ONES}十个几])"

# The order counts: what a rule has read is not read again by those below it.
RULES: tuple[Rule, ...] = (
    rule(rf"{_COUNTED}[之以]?前", _away(-1)),
    rule(rf"{_COUNTED}[之以]?后", _away(1)),
    rule(rf"(?:最近|过去|近)的?这?(?P<count>{_COUNT}) ?个?(?P<unit>{_UNIT})(?P<half>半)?", _within(-1)),
    rule(rf"(?:未来|接下来|今后)的?(?P<count>{_COUNT}) ?个?(?P<unit>{_UNIT})(?P<half>半)?", _within(1)),
    rule(r"前几天|前些天|前两天|前些日子|这几天|这两天|数日前", _few_days),
    rule(rf"(?:{_OF_YEAR}|{_ALONE}){_DATE}{_TIE}(?P<until>{_DAY}) ?[日号])(?:まで)?", _date),
    rule(
        rf"(?:{_OF_YEAR}|{_ALONE})(?P<month>{_MONTH}) ?月?{_TIE}"
        rf"(?P<last>{_MONTH}) ?月(?! ?{_DAY} ?[日号])(?:まで)?",
        _months,
    ),
    rule(rf"{_OF_YEAR}(?P<month>{_MONTH}) ?月(?: ?(?P<day>{_DAY}) ?[日号]?)?", _date),
    rule(
        rf"{_ALONE}(?P<month>{_MONTH}) ?月(?: ?(?P<day>{_DAY}) ?[日号](?![楼线])|(?![饼号天兰经]|[一两]次))",
        _date,
    ),
    rule(rf"{_OF_YEAR}(?P<half>[上下])半年", _half),
    rule(r"(?<!年)(?P<half>[上下])半年", _half),
    rule(rf"{_OF_YEAR}第?(?P<quarter>[1-4一二三四])季度", _quarter),
    rule(rf"{_OF_YEAR}(?P<season>[春夏秋冬])[天季]?", _season),
    rule(r"(?:这个?(?=.[天季])|今)(?P<season>[春夏秋冬])[天季]?", _near_season),
    rule(r"(?P<season>[春夏秋冬])(?:[天季]|(?=に))", _season),
    rule(r"一昨日|おととい", relative_day(-2)),
    rule(r"明后日|(?<!し)あさって", relative_day(2)),
    rule(
        rf"(?<![之以从])(?P<day>大前|(?<![天月年周])前|昨|今|明|大后|(?<![今最])后)天(?![性形才]){_NIGHT}",
        _day,
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
    rule(rf"{_REPEATED}(?:{_WEEK})(?P<weekday>[一二三四五六日天])(?![程常记])", _weekday_of_week),
    rule(r"(?P<which>先[々先]|再来|先|今|来)周の?(?P<weekday>[月火水木金土日])曜?日?", _weekday_of_week),
    rule(
        rf"(?<![每\d{_ONES}])(?:{_WEEK})(?P<weekday>[一二三四五六日天])(?:到|至|-|~)(?:{_WEEK})(?P<last>[一二三四五六日天])",
        _weekdays,
    ),
    rule(
        rf"(?<![每各双单上下这本几两\d{_ONES}十])(?:{_WEEK})(?P<weekday>[一二三四五六日天])(?![次个天年月周程常记报志\d{_ONES}])",
        _weekday,
    ),
    rule(
        r"(?P<weekday>[月火水木金土日])曜日?(?:から|~|-)(?P<last>[月火水木金土日])曜日?(?:まで)?",
        _japanese_weekdays,
    ),
    rule(r"(?<![毎每]周)(?P<weekday>[月火水木金土日])曜(?:日(?!ごと)|(?!日))", _japanese_weekday),
    rule(rf"{_REPEATED}月的?(?P<day>{_DAY}) ?[日号]", _day_of_month),
    rule(rf"(?P<which>先[々先]|再来|先|今|来)月の?(?P<day>{_DAY}) ?日", _day_of_month),
    rule(rf"(?<![\d月第{_ONES}十])(?P<day>{_DAY})号(?=[那早晚上我你做去发有说])", _last_such_day),
    rule(rf"{_REPEATED}(?P<unit>周末|周(?!围)|星期|礼拜|月(?![球亮饼])|季度)", _near),
    rule(r"(?<![从未])(?P<which>先[々先]|再来|先|今|来)(?P<unit>周末|周|月)", _near),
    rule(rf"(?<![每\d{_ONES}])周末", lambda match, today: [spans.the_weekend(today)]),
    rule(r"おととし", lambda match, today: [spans.years(today.year - 2)]),
    rule(rf"(?P<near>{_NEAR_YEAR})年(?!年)", _year),
    rule(rf"(?P<year>{_YEAR}) ?年", _year),
)
HINT = re.compile(r"[年月日周曜天季礼春夏秋冬]|星期|[昨今明][晚早夜晨朝]|[おきあゆ夕昨]")
