"""What words for times stand for in English."""

from muniment_server.retrieval.times.spans import FEW, WINTER

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
WEEKDAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {name: number for number, name in enumerate(WEEKDAY_NAMES)}
WEEKDAYS |= {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": WINTER}
OFFSETS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
OFFSETS |= {"upcoming": 1}

_SMALL = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBERS = {name: float(number) for number, name in enumerate(_SMALL, 1)}
NUMBERS |= {name: 10.0 * number for number, name in enumerate(_TENS, 2)}
NUMBERS |= {f"{tens}-{one}": NUMBERS[tens] + NUMBERS[one] for tens in _TENS for one in _SMALL[:9]}
NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a couple": 2, "half a": 0.5, "half": 0.5}
NUMBERS |= {
    "a half": 0.5,
    "one and a half": 1.5,
    "a few": FEW,
    "few": FEW,
    "several": FEW,
    "some": FEW,
    "a dozen": 12,
}
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
    *("eighteenth", "nineteenth", "twentieth", "twenty-first", "twenty-second", "twenty-third"),
    *("twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh", "twenty-eighth"),
    *("twenty-ninth", "thirtieth", "thirty-first"),
)
DAYS_IN_WORDS = {name: number for number, name in enumerate(_ORDINALS, 1)}

HOLIDAYS = {"christmas": (12, 25, 1), "christmas day": (12, 25, 1), "christmas eve": (12, 24, 1)}
HOLIDAYS |= {"boxing day": (12, 26, 1), "new year's day": (1, 1, 1), "new year's eve": (12, 31, 1)}
