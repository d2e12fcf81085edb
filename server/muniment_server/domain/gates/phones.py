"""Which digits are worth a look into the numbering plans of telephones.

Plans are generous: every third run of ten digits is a valid number somewhere. So a number without a country
code has to be written as people write one they dial (in the groups of its country, with the digit that is
dialled before it), or a word beside it has to say what it is; and no word may say that it is something else.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from phonenumbers import PhoneMetadata

_WORDS = re.compile(
    r"(?P<phone>\b(?:tele)?(?:ph|f)on\w*|\bmobil\w*|\bcell|\bhandy|\btel\b|\bfax|\bwhats|\bwechat|\bsms\b|\bhotline"
    r"|\b(?:call|dial|ring|reach|contact|ruf|anruf)\w*|手机|手機|电话|電話|座机|致电|拨打|热线|熱線|传真|微信|联系|聯絡)"
    r"|(?P<other>\b(?:order|invoice|ticket|parcel|shipment|serial|case|account|meter|build|version|receipt|batch"
    r"|part|article|epoch|timestamp|contract|policy|booking|flight|tracking|reference)s?\b"
    r"|\b(?:sku|isbn|ean|vat|tax|ref|po|pr|id)\b|\b(?:bestell|rechnungs|kundenn|auftrags|sendungs)\w*"
    r"|订单|訂單|单号|單號|编号|編號|工单|发票|發票|账号|帐号|快递|运单|序列号|流水|卡号|合同|学号|工号)",
    re.IGNORECASE,
)
_BEFORE, _AFTER = 28, 14
_DIGITS = re.compile(r"[0-9]+")
_DATE = re.compile(
    r"(?<![0-9])(?:(?:19|20)[0-9]{2}[\-./ ]?(?:0?[1-9]|1[0-2])[\-./ ]?(?:0?[1-9]|[12][0-9]|3[01])"
    r"|(?:0?[1-9]|[12][0-9]|3[01])[\-./](?:0?[1-9]|[12][0-9]|3[01])[\-./](?:19|20)[0-9]{2})(?![0-9])"
)
_CHINESE_MOBILE = re.compile(r"1[3-9][0-9]{9}")
_NORTH_AMERICAN = re.compile(r"(?:1[ \-.]{0,2})?\(?[0-9]{3}\)?[ \-./]{1,2}[0-9]{3}[ \-.][0-9]{4}")


def plans(text: str, start: int, end: int, regions: Sequence[str]) -> tuple[str | None, ...]:
    """The regions in whose plans to look up the digits between start and end; None stands for a country code.

    regions: ISO 3166 codes for numbers without one.
    """
    written = text[start:end]
    groups = _DIGITS.findall(written)
    digits = "".join(groups)
    if written.startswith(("+", "00")):
        return (None,) if 7 <= len(digits) <= 15 else ()
    if not 9 <= len(digits) <= 15 or _DATE.search(written):
        return ()
    said = _said(text, start, end)
    if said is False:
        return ()
    return tuple(region for region in regions if said or _is_written_so(written, groups, digits, region))


def _said(text: str, start: int, end: int) -> bool | None:
    """What the nearest words say of a number: a telephone's, something else's, or nothing."""
    last = None
    for last in _WORDS.finditer(text, max(0, start - _BEFORE), start):  # noqa: B007 - the last one counts
        pass
    if last is not None:
        return last["phone"] is not None
    following = _WORDS.search(text, end, min(len(text), end + _AFTER))
    return True if following is not None and following["phone"] is not None else None


def _is_written_so(written: str, groups: Sequence[str], digits: str, region: str) -> bool:
    """Whether people of a region write a number like this that they dial."""
    code, prefix = _dialling(region)
    if code == 1:
        return _NORTH_AMERICAN.fullmatch(written) is not None
    if region == "CN" and _CHINESE_MOBILE.fullmatch(digits):
        return len(groups) == 1 or tuple(map(len, groups)) in {(3, 4, 4), (3, 8), (3, 3, 5)}
    if prefix and not digits.startswith(prefix):
        return False
    return 2 <= len(groups) <= 5 and len(groups[0]) >= 2


@lru_cache(maxsize=300)
def _dialling(region: str) -> tuple[int, str]:
    """Country code, and what is dialled before a number inside the country."""
    found = PhoneMetadata.metadata_for_region(region, None)
    return (found.country_code or 0, found.national_prefix or "") if found is not None else (0, "")
