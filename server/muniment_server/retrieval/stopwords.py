"""Words that say nothing about what a text is about.

Short on purpose: BM25 already gives frequent words little weight. They are left out because the
share of the reachable score (`bm25.share`) would otherwise be spread over words that no memory has
to contain, and because the most frequent words make the longest posting lists. Negations, numbers
and month names ("may") are kept.
"""

import re

_ENGLISH = """
a about am an and any are as at be because been being but by can could did do does doing for from
had has have having he her here hers him his how i if in into is it its itself just let many me
mine much my of on or our ours please shall she should so some than that the their theirs them
then there these they this those to too us very was we were what when where which while who whom
whose why will with would you your yours
"""
_CHINESE = """
的 了 吗 呢 吧 啊 呀 嘛 哦 着 过 是 在 我 你 您 他 她 它 我们 你们 他们 她们 它们 这 那 这个 那个
哪 哪个 哪些 哪里 哪儿 什么 怎么 怎样 怎么样 如何 谁 几 多少 为什么 和 与 及 或 就 都 也 还 很 把 被
给 对 从 到 又 让 会 能 可以 要 有 个 请 叫 地 得 上 里 曾经 一个 一下 时候
"""

ENGLISH = frozenset(_ENGLISH.split())
CHINESE = frozenset(_CHINESE.split())

#: Not stop words when they stand in capitals in a text that is not all capitals.
CAPITAL_NAMES = frozenset({"IT", "US", "WHO"})
#: Characters that only tie words together: a bigram across one of them is noise.
CHINESE_PARTICLES = frozenset("的了吗呢吧啊呀嘛哦着是我你您他她它这那")
#: Who is meant by no name; a speaker may be called just so.
CHINESE_PERSONS = re.compile("[我你您他她它](?!们)")
