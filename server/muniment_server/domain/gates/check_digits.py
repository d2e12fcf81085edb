"""Numbers that prove themselves: check digits of cards, accounts and identity numbers."""

from datetime import date

_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"
# First two digits of a resident ID: the province-level division that issued it (GB/T 2260).
_PROVINCES = frozenset(
    (
        *range(11, 16),
        *range(21, 24),
        *range(31, 38),
        *range(41, 47),
        *range(50, 55),
        *range(61, 66),
        71,
        81,
        82,
        83,
    )
)
_BASE_36 = {code: str(code - ord("A") + 10) for code in range(ord("A"), ord("Z") + 1)}
_DOUBLED = {str(digit): digit * 2 - 9 if digit > 4 else digit * 2 for digit in range(10)}
_MAESTRO = frozenset({5018, 5020, 5038, 5612, 5893, 6304, 6759, 6761, 6762, 6763})
# Lengths of accounts by country, from the registry of ISO 13616.
IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27,
    "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
    "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21,
    "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28,
    "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22,
    "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25,
    "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip


def luhn(digits: str) -> bool:
    """Whether the last of the digits is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    straight, doubled = digits[-1::-2], digits[-2::-2]
    return (sum(map(int, straight)) + sum(map(_DOUBLED.__getitem__, doubled))) % 10 == 0


def is_card(digits: str) -> bool:
    """Whether digits are a payment card number: an issuer's prefix, a length that it issues, and Luhn."""
    length = len(digits)
    if not 12 < length < 20 or len(set(digits)) < 2:
        return False
    two, three, four, six = int(digits[:2]), int(digits[:3]), int(digits[:4]), int(digits[:6])
    lengths: tuple[int, ...]
    if digits[0] == "4":
        lengths = (13, 16, 19)
    elif 51 <= two <= 55 or 2221 <= four <= 2720:
        lengths = (16,)
    elif two in (34, 37):
        lengths = (15,)
    elif 300 <= three <= 305 or three == 309 or two in (36, 38, 39):
        lengths = (14, 16, 19)
    elif four == 6011 or two == 65 or 644 <= three <= 649:
        lengths = (16, 19)
    elif 3528 <= four <= 3589 or two == 62 or four in _MAESTRO or 810000 <= six <= 817199:
        lengths = (16, 17, 18, 19)
    else:
        return False
    return length in lengths and luhn(digits)


def is_resident_id(text: str, today: date | None = None) -> bool:
    """Whether 18 characters are a Chinese resident identity number (GB 11643): division, date, check digit.

    The check digit is ISO 7064 MOD 11-2; X stands for ten.
    """
    if len(text) != 18 or not text[:17].isdecimal() or int(text[:2]) not in _PROVINCES:
        return False
    try:
        born = date(int(text[6:10]), int(text[10:12]), int(text[12:14]))
    except ValueError:
        return False
    if born.year < 1900 or born.year > (today.year if today else 2100):
        return False
    total = sum(int(digit) * weight for digit, weight in zip(text, _ID_WEIGHTS, strict=False))
    return text[17].upper() == _ID_CHECKS[total % 11]


def is_iban(text: str) -> bool:
    """Whether upper-case letters and digits are an account number of ISO 13616: length of the country, and
    remainder 1 modulo 97 (ISO 7064 MOD 97-10)."""
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text[2:4].isdecimal() or not 2 <= int(text[2:4]) <= 98:
        return False
    if not text.isascii() or not text.isalnum():
        return False
    return int((text[4:] + text[:4]).upper().translate(_BASE_36)) % 97 == 1
