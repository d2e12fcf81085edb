"""Sentences of a turn, and whether one states something at all. English and Chinese."""

import re

LONGEST = 300
"""Characters of a sentence that rules look at: a longer one says more than one thing."""

# Not at the dot of a number, an address or an initial: there no white space follows, or one letter precedes.
_END = re.compile(
    r"(?<=[。！？；!?;\n])|(?<=\.)(?=\s)(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|No)\.)(?<!\b(?:Mrs|e\.g|i\.e)\.)"
)
_CJK = re.compile("[\u3400-\u9fff]")
# A table or a drawing; rules would try it from every blank, which takes quadratic time.
_GAP = re.compile(r"\s{8}")

_LEAD = r"^(?:(?:and|but|so|or|well|ok|okay|hey|hi|hello|sorry|please|then|actually)\b[,\s]*)*"
_QUESTION_EN = re.compile(
    _LEAD + r"(?:(?:who|whom|whose|what|which|why|how)\b"
    r"|(?:when|where)\s+(?:do|does|did|is|are|was|were|am|can|could|will|would|shall|should|have|has|had)\b"
    r"|(?:do|does|did|is|are|was|were|am|can|could|would|will|shall|should|may|might|have|has|had|isn't|aren't|"
    r"don't|doesn't|didn't|can't|couldn't|won't|shouldn't)\s+(?:i|you|we|they|he|she|it|there|this|that|these|"
    r"those|the|my|your|his|her|our|their|anyone|anybody|someone|somebody)\b"
    r"|(?:any idea|i wonder|i'm wondering|i am wondering|wondering|guess)\b"
    r"|tell me (?:what|which|when|where|why|how|who|if|whether)\b)",
    re.IGNORECASE,
)
_QUESTION_ZH = re.compile(
    r"吗[。.!！~～\s]*$|你呢[。.!！~～\s]*$|(?:哪里|哪儿|哪个|哪家|什么|谁|几点|多少|怎么样)[呢啊呀]?[。.\s]*$|"
    r"^(?:请问|难道|是否|是不是|能不能|可不可以|可以帮|要不要|有没有|会不会|谁|什么|哪|为什么|怎么|怎样|几|多少|何时|我是不是|我该|我应该|我想知道|我想问|想问一下)|(?:你知道|你觉得|你猜|告诉我).{0,8}"
    r"(?:什么|哪|谁|怎么|为什么|多少)"
)
_UNREAL_EN = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|pretend|hypothetically|what if|let's say|let us say|say i|"
    r"in case|i wish|if only|were i|as though|as if|in theory|in a parallel|for example|e\.g|would have|"
    r"could have|might have|should have)\b",
    re.IGNORECASE,
)
_UNREAL_ZH = re.compile(
    r"如果|假如|假设|要是|倘若|若是|万一|比如说|打个比方|除非|的话|本来可以|要不是|但愿|幻想|设想|想象一下"
)
_REPORTED_EN = re.compile(
    r"\b(?:(?i:he|she|they|it|someone|somebody|everyone|people)|(?i:my|his|her|their|the|our|your)\s+"
    r"(?:\w+\s+){1,2}?|[A-Z]\w+\s+)\s*(?:says?|said|tells?|told|thinks?|thought|claims?|claimed|asks?|asked|believes?|"
    r"believed|wrote|writes|mentioned|mentions|replied|heard|texted|emailed)\b|"
    r"\b(?i:according to|i (?:heard|read|was told))\b"
)
_REPORTED_ZH = re.compile(
    r"(?:他们?|她们?|它|有人|别人|大家|人家|据|听|我(?:的)?(?:朋友|同事|老板|妈妈|爸爸|老婆|老公|妻子|丈夫|哥哥|弟弟|姐姐|妹妹|"
    r"同学|邻居|客户|领导|经理)|[小老]\w)(?:说|讲|告诉|认为|觉得|声称|以为|问)|据悉|传闻|网上说"
)
_HEDGE_EN = re.compile(
    r"\b(?:i think|i guess|i suppose|i believe|i assume|i feel like|maybe|perhaps|probably|possibly|"
    r"presumably|apparently|supposedly|seemingly|it seems|i'm not (?:quite |entirely |really |so )?sure|"
    r"i am not sure|not sure|might|may be|could be|sort of|kind of|kinda|if i remember|as far as i know|"
    r"afaik|more or less|roughly)\b",
    re.IGNORECASE,
)
_HEDGE_ZH = re.compile(
    r"可能|也许|大概|或许|应该是|应该在|好像|似乎|我觉得|我猜|估计|说不定|不太确定|不确定|印象中|大约|差不多|貌似|恐怕"
)
# A title in quotation marks is part of a statement; somebody's words are not.
_QUOTE = re.compile(r"[\"“«][^\"”»]{20,}[\"”»]|[“「『][^”」』]{9,}[”」』]|[:：]\s*[\"“「『]")


def sentences(text: str) -> list[str]:
    """The sentences of a text in their order, without white space around them."""
    return [piece for piece in (part.strip() for part in _END.split(text)) if piece]


def is_statement(sentence: str) -> bool:
    """Whether a sentence states something in its speaker's own name: no question, nothing supposed, nothing
    that others said, no quotation, no table, and short enough to be one statement."""
    sentence = sentence.replace("’", "'")
    if len(sentence) > LONGEST or sentence.rstrip(')）"”』」 ').endswith(("?", "？")):
        return False
    if _GAP.search(sentence) or _QUOTE.search(sentence):
        return False
    if _QUESTION_EN.match(sentence) or _UNREAL_EN.search(sentence) or _REPORTED_EN.search(sentence):
        return False
    return not (
        _CJK.search(sentence)
        and (_QUESTION_ZH.search(sentence) or _UNREAL_ZH.search(sentence) or _REPORTED_ZH.search(sentence))
    )


def is_hedged(sentence: str) -> bool:
    """Whether the speaker marks it as a guess."""
    return bool(_HEDGE_EN.search(sentence) or _HEDGE_ZH.search(sentence))
