"""Whether a question asks for nothing but a time: "What did I do yesterday?", 我昨天做了什么？

Besides the time it has words that every such question has: those for doing, happening and telling, and those
that only tie a sentence together. Any other word is something that is asked for, and so is a name.
"""

import re

from muniment_server.retrieval.analysis import normalize, without_accents
from muniment_server.retrieval.scripts import simplified
from muniment_server.retrieval.stopwords import CHINESE, ENGLISH
from muniment_server.retrieval.times.arabic import fold
from muniment_server.retrieval.times.spans import alternatives

_ENGLISH = """
activities activity agenda all anything around back before after between calendar chat chatted day days
discuss discussed doings done during else entries entry event events ever everything experience experienced
from get give go goes going gone got happen happened happening happenings happens hear heard know last
lately list maybe me mean memories memory mention mentioned month months news notes occur occurred occurring
past place plan planned planning plans please recall recently record recorded records remember remind said
say schedule scheduled show since something spend spent started summarise summarize summary take taken talk
talked tell thing things think time times told took until up us wanted week weekend weeks went write wrote
year years s d ll m re ve t early late beginning start end mid middle evening morning afternoon night noon
date monday tuesday wednesday thursday friday saturday sunday christmas
"""
_GERMAN = """
was wer wie wo wann welche welcher welches ich du er sie es wir ihr man mir mich mein meine dir uns
unser habe hab hast hat haben hatte hatten bin bist ist sind war waren warst wurde wird werden werde
gibt gab es getan gemacht tun tue tut mache machst macht machte machten passiert passierte geschah
geschehen geschieht ereignet ereignete ereignisse ereignis los vor von bis am im in an zu zum zur der
die das den dem des ein eine und oder auch so alles etwas denn eigentlich noch mal bitte sag sage sagte
gesagt erzähl erzähle erzählt gesprochen geredet steht stand an plan pläne geplant termine vorhaben seit
ab nach zwischen tag tage woche abend früh nacht anfang mitte ende gewesen gegangen ging erlebt zeig
zeige fand statt montag dienstag mittwoch donnerstag freitag samstag sonntag
"""
_SPANISH = """
qué que cuál cuáles cómo dónde cuándo yo tú él ella nosotros me mi mis te tu tus nos se lo la el los las
le un una unos unas de del en a al por para con y e o u es era fue fui fuimos eran está estaba estuve
estuvo estuvimos estaban hay hubo había hice hiciste hizo hicimos hicieron hago haces hace hacemos hacer
haciendo haré harás hará haremos pasó pasaba pasa pasará ocurrió ocurre sucedió sucede dije dijo dijiste
dijimos digo decir hablé habló hablamos hablar conté contó cuéntame dime dame muéstrame recuerda
recuérdame recuerdo he has ha hemos han tengo tienes tiene tenemos tuve tuvo tuvimos tenía tendré plan
planes planeado planeados agenda evento eventos actividad actividades cosa cosas todo todos algo día
días semana semanas mes año mañana tarde noche durante entre desde hasta antes después sobre más
principios principio mediados finales final fin ir voy vamos iba iré
"""
_FRENCH = """
qu que quoi quel quelle quels quelles comment où quand est ce c j je tu il elle on nous vous me m moi
mon ma mes te t ton ta tes nos notre se s le la l les un une des de d du en à au aux par pour avec et ou
a ai as avons avez ont eu été était étais étaient étions suis es sommes êtes sont sera seront y avait
aura fait fais faisait faisais faire faisons ferai fera ferons passé passe passait passera arrivé arrive
arrivait dit dis dire disait parlé parle parler raconté raconte rappelle rappeler souviens souvenir
montre montrer donne prévu prévus prévue prévues plan plans projets agenda événement événements
évènements activité activités chose choses tout tous toute quelque jour jours semaine semaines mois
année soir matin nuit midi après pendant entre depuis jusqu avant durant cours début fin milieu ci là
allé allée vais va allons irai qui
"""
_VIETNAMESE = """
tôi tao mình tớ em anh chị bạn ta chúng đã đang sẽ vừa có không gì nào đâu ai là làm được việc chuyện
xảy ra diễn nói kể về cho biết nhớ lại ghi chép lịch kế hoạch dự định sự kiện hoạt động những các cái
điều và với ở vào trong từ đến tới khoảng lúc khi ngày tuần tháng năm sáng trưa chiều tối đêm hôm đầu
giữa cuối mà thì hãy nghe trò đi thế sao nhỉ vậy toi lam gi da co xay chuyen ghé trước sau
"""
_ARABIC = """
ماذا ما ماهو هو هي الذي التي أين كيف هل أنا أنت نحن فعلت فعلنا فعل أفعل نفعل سأفعل سنفعل عملت عملنا حدث
حدثت يحدث سيحدث جرى حصل قلت قلنا قال أخبرني ذكر تذكر تحدثنا تكلمنا كان كانت كنت كنا لدي لدينا عندي عندنا
خططي خطط خطة خططت مواعيد مواعيدي موعد أحداث الأحداث أنشطة شيء أشياء كل في من إلى على عن مع و أو يوم
اليوم أسبوع شهر سنة عام خلال بين منذ حتى قبل بعد صباح مساء ليلة ليلا صباحا لي لنا أعطني به بها
"""
_THAI = """
ฉัน ผม ดิฉัน เรา คุณ เธอ ทำ อะไร บ้าง ไหม มั้ย หรือ เกิด ขึ้น เหตุการณ์ พูด คุย เรื่อง เล่า บอก จำ ได้
ไป ไหน ที่ อยู่ มี แผน กิจกรรม นัด จะ กำลัง แล้ว ใน ตอน เมื่อ ช่วง ของ ให้ กับ และ ก็ คือ เป็น ว่า มา
วัน เช้า สาย บ่าย เย็น ค่ำ คืน ต้น กลาง ปลาย ระหว่าง ตั้งแต่ ถึง จนถึง ก่อน หลัง หลังจาก ครับ ค่ะ คะ นะ
สิ่ง ทั้งหมด อย่าง ไร นั้น
"""
_CHINESE = """
做 干 干嘛 干吗 发生 事 事儿 哪些 事情 有什么 去 去了 哪儿 说 聊 聊了 讲 讲了 谈 提到 提 告诉 记得 记录
活动 安排 计划 打算 日程 怎样 样 过 都 里 中 间 之间 期间 内 底 初 那 那天 当天 这天 当时 来 了 所有
一些 些 关于 日 号 天 周 月 年 早上 晚上 下午 上午 中午 经历 回忆 列出 总结 看看 给 下 一 还 吧 时 曾
咱们 咱 俺 以来 开始
"""
_JAPANESE = """
何 なに なん 私 僕 俺 わたし たち ぼく あなた 出来事 予定 事 こと しました してい した して する します
していました していた やった やりました ありました ありましたか あった ある あります 起きた 起きました
起こった 起こりました ました ます でした です だった いた いました どこ どう どんな 教えて ください
下さい 話した 話しました 話し 言った 言いました 行った 行きました まで から には では とは った の は が を
に で と も か へ ね よ て た 夜 朝 昼 間 覚えて る い 午前 午後
"""
_KOREAN = re.compile(
    r"(?:나|내|저|제|우리|너|당신)(?:는|은|가|이|의|를)?|(?:뭐|뭘|뭔|무엇|무슨|어떤|어디|일|것|일정|계획|사건|활동)"
    r"(?:이|가|을|를|은|는|에|들|들이|야|지|니|예요|에요|였어|인가요|했\w*|하\w*)?|했\w*|하였\w*|하고\w*|한|할|해\w*|있었\w*|있는\w*|있\w*|일어났\w*|일어난|"
    r"생겼\w*|발생\w*|말했\w*|말한|얘기\w*|이야기\w*|알려\w*|기억\w*|보냈\w*|지냈\w*|어땠\w*|어떻게|갔\w*|간|모든|모두|거야|건지"
    r"|에|에는|엔|에서|의|은|는|이|가|을|를|도|부터|까지|동안|쯤|사이|사이에|날|밤|밤에|아침|아침에|저녁|저녁에|이후|이전|전|후|그때|때"
)
_ACCENTED = tuple(frozenset(words.split()) for words in (_SPANISH, _FRENCH))
# What says nothing in one language is a name or a word in another.
_LANGUAGES = (
    frozenset((_ENGLISH + _GERMAN).split()) | ENGLISH,
    *(words | set(map(without_accents, words)) for words in _ACCENTED),
    frozenset(_VIETNAMESE.split()),
    frozenset(map(fold, _ARABIC.split())),
)
_UNSPACED = re.compile(
    alternatives(
        {*_CHINESE.split(), *map(simplified, _JAPANESE.split()), *CHINESE, *normalize(_THAI).split()}
    )
)
# The hour is not read; it says no more than the day does.
_CLOCK = re.compile(
    r"\b(?:at |um |a las? |à |lúc )?"
    r"(?:\d{1,2}:\d\d ?(?:am|pm|uhr)?|\d{1,2} ?(?:am|pm|uhr|o'clock|h\d\d|giờ))\b"
    r"|\b(?:at|um|a las?) \d{1,2}\b|[\d一二两三四五六七八九十]{1,3}[点时](?:半|\d{1,2}分)?"
    r"|(?:오전|오후)? ?\d{1,2}시(?: ?\d{1,2}분| ?반)?(?:에|쯤)?"
)
# Of Thai nothing may be left, its marks included.
_WORD = re.compile(r"(?:[^\W_]|[\u0e31-\u0e4e\u064b-\u0652])+")
_HANGUL = re.compile(r"[가-힣]")


def says_nothing(rest: str) -> bool:
    """Whether what a question says beside its times asks for nothing.

    rest: of `read_times`, in small letters and simplified characters.
    """
    words = [fold(word) for word in _WORD.findall(_UNSPACED.sub(" ", _CLOCK.sub(" ", rest)))]
    korean = [word for word in words if _HANGUL.search(word)]
    if korean:
        words = [word for word in words if not _HANGUL.search(word)]
    return all(map(_KOREAN.fullmatch, korean)) and any(known.issuperset(words) for known in _LANGUAGES)
