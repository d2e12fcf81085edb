"""Own sentences with which relevance, weights and the default threshold were set.

Each person's memories stand in one scope. `answers` maps a question to the memory (by index) that
answers it; `absent` are questions that nothing in the scope answers.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One scope with questions about it."""

    name: str
    memories: tuple[str, ...]
    answers: dict[str, int]
    absent: tuple[str, ...] = field(default=())


COOKING = Case(
    "cooking",
    (
        "The user bakes sourdough bread every Saturday morning.",
        "User prefers olive oil over butter for frying vegetables.",
        "The risotto needs to be stirred for eighteen minutes.",
        "User's grandmother taught her how to make pierogi.",
        "Roast the garlic at 200 degrees before adding it to the soup.",
        "The user owns a cast iron pan and a pressure cooker.",
        "User dislikes cilantro and too much salt in salads.",
        "For the curry, toast cumin and coriander seeds first.",
        "The family eats pasta with tomato sauce on Tuesdays.",
        "User wants to learn how to ferment cabbage into kimchi.",
        "The pancake batter should rest for half an hour.",
        "The user bought a new chef's knife made in Japan.",
        "User burns caramel often because the stove is too hot.",
        "Add lemon zest to the cheesecake filling.",
        "The user's favourite soup is pumpkin with ginger.",
        "User cooks rice in the ratio one to one and a half.",
        "Marinate the chicken in yoghurt overnight.",
        "The user grows basil and thyme on the balcony.",
        "User's oven has a broken thermostat.",
        "The user makes strawberry jam every June.",
    ),
    {
        "which herbs does she grow": 17,
        "what bread does the user bake": 0,
        "how long should the pancake mix stand": 10,
        "does she like coriander leaves": 6,
        "what is wrong with the oven": 18,
        "how do I prepare the chicken": 16,
        "pumpkin soup": 14,
    },
    (
        "orbit of Triton",
        "who won the football match yesterday",
        "password of the staging database",
        "train timetable to Geneva",
        "which programming language does the team use",
        "what is the user's blood type",
        "tax return deadline",
        "quarterly revenue forecast",
    ),
)

HOUSEHOLD = Case(
    "household",
    (
        "The user's cat is called Miso.",
        "The user lives in Lisbon, in the Alfama quarter.",
        "User works as a nurse at the children's hospital.",
        "The user is allergic to peanuts.",
        "User's daughter Emma starts school in September.",
        "The user rides a bicycle to work when it does not rain.",
        "User prefers to be contacted by e-mail, never by phone.",
        "The flight to Oslo leaves on 12 March at 7:40.",
        "The locker combination is 9083-KD.",
        "User plays the cello in an amateur orchestra.",
        "User's brother Tom moved to Canada last year.",
        "The user pays 840 euros of rent a month.",
    ),
    {
        "what is my cat called": 0,
        "where do I live": 1,
        "what is my job": 2,
        "can I eat a snickers bar": 3,
        "when does my child go to school": 4,
        "how should we get in touch with the user": 6,
        "when is my flight": 7,
        "how do I open the locker": 8,
        "9083-KD": 8,
        "which instrument do I play": 9,
        "who lives in Canada": 10,
        "how much is my rent": 11,
    },
    (
        "orbit of Triton",
        "how do I restart the Kubernetes cluster",
        "recipe for lentil soup",
        "chemical formula of sulfuric acid",
        "interest rate of the central bank",
        "rules of cricket",
    ),
)

TEAM = Case(
    "team",
    (
        "We decided to migrate the billing service from MongoDB to PostgreSQL.",
        "Deployments are frozen between 20 December and 3 January.",
        "The staging cluster runs in the Frankfurt region.",
        "Priya owns the authentication service.",
        "All commits need a review by at least one other engineer.",
        "The team prefers Rust for new command line tools.",
        "The outage on 4 May was caused by an expired TLS certificate.",
        "Stand-up is at 9:30 every morning on Zoom.",
        "Customer Northwind reported slow search queries.",
        "The on-call rotation changes every Monday at noon.",
        "Feature flags are stored in the config repository.",
        "Error budget for the API is 0.1 percent a month.",
    ),
    {
        "which database will billing use": 0,
        "can we deploy on Christmas": 1,
        "where is staging hosted": 2,
        "who is responsible for login": 3,
        "why was there downtime in May": 6,
        "when is the daily meeting": 7,
        "which client complained about performance": 8,
        "language for CLI tools": 5,
    },
    (
        "orbit of Triton",
        "what does the user like to eat for breakfast",
        "name of the user's dog",
        "holiday destination in Greece",
        "symptoms of the flu",
        "who painted the Mona Lisa",
    ),
)

CHINESE = Case(
    "chinese",
    (
        "用户养了一只名叫小白的猫。",
        "用户住在杭州西湖区。",
        "用户对花生过敏。",
        "周三和李工在杭州讨论仓库搬迁。",
        "NAS备份脚本凌晨失败了。",
        "用户喜欢喝乌龙茶,不喜欢咖啡。",
        "用户的女儿今年九月上小学。",
        "用户每天骑自行车上班。",
        "团队决定把订单系统迁移到PostgreSQL。",
        "用户在儿童医院当护士。",
        "去上海的高铁是下午三点二十分。",
        "用户希望用邮件联系,不要打电话。",
        "用户的房租是每月四千五百元。",
        "用户周末学习拉大提琴。",
    ),
    {
        "我的猫叫什么名字": 0,
        "我住在哪里": 1,
        "我能吃花生酱吗": 2,
        "仓库搬迁": 3,
        "备份脚本": 4,
        "我爱喝什么": 5,
        "孩子什么时候上学": 6,
        "我怎么去上班": 7,
        "订单系统用什么数据库": 8,
        "我的职业是什么": 9,
        "火车几点出发": 10,
        "怎么联系用户": 11,
        "房租多少钱": 12,
        "我会什么乐器": 13,
    },
    (
        "海卫一的轨道",
        "世界杯冠军是谁",
        "硫酸的化学式",
        "怎么修理汽车发动机",
        "唐朝的开国皇帝",
        "红烧肉的做法",
    ),
)

CROSS_LINGUAL = Case(
    "cross-lingual",
    CHINESE.memories[:8] + HOUSEHOLD.memories[4:],
    {
        "what is my cat called": 0,
        "in which city do I live": 1,
        "what am I allergic to": 2,
        "大提琴": 13,
        "我的航班是什么时候": 11,
        "储物柜密码": 12,
    },
    ("orbit of Triton", "海卫一的轨道", "rules of cricket"),
)

OTHER = Case(
    "other languages",
    (
        "Der Nutzer wohnt in Hamburg-Altona.",
        "Die Katze des Nutzers heißt Mohrle.",
        "来週の出張で抹茶のお土産を買う",
        "부산 창고 비밀번호는 매주 바뀐다",
        "ฉันแพ้ถั่วลิสง",
        "L'utilisateur préfère les réunions le matin.",
        "المستخدم يحب القهوة بدون سكر",
        "Tôi thích uống cà phê sữa đá",
        "Пользователь учится играть на гитаре.",
        "El usuario trabaja como abogado en Sevilla.",
    ),
    {
        "Wo wohne ich?": 0,
        "Wie heißt meine Katze?": 1,
        "お土産": 2,
        "비밀번호": 3,
        "ถั่วลิสง": 4,
        "quand planifier les réunions": 5,
        "كيف يشرب المستخدم القهوة": 6,
        "cà phê": 7,
        "на каком инструменте играет пользователь": 8,
        "¿cuál es mi profesión?": 9,
    },
    ("orbit of Triton", "Umlaufbahn des Triton", "тригонометрия", "トリトンの軌道"),
)

CASES = (COOKING, HOUSEHOLD, TEAM, CHINESE, CROSS_LINGUAL, OTHER)
