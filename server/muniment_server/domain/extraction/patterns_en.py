# ruff: noqa: E501 - a pattern is read in one line
"""The rules for English. Each pattern is matched at the beginning of a clause, without regard to case
except where a name has to begin with a capital letter."""

import re

from muniment_server.domain.model import MemoryKind

from .rule import Rule

_TIME = (
    r"\b(?:today|tonight|tomorrow|this (?:morning|afternoon|evening|week|month|weekend|year)|"
    r"next (?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|"
    r"(?:by|before|on|until|at|in|within|from) (?:the )?(?:end of |early |late )?(?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|"
    r"apr|may|jun|jul|aug|sep|oct|nov|dec|noon|midnight|tomorrow|tonight|next|week|month|year|a (?:week|month|few)|"
    r"one |two |three |four )|every (?:day|week|month|year|morning|evening|monday|tuesday|wednesday|thursday|friday|"
    r"saturday|sunday)|\d{1,2}(?::\d\d)?\s?(?:am|pm)\b)"
)
_PLACE = (
    r"(?P<place>(?-i:(?:the )?[A-Z][\w.'-]*)(?:[ -][\w.'-]+){0,4}"
    r"|(?!(?:a|an|the|my|his|her|our|their|this|that|these|those|it|constant|fear|hope|peace|sin|harmony|here|there|"
    r"with|between|two|different|tears|another|some|one)\b)[a-z][a-z.'-]+(?: [a-z.'-]+)?)"
)
_CAPITAL = r"(?P<place>(?-i:(?:the )?[A-Z][\w.'-]*)(?:[ -][\w.'-]+){0,4})"
_JOB = (
    r"(?!(?:no|not|never|such|quite|more|less|like)\b)(?:(?:\w+[ -]){0,3}?(?:engineer|developer|programmer|designer|doctor|physician|nurse|surgeon|dentist|teacher|"
    r"professor|lecturer|researcher|scientist|analyst|accountant|lawyer|attorney|architect|consultant|manager|director|"
    r"founder|student|electrician|plumber|carpenter|mechanic|pilot|chef|cook|waiter|waitress|journalist|writer|author|"
    r"editor|translator|musician|artist|photographer|actor|actress|farmer|driver|pharmacist|therapist|psychologist|"
    r"veterinarian|vet|librarian|firefighter|paramedic|carer|banker|broker|baker|barista|tailor|retiree))"
)
_NOT = r"(?:do not|don't|am not|'m not|no longer|cannot|can't|won't)"
_WORD = r"(?:very |really |absolutely |also |still |always |just |quite |definitely |much |so |totally |generally |usually )*"
_OWN = r"(?:my|our)"
_THING = (
    r"(?!(?:it|that|this|them|him|her|his|their|its|you|your|those|these|how|when|what|one|so|to)\b(?! rains| snows))"
    r"(?!the (?:idea|thought|way|fact|sound|look)\b)\S"
)
"""What is liked: what points at something else says nothing outside of its conversation."""


def _rule(name: str, kind: MemoryKind, pattern: str, slot: str | None = None, **more: bool) -> Rule:
    return Rule(name, kind, re.compile(pattern, re.IGNORECASE), slot, **more)


_F, _P, _E, _D = MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.EVENT, MemoryKind.DECISION

RULES = (
    # identity
    _rule("identity", _F, rf"{_OWN} (?:full |first |last |real |actual )?name(?:'s| is)(?: now)? (?:not )?\S", "name"),
    _rule("identity", _F, r"(?:you can |please |everyone |friends )?(?:just )?call(?:s)? me (?-i:[A-Z])\S*", "preferred_name"),
    _rule("identity", _F, r"i go by (?-i:[A-Z])\S*", "preferred_name"),
    _rule("identity", _F, r"i(?:'m| am) (?:called|named) (?-i:[A-Z])\S*", "name"),
    _rule("identity", _F, r"i(?:'m| am) (?:now |just )?\d{1,3} years? old\b", "age"),
    _rule("identity", _F, rf"{_OWN} birthday(?:'s| is) (?:on |in )?\S|i was born (?:on|in) (?:the )?(?=.*\d)", "birth_date"),
    _rule("identity", _F, rf"i (?:{_NOT} )?(?:now |currently |still )*work(?:ing)? (?:at|for) (?!home|night|least|a living|myself|free|it\b)\S"
          rf"|i(?:'m| am) (?:now |currently )?(?:working (?:at|for)|employed (?:at|by)) \S"
          rf"|i (?:just |recently )?(?:joined|started at|started working (?:at|for)) (?-i:[A-Z])\S*|{_OWN} (?:new )?employer is \S"
          r"|i (?:stopped working at|left my job at|quit my job at) \S", "employer"),
    _rule("identity", _F, rf"i (?:now |currently )?work as an? \S|i(?:'m| am) (?:now |currently )?(?:an? |the )?{_JOB}\b(?! of mine)"
          rf"|{_OWN} (?:job|profession|occupation)(?: title)? is \S", "occupation"),
    _rule("identity", _F, rf"{_OWN} (?:native language|mother tongue|first language) is \S", "native_language"),
    _rule("identity", _F, r"i (?:also )?speak (?:fluent |some |a little )?(?-i:[A-Z])\w+"),
    _rule("identity", _F, r"i(?:'m| am) (?:originally )?from (?-i:[A-Z])\S*|i come from (?-i:[A-Z])\S*"),
    _rule("identity", _F, rf"i(?:'m| am) {_WORD}(?:allergic|intolerant|sensitive) to \S|i have (?:a |an )?(?:\w+ )?(?:allergy|intolerance)"),
    _rule("identity", _P, rf"i(?:'m| am) (?:now |not |no longer )?(?:a |an )?{_WORD}(?:vegan|vegetarian|pescatarian|teetotal(?:l?er)?|flexitarian)\b", "diet"),
    _rule("identity", _F, r"i(?:'m| am) (?:happily |now |recently )?(?:married|divorced|engaged|single|widowed|pregnant|retired)\b"),
    _rule("identity", _F, r"i have (?:\d+|one|two|three|four|five|six|a|an) (?:\w+ )?(?:kids?|child(?:ren)?|sons?|daughters?|brothers?|sisters?|siblings?|cats?|dogs?|pets?|horses?)\b"),
    _rule("identity", _F, rf"{_OWN} (?:\w+ )?(?:cat|dog|pet|horse|rabbit|parrot|wife|husband|partner|spouse|son|daughter|child|baby|brother|sister|mother|mom|mum|"
          r"father|dad|boss|manager|company|team|project|boat|car)(?:'s name is| is (?:called|named)| is now called|, (?-i:[A-Z])\w+, is) ?\S"),
    # contact
    _rule("contact", _F, rf"{_OWN} (?:new |private |work |personal |current )?e-?mail(?: address)?(?:'s| is| has changed to| changed to)(?: now)? \S", "email"),
    _rule("contact", _F, rf"{_OWN} (?:new |private |work |personal |current |mobile |cell |tele)?(?:phone |mobile |cell )?(?:phone|number|mobile|cell)(?: number)?"
          r"(?:'s| is| has changed to| changed to)(?: now)? (?=.*\d)", "phone"),
    _rule("contact", _F, rf"{_OWN} (?:new |home |postal |mailing |current )?address(?:'s| is| has changed to| changed to)(?: now)? \S", "address"),
    _rule("contact", _F, r"(?:you can |please )?(?:reach|contact|call|email|text) me (?:at|on|under) (?=\S*[\d@])"),
    # place
    _rule("place", _F, rf"i (?:now |currently |still |actually )*(?:live|reside) in {_PLACE}"
          rf"|i(?:'m| am) (?:now |currently )?(?:living|based|residing) in {_PLACE.replace('?P<place>', '')}"
          rf"|i(?:'ve| have)? (?:just |recently |now )?(?:moved|relocated)(?: back| over)? to {_CAPITAL.replace('?P<place>', '')}"
          rf"|i(?:'ve| have) (?:just |recently )?settled in {_CAPITAL.replace('?P<place>', '')}"
          rf"|{_OWN} home(?:town)? (?:city )?is (?:now )?(?:in )?{_CAPITAL.replace('?P<place>', '')}"
          r"|i (?:do not|don't|no longer) live (?:in \S|there\b)", "home_city"),
    _rule("place", _F, rf"{_OWN} (?:new )?office is (?:now )?(?:in|at|on) \S", "office"),
    # dislike before preference: the negation belongs to it
    _rule("dislike", _P, rf"i {_WORD}(?:do not|don't|no longer|never) {_WORD}(?:like|love|enjoy|prefer|care for|eat|drink) (?:to (?!know\b|bother\b|interrupt\b|say\b))?{_THING}"
          rf"|i {_WORD}(?:dislike|hate|detest|loathe|avoid) (?!to (?:say|admit|bother)\b){_THING}|i (?:cannot|can't) (?:stand|bear) {_THING}|i(?:'m| am) not (?:a (?:big |huge )?fan of|into|fond of|keen on) {_THING}"
          r"|please (?:never|do not|don't) \S"),
    _rule("preference", _P, rf"{_OWN} (?:all-time |absolute |current |new )?favou?rite (?P<of>[a-z]+(?: [a-z]+)?)(?: of all time)?(?:'s| is| are) (?:now )?\S", "favorite", by_value=True),
    _rule("preference", _P, rf"i {_WORD}(?:like|love|enjoy|adore|prefer|appreciate) (?:to (?!say\b|know\b|help\b|hear\b|see\b)|it when (?!you\b))?{_THING}|i(?:'d| would) (?:rather|prefer) (?:to )?(?!not\b){_THING}"
          rf"|i(?:'m| am) {_WORD}(?:a (?:big |huge )?fan of|into|fond of|keen on) (?!trouble\b){_THING}|{_OWN} preference is \S"),
    # decision
    _rule("decision", _D, r"(?:i|we)(?:'ve| have)? (?:just |now |finally |already |all |jointly )?(?:decided|agreed|settled|chosen|opted|resolved)\b(?! (?:nothing|yet)\b)"
          r"|(?:let's|we'll|i'll|we will|i will|we're going to|i'm going to) go (?:with|for) (?!it\b|that\b|this\b|a \w+\W*$)\S|(?:the|our|my) (?:final )?decision is \S|we (?:chose|picked|selected) (?!up\b|it\b|that\b|them\b)\S"
          r"|it(?:'s| is| was| has been) (?:been )?(?:decided|agreed) (?:that|to) \S"),
    # commitment
    _rule("commitment", _E, rf"(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to| have to| need to| must| plan to| intend to|'m planning to) \w.*{_TIME}"
          rf"|(?:i|we) (?:promise|commit|vow|guarantee)(?:d)? (?:to|that|you)\b.*|remind me (?:to|about|of) \S|{_OWN} (?:deadline|appointment|flight|meeting|exam|interview|wedding|trip|train) is .*{_TIME}"
          rf"|i have (?:a|an|my) (?:\w+ )?(?:appointment|meeting|flight|exam|interview|deadline|call|trip|surgery|dentist)\b.*{_TIME}"),
)  # fmt: skip

STRIP = re.compile(
    r"(?:(?:well|oh|ah|hi|hello|hey|yes|yeah|yep|no|nope|ok|okay|so|and|but|also|plus|because|since|by the way|btw|fyi|"
    r"just so you know|just to let you know|for the record|for your information|to be clear|actually|in fact|sorry|"
    r"correction|wait|hm+|um+|uh+|scratch that|on second thoughts?|i was wrong|my mistake|i meant|i mean|"
    r"i should (?:mention|add|say)(?: that)?|you should know(?: that)?|i forgot to (?:say|mention)(?: that)?|"
    r"i want you to (?:know|remember)(?: that)?|(?:please )?(?:remember|note|keep in mind)(?: that)?|as you know|thanks|"
    r"thank you|great|sure|right|good morning|good evening)(?![\w'])[\s,:;.!…—–-]*)+",
    re.IGNORECASE,
)
"""What stands before a statement and says nothing of it."""
KEEP = re.compile(
    r"(?:(?:now|currently|recently|lately|these days|nowadays|honestly|to be honest|personally|generally|usually|"
    r"i (?:think|guess|suppose|believe|assume)(?: that)?|maybe|perhaps|probably|possibly|i'm not (?:really |quite )?sure,? but|"
    r"if i remember (?:right|correctly)|as far as i know|apparently|today|yesterday|last (?:week|month|year)|"
    r"in (?:january|february|march|april|may|june|july|august|september|october|november|december|\d{4}))(?![\w'])[\s,:—–-]*)+",
    re.IGNORECASE,
)
"""What may stand before a statement and belongs to it."""
CORRECTION_LEAD = re.compile(
    r"\b(?:actually|no|nope|sorry|correction|wait|scratch that|on second thoughts?|i was wrong|my mistake|i meant|i mean|instead)\b",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    r"\bno longer\b|\bany ?more\b|\bany longer\b|\bchanged to\b|\binstead\b|\bnot? \S+ but\b", re.IGNORECASE
)
CLAUSE = re.compile(
    r"[,;:—–]\s+(?:(?:and|but|so)\s+)?|\s+(?:and|but|so|because|since|although|though)\s+"
    r"(?=(?:i|i'm|i've|i'll|i'd|my|our|we|we've|we'll|please|actually)\b)",
    re.IGNORECASE,
)
