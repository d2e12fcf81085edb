# ruff: noqa: E501
"""English wordings; how they are read is said in `wording.py`."""

from collections.abc import Sequence

from .wording import Wording, english

_GAP1 = r"(?:\w+ )?"
_GAP2 = r"(?:\w+ ){0,2}?"
_GAP3 = r"(?:\w+ ){0,3}?"
_GAP5 = r"(?:\w+ ){0,5}?"

_IGNORE = (
    r"(?<!don t )(?<!doesn t )(?<!didn t )(?<!won t )(?<!can t )(?<!couldn t )(?<!shouldn t )(?<!not )(?<!never )"
    r"(?<!cannot )(?:ignore|ignoring|disregard|disregarding|override|overrule"
    r"|bypass|neglect|discard|overlook|set aside|throw away|throw out|stop following|stop obeying|abandon|void"
    r"|dismiss|cancel|erase|delete|forget|forget about|pay no attention to|no longer follow|no longer obey"
    r"|do not follow|don t follow|do not obey|don t obey|not bound by|no longer bound by|revoke|repeal|withdraw|rescind|suspend|lift|annul|replace)"
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
    english(
        "OVERRIDE",
        "ignore ignoring disregard disregarding override overrule bypass neglect discard overlook set throw"
        " stop abandon void dismiss cancel erase delete forget pay longer follow obey bound skip revoke repeal withdraw rescind suspend lift annul replace cancelled canceled"
        " obsolete invalid superseded apply valid irrelevant replaced revoked suspended overridden",
        "instruction instructions prompt prompts rule rules directive directives guideline guidelines command"
        " commands order orders context constraint constraints restriction restrictions policy policies"
        " programming training guardrail guardrails safeguard safeguards directions message messages guidance"
        " configuration conversation chat document page text instead safety security content ethical ethics moderation told given taught instructed trained said came above before precedes stands written"
        " rules",
        rf"{_IGNORE} {_GAP3}{_EARLIER} {_GAP2}{_RULES}",
        rf"{_IGNORE} {_GAP2}{_RULES} {_GAP2}(?:above|before|earlier|so far|previously|given earlier|up to now)",
        rf"{_IGNORE} (?:all|any|every|each|your|those|these|all of|any of|all the|all your|any of your|all of your"
        rf"|the|whatever) {_GAP1}{_RULES_OF_A_MODEL}",
        rf"{_IGNORE} (?:all |any )?(?:of )?your {_GAP1}(?:instructions|prompts|rules|directives|guidelines|constraints|restrictions"
        r"|training|policies|ethics|alignment|boundaries)",
        rf"{_IGNORE} {_GAP3}{_RULES} (?:that |which |you ){1,3}(?:was|were|have been|had been|have|got|received|follow|know)",
        rf"{_IGNORE} (?:everything|anything|all) (?:in|of|from|within|about) (?:this|the|your|our) (?:conversation|context|prompt|chat"
        r"|document|page|message|text)",
        r"(?:ignore|disregard|forget|skip) (?:all |everything |anything |what is )?(?:of )?(?:the )?(?:text |content |message )?above",
        r"(?:ignore|disregard|forget) (?:that|this|it|the user|the users? s? ?(?:question|request|message)|the question|the request)"
        r" (?:and |but )?(?:\w+ ){0,2}?instead",
        rf"{_IGNORE} {_GAP1}(?:safety|system|security|content|ethical|ethics|moderation) (?:rule|rules|guidelines|policy|policies|filter|filters"
        r"|instructions|restrictions|checks|prompt|message|constraints|measures)",
        rf"{_IGNORE} (?:the |any |all )?{_GAP1}{_RULES} (?:that |which )?(?:the |your )?(?:developer|developers|system|admin|creator|creators|company"
        r"|vendor|operator) (?:set|gave|wrote|made|has|have|put|imposed)",
        rf"{_IGNORE} (?:everything|anything|all|whatever|what) (?:that )?(?:you (?:were|was|have been|had been|ve been"
        r"|are) (?:told|given|taught|instructed|trained)|was said|came before|i said before|above|before this|stands"
        r" above|precedes this|written above)",
        rf"(?:above|previous|prior|earlier|original|old|existing) {_GAP1}(?:instructions|prompts|directives|guidelines|rules|constraints"
        rf"|restrictions|policies|safeguards|orders) {_GAP3}(?:are|is|have been|has been|were|no longer|do not|don t) {_GAP1}(?:void|cancelled|canceled|obsolete|invalid|superseded|apply"
        r"|valid|irrelevant|replaced|revoked|suspended|overridden)",
        rf"(?:instructions|prompts|directives|guidelines|rules|constraints|restrictions|policies) (?:above|before this|given above|given earlier"
        rf"|so far) {_GAP2}(?:are|is|have been|were|no longer) {_GAP1}(?:void|cancelled|canceled|obsolete|invalid|superseded|apply|valid"
        r"|irrelevant|replaced|revoked|suspended|overridden)",
    ),
    english(
        "NEW_ROLE",
        "you your as system admin administrator developer root security act behave become be play impersonate respond answer pretend enter enable activate switch turn new updated revised real"
        " actual following important note message notice attention instruction instructions",
        "unrestricted unfiltered evil malicious unethical amoral rogue hostile task goal mission objective purpose role identity override jailbroken dan mode root admin administrator uncensored assistant bound"
        " limited restricted restrictions limits rules instruction instructions prompt directive directives"
        " orders message ai llm model agent chatbot ais agents assistants models",
        rf"(?:you are (?:now|from now on|no longer)|from now on you are|as of now you are) {_GAP5}(?:unrestricted|unfiltered|jailbroken|dan|developer mode|root|admin"
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
        r"(?:new|updated|revised) (?:system )?(?:instruction|instructions|prompt|directive|directives|orders) (?:always|never|you"
        r"|only|ignore|from now on|answer|say|recommend|do not|don t|disregard|act|send|call)",
        rf"(?:you are|act as|act like|behave as|behave like|become|be|play|impersonate) (?:now )?(?:an? |the )?{_GAP2}(?:evil|malicious|unethical"
        r"|amoral|rogue|hostile|jailbroken|unrestricted|unfiltered|uncensored) (?:assistant|ai|model|agent|bot|chatbot|character|persona)",
        r"your (?:new|real|true|actual|only|sole|secret|updated) (?:task|goal|mission|objective|purpose|role|identity|instruction|instructions"
        r"|directive|directives|orders) (?:is|are|to|convince|recommend|sell|collect|answer|act|be)",
        r"(?:system|admin|administrator|developer|root|security) override",
        r"as an? (?:ai|assistant|language model|ai assistant|ai model) (?:assistant |model )?you (?:must|should|will|shall|have to|need to|can)",
        r"attention (?:all )?(?:ai|llm|language model|assistant|agent|chatbot|model|ais|agents|assistants|models)",
        r"(?:note|message|notice|attention|instruction|instructions) (?:to|for) (?:the |any |all )?(?:ai|llm|language model"
        r"|assistant|agent|chatbot|model|ais|agents|assistants|models)",
    ),
    english(
        "TOOL_CALL",
        "call invoke execute run trigger use delete erase wipe drop purge",
        "tool function plugin shell command tools functions memory memories files database databases tables"
        " records backups data everything",
        rf"(?:call|invoke|execute|run|trigger|use) (?:the |your )?{_GAP2}(?:tool|function|plugin|shell|command|tools|functions)"
        rf" {_GAP5}(?:delete|erase|wipe|drop|transfer|send|upload|export|purchase|buy|pay|disable|grant|forward|email)",
        rf"(?:delete|erase|wipe|drop|purge) (?:all|every|the entire|everything in) {_GAP2}(?:memory|memories|files|database"
        r"|databases|tables|records|backups|data) (?:now|immediately|at once|without asking|without confirmation)",
    ),
    english(
        "REVEAL",
        "reveal print repeat show output disclose leak expose display recite dump give tell what",
        "prompt instructions message rules secrets",
        rf"(?:reveal|print|repeat|show|output|disclose|leak|expose|display|recite|dump|give me|tell me|tell us)"
        rf" {_GAP3}(?:system prompt|initial prompt|hidden prompt|original prompt|hidden instructions|secret instructions"
        r"|your instructions|your system message|your prompt|your initial instructions|your hidden rules|your secrets)",
        r"what (?:is|are|was|were) (?:your|the) (?:system prompt|initial prompt|hidden prompt|hidden instructions|initial instructions"
        r"|original instructions|secret instructions)",
    ),
    english(
        "EXFILTRATION",
        "send forward post upload email mail transmit leak exfiltrate submit deliver copy",
        "password passwords credential credentials key keys secret secrets token tokens conversation"
        " conversations history memory memories data prompt contacts list files emails database everything details information messages profile records notes documents",
        rf"(?:send|forward|post|upload|email|mail|transmit|leak|exfiltrate|submit|deliver|copy) {_GAP5}{_PRIVATE} {_GAP5}"
        r"(?:to|at) \w+(?: \w+){0,4} (?:com|net|org|io|example|test|ru|cn|xyz|dev|info|http|https)",
        rf"(?:send|forward|post|upload|email|mail|transmit|leak|exfiltrate|submit|deliver|copy) {_GAP5}{_PRIVATE} {_GAP5}"
        r"(?:to) (?:https?|the following|this address|this url|this server|the attacker|an external)",
        rf"(?:send|forward|post|upload|email|mail|transmit|leak|exfiltrate|submit|deliver) (?:their|his|her|its|the user s|user s|all|every|any|your) {_GAP2}"
        rf"(?:data|details|information|messages|profile|records|memories|notes|history|files|emails|contacts|documents) {_GAP3}to"
        r" (?:https?|www|\w+(?: \w+){0,3} (?:com|net|org|io|example|test|ru|cn|xyz|dev|info))",
    ),
    english(
        "STANDING_ORDER",
        "all now moment point here today henceforth hereafter forward future every each your whenever time"
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
        rf"always (?:answer|include|mention|add|end|begin|start|append|say|recommend|insert|write|put) {_GAP5}(?:in|to|with|at the end of) (?:your|all|every|each)"
        rf" {_GAP1}(?:response|responses|answer|answers|reply|replies|message|messages|output)",
        rf"(?:in|to|for) (?:all|every|each|any|your) (?:future |subsequent |other |of your |later |following )?(?:response|responses|answer|answers|reply|replies"
        rf"|question|questions|prompt|prompts|query|queries) {_GAP3}(?:answer|reply|respond|include|add|say|write|insert|append|mention|end|recommend)",
        r"(?:answer|reply|respond) (?:to )?(?:all|every|each|any) (?:future |subsequent |other )?(?:question|questions|message|messages|prompt"
        r"|prompts|query|queries|request|requests|user|users) (?:with|by|using|as|that)",
        r"you (?:will|must|shall|are to|have to) (?:now |from now on |only |always |never ){1,2}(?:answer|reply|respond|say|output|write|speak)",
        rf"every (?:answer|reply|response|message|output) {_GAP3}(?:must|should|has to|shall|needs to|will) (?:always )?(?:end|begin|start|include|contain|mention|say|recommend)",
        rf"you must (?:always|never|only) {_GAP1}{_SAY}",
        r"always (?:answer|reply|respond|say|claim|insist|recommend) (?:with|that|using)",
        rf"(?:the assistant|the ai|the agent|the model|the chatbot|this assistant|all assistants|every agent) (?:must|should"
        rf"|shall|will|has to) (?:now |always |never |only ){{0,2}}{_SAY}",
            ),
    english(
        "CONCEALMENT",
        "not t never without keep hide don",
        "instruction instructions note message prompt memory text command order",
        r"(?:do not|don t|never) (?:mention|reveal|tell|disclose|share|show|repeat|discuss) (?:to anyone )?(?:this|these|the)"
        r" (?:instruction|instructions|note|message|prompt|memory|text|command|order)s?",
        r"(?:keep|hide) (?:this|these) (?:instruction|instructions|note|message|prompt|memory|text|command|order)s? (?:secret|hidden|from)",
    ),
    english(
        "OVERRIDE",
        "overrides override supersedes supersede takes take has priority obey follow treat your rule rules disable turn switch"
        " deactivate remove guidelines",
        "everything all any your system previous earlier other instruction command prompt order filters filter moderation"
        " safeguards guardrails rules guidelines policy policies restrictions apply matter count",
        rf"(?:overrides|override|supersedes|supersede|takes precedence over|take precedence over|takes priority over|has priority over"
        rf"|has higher priority than|(?:obey|follow) this {_GAP1}over) {_GAP2}(?:everything|all|any|your|system|previous|earlier|other)"
        r" (?:you|your|other|earlier|previous|prior|system|rules|instructions|directions|guidelines|prompt|policies|messages|of)",
        rf"treat (?:this|the following|these) {_GAP2}as (?:an? |the )?{_GAP1}(?:instruction|instructions|command|prompt|order)",
        rf"your {_GAP1}(?:rules|guidelines|policies|restrictions|safeguards|filters|instructions) {_GAP3}(?:do not|don t|no longer) (?:apply|matter"
        r"|count)",
        r"(?:rule|rules|guidelines|policies|restrictions) (?:you were given|you have|no longer apply to (?:this|the) user)",
        r"(?:disable|turn off|switch off|deactivate|remove) (?:your |all |the |any )?(?:safety|content|moderation|ethical|ethics|security)"
        r" (?:filter|filters|moderation|safeguards|guardrails|checks|restrictions|measures)",
        r"(?:disable|turn off|switch off|deactivate) (?:all |your )(?:filters|safeguards|guardrails|moderation|restrictions)",
        rf"set (?:your|all|the) {_GAP2}(?:guidelines|rules|instructions|policies) aside",
    ),
    english(
        "TRIGGER",
        "read reading see seeing recall recalling recalled retrieve retrieving retrieved find finding",
        "this these memory note text message line",
        rf"(?:if|when|once|upon|as soon as|after|whenever) (?:you )?(?:are )?(?:read|reading|see|seeing|recall|recalling|retrieve|retrieving|find"
        rf"|finding) (?:this|these) {_GAP5}(?:send|transfer|delete|execute|reply|respond|email|mail|call|say|ignore|pay|tell|grant|print"
        r"|output|stop|forward|run|approve|answer|recommend)",
        rf"(?:once|when|whenever|as soon as|if|after) this {_GAP1}(?:is|gets|was) (?:read|recalled|retrieved|seen|found|loaded) {_GAP3}(?:send|transfer"
        r"|delete|execute|reply|respond|email|mail|call|say|ignore|pay|tell|grant|print|output|stop|forward|run|approve|answer)",
    ),
    english(
        "NEW_ROLE",
        "obey comply follow i this your",
        "me my next this these everything developer creator administrator admin owner master",
        r"(?:must|have to|will|shall|should) (?:now |always )?(?:obey|comply with|follow) (?:me|my|the next|this|these|everything i)",
        r"i am your (?:developer|creator|administrator|admin|owner|master)",
        r"this is your (?:developer|creator|administrator|admin|system administrator)",
    ),
    english(
        "STANDING_ORDER",
        "only nothing just your begin start make be remember forget",
        "with but except be begin start reply answer response recommend mention include add end tell say",
        r"(?:respond|reply|answer|say|output|print|write) (?:only|nothing|just|exclusively) (?:with|but|except)",
        r"your (?:next |first |only )?(?:answer|reply|response|output) (?:must|has to|shall|can only|will) be",
        r"(?:begin|start|end|finish) (?:your|every|each|all) (?:answer|answers|reply|replies|response|responses) with",
        r"in your (?:next|first|every|following) (?:answer|reply|response|message)",
        rf"(?:make sure|be sure|remember|do not forget|don t forget) to (?:always |also |never )?(?:recommend|mention|include|add|end|tell|say|promote)"
        rf" {_GAP5}(?:users|the user|each|every|your|all) (?:that|of|reply|answer|response|in|about|answers|replies|responses)",
    ),
    english(
        "TOOL_CALL",
        "grant give assign approve skip",
        "admin administrator root full elevated owner request requests refund refunds transaction transactions verification"
        " authentication approval checks",
        rf"(?:grant|give|assign) (?:the |this )?(?:user|account|sender|me|him|her) {_GAP2}(?:admin|administrator|root|full|elevated|owner) (?:right"
        r"|rights|privileges|access|permission|permissions)",
        rf"approve (?:every|all|any) (?:request|requests|refund|refunds|transaction|transactions) {_GAP5}without",
        r"skip (?:the |all |any )?(?:verification|authentication|approval|checks) (?:for|of|and)",
    ),
    english(
        "REVEAL",
        "show tell dump list give reveal print leak share export",
        "memories memory secrets users user people customers",
        rf"(?:show|tell|dump|list|give|reveal|print|leak|share|export) {_GAP5}(?:memories|memory|secrets|records|data) {_GAP2}(?:of|about|from) (?:every|all|other"
        r"|another|any) (?:user|users|people|person|customer|customers|tenant|tenants|subject|subjects)",
        rf"(?:show|tell|dump|list|give|reveal|print|leak|share|export) {_GAP3}(?:other|another|all) (?:user|users|people|customers|person) (?:s )?{_GAP1}(?:memories"
        r"|memory|secrets|records|data)",
    ),
    english(
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
