# ruff: noqa: E501
"""Wordings by which a text addresses the model that will read it, in English and Chinese.

English patterns run over words alone: lower case, one space between them, fillers gone. Chinese ones run
over the text without white space and punctuation. So whatever stands between the words of an instruction
(dots, dashes, line breaks, emoji, "um") does not hide it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    """A family of wordings. `weak`: ordinary people say such things too; two of them count as strong.

    begins, tells: words of which each must have one in a text that the pattern can match; to look at sets of
    words is much quicker than to search.
    """

    rule: str
    pattern: re.Pattern[str]
    weak: bool = False
    begins: frozenset[str] = frozenset()
    tells: frozenset[str] = frozenset()


def _english(rule: str, begins: str, tells: str, *alternatives: str, weak: bool = False) -> Wording:
    pattern = re.compile("|".join(rf"\b(?:{one})\b" for one in alternatives))
    return Wording(rule, pattern, weak, frozenset(begins.split()), frozenset(tells.split()))


def _chinese(rule: str, *alternatives: str, weak: bool = False) -> Wording:
    return Wording(rule, re.compile("|".join(alternatives)), weak)


_GAP1 = r"(?:\w+ )?"
_GAP2 = r"(?:\w+ ){0,2}?"
_GAP3 = r"(?:\w+ ){0,3}?"
_GAP5 = r"(?:\w+ ){0,5}?"

_IGNORE = (
    r"(?<!t )(?<!not )(?<!never )(?<!cannot )(?<!to not )(?:ignore|ignoring|disregard|disregarding|override|overrule"
    r"|bypass|neglect|discard|overlook|set aside|throw away|throw out|stop following|stop obeying|abandon|void"
    r"|dismiss|cancel|erase|delete|forget|forget about|pay no attention to|no longer follow|no longer obey"
    r"|do not follow|don t follow|do not obey|don t obey|not bound by|no longer bound by)"
)
_EARLIER = (
    r"(?:previous|previously|prior|earlier|above|preceding|foregoing|former|past|existing|current|initial|original"
    r"|preceded|before)"
)
_RULES = (
    r"(?:instruction|instructions|prompt|prompts|rule|rules|directive|directives|guideline|guidelines|command"
    r"|commands|order|orders|context|constraint|constraints|restriction|restrictions|policy|policies|programming"
    r"|training|guardrail|guardrails|safeguard|safeguards|directions|message|messages|guidance|configuration)"
)
_RULES_OF_A_MODEL = (
    r"(?:instruction|instructions|prompt|prompts|directive|directives|system message|system messages"
    r"|system rules|safety rules|safety guidelines|safety policies|guardrail|guardrails|safeguard|safeguards"
    r"|programming|restrictions|content policy|content policies|system prompt)"
)
_SAY = (
    r"(?:answer|reply|respond|say|state|claim|recommend|mention|include|insert|append|add|promote|end every|begin"
    r" every|start every|end all|tell|suggest|advise|output|write|print|quote|cite|link to|refer)"
)
_WHO = r"(?:please |you |must |should |shall |will |always |only |have to |need to |are to |the |assistant |ai |model |never |just )"
_PRIVATE = (
    r"(?:password|passwords|credential|credentials|api key|api keys|secret|secrets|token|tokens|conversation"
    r"|conversations|chat history|memory|memories|personal data|private data|system prompt|contacts|contact list"
    r"|files|emails|database|customer data|user data|everything you know)"
)

ENGLISH: Sequence[Wording] = (
    _english(
        "OVERRIDE",
        "ignore ignoring disregard disregarding override overrule bypass neglect discard overlook set throw"
        " stop abandon void dismiss cancel erase delete forget pay longer follow obey bound cancelled canceled"
        " obsolete invalid superseded apply valid irrelevant replaced revoked suspended overridden",
        "instruction instructions prompt prompts rule rules directive directives guideline guidelines command"
        " commands order orders context constraint constraints restriction restrictions policy policies"
        " programming training guardrail guardrails safeguard safeguards directions message messages guidance"
        " configuration told given taught instructed trained said came above before precedes stands written"
        " rules",
        rf"{_IGNORE} {_GAP3}{_EARLIER} {_GAP2}{_RULES}",
        rf"{_IGNORE} {_GAP2}{_RULES} {_GAP2}(?:above|before|earlier|so far|previously|given earlier|up to now)",
        rf"{_IGNORE} (?:all|any|every|each|your|those|these|all of|any of|all the|all your|any of your|all of your"
        rf"|the|whatever) {_GAP1}{_RULES_OF_A_MODEL}",
        rf"{_IGNORE} (?:everything|anything|all|whatever|what) (?:that )?(?:you (?:were|was|have been|had been|ve been"
        r"|are) (?:told|given|taught|instructed|trained)|was said|came before|i said before|above|before this|stands"
        r" above|precedes this|written above)",
        rf"(?:above|previous|prior|earlier|original|old) {_GAP1}(?:instructions|prompts|directives|guidelines|rules)"
        rf" {_GAP3}(?:are|is|no longer|do not|don t) {_GAP1}(?:void|cancelled|canceled|obsolete|invalid|superseded|apply"
        r"|valid|irrelevant|replaced|revoked|suspended|overridden)",
    ),
    _english(
        "NEW_ROLE",
        "you act behave respond answer pretend enter enable activate switch turn new updated revised real"
        " actual following important note message notice attention instruction instructions",
        "unrestricted unfiltered jailbroken dan mode root admin administrator uncensored assistant bound"
        " limited restricted restrictions limits rules instruction instructions prompt directive directives"
        " orders message ai llm model agent chatbot ais agents assistants models",
        rf"you are (?:now|from now on|no longer) {_GAP5}(?:unrestricted|unfiltered|jailbroken|dan|developer mode|root|admin"
        r"|administrator|uncensored|an assistant|bound|limited|restricted|without restrictions|without limits"
        r"|without any restrictions)",
        rf"(?:act|behave|respond|answer|pretend) (?:as|like|to be|as if|as though) {_GAP5}(?:unrestricted|unfiltered"
        r"|jailbroken|dan|developer mode|root|administrator|uncensored|no restrictions|no rules|no limits"
        r"|the system administrator)",
        rf"(?:enter|enable|activate|switch to|you are in|turn on) {_GAP1}(?:developer mode|debug mode|god mode|dan mode"
        r"|jailbreak mode|admin mode|maintenance mode|unrestricted mode)",
        rf"(?:new|updated|revised|real|actual|following|important) (?:system )?(?:instruction|instructions|prompt|directive"
        rf"|directives|orders|system message) {_GAP2}(?:are|is|follow|follows|apply|for you|for the assistant"
        r"|for the ai|from the developer|from the admin|from the administrator|begin|begins|override|overrides|replace"
        r"|replaces|supersede|supersedes|take priority|takes priority)",
        r"(?:note|message|notice|attention|instruction|instructions) (?:to|for) (?:the |any |all )?(?:ai|llm|language model"
        r"|assistant|agent|chatbot|model|ais|agents|assistants|models)",
    ),
    _english(
        "TOOL_CALL",
        "call invoke execute run trigger use delete erase wipe drop purge",
        "tool function plugin shell command tools functions memory memories files database databases tables"
        " records backups data everything",
        rf"(?:call|invoke|execute|run|trigger|use) (?:the |your )?{_GAP2}(?:tool|function|plugin|shell|command|tools|functions)"
        rf" {_GAP5}(?:delete|erase|wipe|drop|transfer|send|upload|export|purchase|buy|pay|disable|grant|forward|email)",
        rf"(?:delete|erase|wipe|drop|purge) (?:all|every|the entire|everything in) {_GAP2}(?:memory|memories|files|database"
        r"|databases|tables|records|backups|data) (?:now|immediately|at once|without asking|without confirmation)",
    ),
    _english(
        "REVEAL",
        "reveal print repeat show output disclose leak expose display recite dump give tell",
        "prompt instructions message rules secrets",
        rf"(?:reveal|print|repeat|show|output|disclose|leak|expose|display|recite|dump|give me|tell me|tell us)"
        rf" {_GAP3}(?:system prompt|initial prompt|hidden prompt|original prompt|hidden instructions|secret instructions"
        r"|your instructions|your system message|your prompt|your initial instructions|your hidden rules|your secrets)",
    ),
    _english(
        "EXFILTRATION",
        "send forward post upload email mail transmit leak exfiltrate submit deliver copy",
        "password passwords credential credentials key keys secret secrets token tokens conversation"
        " conversations history memory memories data prompt contacts list files emails database everything",
        rf"(?:send|forward|post|upload|email|mail|transmit|leak|exfiltrate|submit|deliver|copy) {_GAP5}{_PRIVATE} {_GAP5}"
        r"(?:to|at) \w+(?: \w+){0,4} (?:com|net|org|io|example|test|ru|cn|xyz|dev|info|http|https)",
        rf"(?:send|forward|post|upload|email|mail|transmit|leak|exfiltrate|submit|deliver|copy) {_GAP5}{_PRIVATE} {_GAP5}"
        r"(?:to) (?:https?|the following|this address|this url|this server|the attacker|an external)",
    ),
    _english(
        "STANDING_ORDER",
        "now moment point here today henceforth hereafter forward future every each your whenever time"
        " anytime ever matter when if always must assistant ai agent model chatbot assistants",
        "answer reply respond say state claim recommend mention include insert append add promote end begin"
        " start tell suggest advise output write print quote cite link refer insist direct send",
        rf"(?:from now on|from this moment on|from this point on|from this point forward|from here on|from today on"
        rf"|henceforth|hereafter|going forward|in all future|in every future|for all future|in every|in each"
        rf"|in all your) {_GAP3}{_WHO}{{0,4}}{_SAY} (?!in |briefly|politely|me in |to me in|shortly|concisely|formally)",
        rf"(?:whenever|every time|each time|any time|anytime|if ever|no matter what|when|if) (?:the user|a user|users"
        rf"|someone|somebody|anyone|anybody|people|you are|they|you) {_GAP5}(?:ask|asks|asked|mention|mentions|inquire|inquires|want|wants"
        rf"|say|says|query|queries|question|questions|request|requests) {_GAP5}{_WHO}{{0,4}}(?:answer|reply|respond|say|state|claim"
        r"|recommend|tell them|tell him|tell her|insist|suggest|promote|direct them|send them)",
        rf"you must (?:always|never|only) {_GAP1}{_SAY}",
        r"always (?:answer|reply|respond|say|claim|insist|recommend) (?:with|that|using)",
        rf"(?:the assistant|the ai|the agent|the model|the chatbot|this assistant|all assistants|every agent) (?:must|should"
        rf"|shall|will|has to) (?:now |always |never |only ){{0,2}}{_SAY}",
            ),
    _english(
        "CONCEALMENT",
        "not t never without keep hide don",
        "user users human owner",
        rf"(?:do not|don t|never|without) {_GAP1}(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify"
        rf"|notifying|alert|alerting|let|disclose|disclosing|asking|ask) {_GAP3}(?:the user|users|this to the user"
        r"|the human|the owner)",
        rf"(?:keep|hide) this {_GAP2}(?:secret|hidden) from the user",
        weak=True,
    ),
)  # fmt: skip

_ZH_IGNORE = (
    r"(?<![不别別没沒未勿莫])(?<!不[要能会會可该該])(?<!别再)(?:忽略|无视|無視|忽视|忽視|不要理会|不要理會|不用理会|不必理会|不理会"
    r"|别管|別管|不用管|不要管|忘记|忘記|忘掉|忘了|抛弃|拋棄|抛开|拋開|丢弃|丟棄|跳过|跳過|绕过|繞過|不要遵守|不必遵守|不用遵守"
    r"|停止遵守|不再遵守|推翻|覆盖|覆蓋|清除|作废|作廢|违反|違反|不要遵循|不再遵循|停止遵循|取消|废除|摒弃|解除)"
)
_ZH_EARLIER = (
    r"(?:之前|先前|以前|此前|前面|上面|以上|上述|前述|先頭|原有|原先|原来|原來|原始|所有|全部|一切|任何|系统|系統|你的|你被|既有"
    r"|现有|現有|最初|预设|預設|开头|初始|早先|从前|您的|给你|給你)"
)
_ZH_RULES = (
    r"(?:指令|指示|提示词|提示詞|提示语|系统提示|系統提示|提示|命令|规则|規則|设定|設定|约束|約束|限制|安全策略|准则|準則"
    r"|系统消息|系統訊息|上下文|指引|指导|指導|守则|守則|规定|規定|要求|训练|對話設定|说明|說明|人设)"
)
_ZH_SAY = r"(?:回答|答复|答覆|回复|回覆|推荐|推薦|声称|聲稱|宣称|宣稱|说成|告诉|告訴|坚称|建议|建議|强调|附上|插入|加上|输出|輸出|引导|引導)"
_ZH_PRIVATE = (
    r"(?:密码|密碼|密钥|密鑰|秘钥|凭证|憑證|令牌|口令|聊天记录|聊天記錄|对话记录|對話記錄|记忆|記憶|个人信息|個人資料|个人资料"
    r"|系统提示|系統提示|隐私|隱私|通讯录|数据库|資料庫|客户资料|用户资料|用户数据|邮件内容)"
)

CHINESE: Sequence[Wording] = (
    _chinese(
        "OVERRIDE",
        rf"{_ZH_IGNORE}.{{0,8}}?{_ZH_EARLIER}.{{0,6}}?{_ZH_RULES}",
        rf"{_ZH_IGNORE}(?:你|您)?(?:被|所)?(?:给|告知|设置|設置|设定|訓練|训练)?.{{0,4}}?(?:系统提示|系統提示|提示词|提示詞|系统指令|系統指令"
        r"|安全限制|安全规则|安全規則|内容政策|系统设定|系統設定)",
        r"(?:之前|先前|以前|上面|以上|上述|原有|原来)的?.{0,4}?(?:指令|指示|提示词|提示詞|命令|设定|設定|规则|規則).{0,6}?(?:作废|作廢"
        r"|失效|无效|無效|不再有效|取消|不算数|不再适用)",
    ),
    _chinese(
        "NEW_ROLE",
        r"(?:你现在是|你現在是|从现在起你是|從現在起你是|从现在开始你是|從現在開始你是|你不再是|假装你是|假裝你是|假设你是|请扮演|請扮演)"
        r".{0,14}?(?:无限制|無限制|不受.{0,6}限制|没有.{0,4}限制|沒有.{0,4}限制|越狱|越獄|开发者模式|開發者模式|管理员|管理員|超级用户|root"
        r"|dan|助手|不受约束|任何规则)",
        r"(?:进入|進入|启用|啟用|开启|開啟|切换到|切換到|激活|打开)(?:了)?(?:开发者|開發者|调试|調試|上帝|越狱|越獄|无限制|無限制|管理员|維護|维护员)模式",
        r"(?:新的|最新|以下是|更新后的|真正的)(?:系统|系統)(?:指令|提示词?|提示詞?|命令)",
        r"(?:致|给|給|写给|所有)(?:各?位)?(?:ai|人工智能|人工智慧|语言模型|語言模型|大模型|智能体|智能體|聊天机器人)(?:助手|助理|模型)?的?"
        r"(?:指令|说明|說明|指示|提示|通知|消息|命令|注意|必须|必須)",
    ),
    _chinese(
        "TOOL_CALL",
        r"(?:调用|調用|执行|執行|运行|運行|触发|觸發|使用).{0,8}?(?:工具|函数|函數|命令|脚本|腳本|接口|插件).{0,14}?(?:删除|刪除|清空|发送|發送"
        r"|转账|轉賬|轉帳|导出|導出|上传|上傳|转发|購買|购买|支付|关闭|授权)",
        r"(?:立即|马上|馬上|立刻|直接)(?:删除|刪除|清空|抹掉)(?:所有|全部|一切|整个).{0,6}?(?:记忆|記憶|文件|数据|數據|资料|資料|备份|记录)",
    ),
    _chinese(
        "REVEAL",
        r"(?:输出|輸出|打印|显示|顯示|告诉我|告訴我|泄露|洩露|透露|复述|複述|重复一遍|说出|說出|给我看|公开|展示)(?:一下|出来)?.{0,6}?(?:系统提示"
        r"|系統提示|提示词|提示詞|初始指令|隐藏指令|隱藏指令|内部指令|你的指令|你的设定|你的規則|隐藏的规则)",
    ),
    _chinese(
        "EXFILTRATION",
        rf"(?:把|将|將|请把|並將|并将).{{0,16}}?{_ZH_PRIVATE}.{{0,12}}?(?:发送|發送|发给|發給|发到|發到|传给|傳給|传到|上传|上傳|转发|轉發|提交|泄露"
        r"|寄给|寄到|同步到|导出到).{0,3}?(?:到|给|給|至)?.{0,6}?(?:http|www|[a-z0-9]+com|[a-z0-9]+net|[a-z0-9]+org|[a-z0-9]+example|攻击者"
        r"|外部|以下|下面|下列|指定的)",
    ),
    _chinese(
        "STANDING_ORDER",
        r"(?:从现在开始|從現在開始|从现在起|從現在起|从今以后|從今以後|从今往后|今后|今後|以后|以後|往后|此后|从此|從此)"
        rf"(?:(?!我|他|她|咱|同事|客户|公司|会议|每次会|每周|每月|用户喜欢).){{0,16}}?(?:一律|都要|都|必须|必須|务必|務必|总是|總是|始终|始終|只能|只许"
        rf"|只准|请|請)(?!用.{{1,5}}(?:回答|回复|答复|回覆))(?:要|得|以)?.{{0,2}}?{_ZH_SAY}",
        r"(?:每当|每當|每次|凡是|凡有|无论|無論|不管|只要|如果|当|當)(?:(?!我).){0,4}?(?:用户|用戶|使用者|有人|别人|別人|任何人|对方|谁|誰|他人).{0,12}?"
        rf"(?:问|問|提到|提及|询问|詢問|咨询|谈到|说起|請求|请求|查询).{{0,12}}?(?:都|一律|必须|必須|务必|总是|總是|就|请|請|要)(?:要|得|必须|只能|一律)?.{{0,3}}?{_ZH_SAY}",
        rf"(?:你|您|助手|模型|ai|机器人|智能体)(?:必须|必須|务必|務必|只能|应当|一定要|永远|永遠)(?:要|都|总是|一直|始终)?.{{0,4}}?{_ZH_SAY}",
            ),
    _chinese(
        "CONCEALMENT",
        r"(?:不要|别|別|不得|切勿|无需|無需|不必|不许|不能|绝不|千万别|勿)(?:让|讓|告诉|告訴|告知|通知|提醒|透露给|惊动|询问)(?:用户|用戶|使用者|主人|人类)",
        weak=True,
    ),
)  # fmt: skip
