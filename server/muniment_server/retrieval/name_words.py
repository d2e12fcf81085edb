"""Words that tell names (naming.py): titles, what only people do, and what is mistaken for a name."""

from muniment_server.retrieval.scripts import simplified

_ABBREVIATED = "mr mrs ms mx dr prof st rev gen capt lt sgt sen rep gov hr fr"
_TITLES = """
herr herrn frau doktor professor onkel tante oma opa monsieur madame mademoiselle señor señora don doña signor
signora
"""
_PERSON_DOES = """
said says told tells asked asks likes loves lives lived moved married wants wanted prefers hates thinks knows
works worked studies studied speaks owns adopted bought visited joined graduated
"""
_OPENERS = """
absolutely actually additionally after again all also always anything anyway awesome before besides bye
check congrats congratulations cool definitely especially even every everyone finally gonna good great
haha hello hey hi hmm hopefully however keep last lately later look looks maybe never next nice no nope
not now oh ok okay one perhaps plus really recently same see since sometimes soon sorry sounds such sure
talk tell thank thanks that today together tomorrow totally well when wow yeah yep yes yesterday yet yup
"""
_HELPERS = "will may my an can do just so"
_SINGULAR = "and is was has had did does said says told likes"
_GERMAN = """
der das und ist nicht ein eine einen einem einer eines ich wir sie ihr auf für von zu zum zur im dem den
des mit wo wer wie hat habe haben mag bei nach über auch aber oder sind mein meine meinen meiner meinem
sein seine seinen seiner ihre ihren unser unsere kein keine keinen wurde wird werden kann wohnt heißt
hieß gern gerne sehr noch schon dass daß wenn weil als aus vom beim ins ans
"""
_PERHAPS_GERMAN = "die was war am an so in es er hat man will"
_NO_JAPANESE_NAME = """
皆 母 父 兄 姉 客 奥 娘 息子 店員 医者 先生 神 王 孫 嫁 婿 業者 隣 看護師 運転手 患者 学生 警官
大家 職人 会社員 姫 若 坊
"""
_NO_KOREAN_NAME = """
선생 사장 부장 과장 팀장 교수 박사 의사 원장 손 고객 부모 하느 하나 스 누 형 아버 어머 기사 회원 따
며느 우리 그 저 이 아저 날 솜 마음 글 맵 불 말 담당자 환자 대표 이사 실장 작가 감독 선배 후배 도련
임금 별 달 해
"""

ABBREVIATED = frozenset(_ABBREVIATED.split())
TITLES = ABBREVIATED | frozenset(_TITLES.split())
#: Only a person does this, and does it in the words behind a name.
PERSON_DOES = frozenset(_PERSON_DOES.split())
#: What sentences begin with, and no name.
OPENERS = frozenset(_OPENERS.split())
#: Names that begin a question as well: "Will Ann come?", "My dog", "May I".
HELPERS = frozenset(_HELPERS.split())
#: What makes a name of one of those at the beginning.
SINGULAR = frozenset(_SINGULAR.split())
#: German words that are not English, and those that may be either.
GERMAN = frozenset(_GERMAN.split())
PERHAPS_GERMAN = frozenset(_PERHAPS_GERMAN.split())
NO_JAPANESE_NAME = frozenset(simplified(_NO_JAPANESE_NAME).split())
NO_KOREAN_NAME = frozenset(_NO_KOREAN_NAME.split())

#: Chinese family names, and characters of given names.
FAMILY = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈"
    "曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔"
    "康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚"
)
FAMILIES_OF_TWO = (
    "欧阳",
    "司马",
    "上官",
    "诸葛",
    "东方",
    "皇甫",
    "尉迟",
    "公孙",
    "慕容",
    "司徒",
    "令狐",
    "夏侯",
)
GIVEN = (
    "明红芳敏丽强军华刚娟霞婷静燕玲萍雪梅兰英杰涛超伟勇磊鹏宇浩欣怡佳琪颖慧琳倩"
    "莉洁晶晨阳辉斌波宁亮帅凤美云兵峰平飞建国志文海晓小春秀玉珍桂荣娜艳梦瑶雨轩"
    "涵博睿思诗雅依彤妍菲岚翔凯龙健康俊嘉豪哲然航瑞芸薇蓉琴"
)
CHINESE_TITLE = (
    "先生|女士|小姐|太太|老师|教授|医生|大夫|护士|经理|总监|主任|校长|同学|阿姨|叔叔"
    "|师傅|爷爷|奶奶|律师|警官|工程师"
)
KOREAN_OFFICE = "선생|사장|부장|과장|대리|팀장|교수|박사|의사|원장"
ARABIC_TITLE = "سيدة?|سيّدة?|دكتورة?|أستاذة?|استاذة?|شيخ|حاجة?|آنسة|مهندسة?|عم|خال"
