"""Five facts in five scripts with a question for each, and what is about something else."""

FACTS = {
    "English": [
        "My sister Clara moved to Lisbon in March and works as a nurse",
        "The garage door code was changed after the burglary",
        "Our dentist is Dr. Whitfield on Mill Lane",
        "The cat is allergic to chicken, feed her fish only",
        "I prefer aisle seats on long flights",
    ],
    "Chinese": [
        "我妹妹小敏三月搬到了成都，在医院当护士",
        "车库的门锁密码在失窃之后换过了",
        "我们的牙医是建国路的王大夫",
        "猫对鸡肉过敏，只能喂鱼",
        "长途飞行我喜欢坐靠过道的座位",
    ],
    "Japanese": [
        "妹のさくらは三月に札幌へ引っ越し、看護師として働いている",
        "ガレージの暗証番号は泥棒に入られた後に変えた",
        "かかりつけの歯医者は駅前の田中先生です",
        "猫は鶏肉アレルギーなので魚だけをあげること",
        "長距離便では通路側の席が好きです",
    ],
    "Korean": [
        "여동생 지은이는 삼월에 부산으로 이사해서 간호사로 일한다",
        "차고 비밀번호는 도둑이 든 뒤에 바꿨다",
        "우리 치과 의사는 역 앞의 김 선생님이다",
        "고양이는 닭고기 알레르기가 있어서 생선만 먹인다",
        "장거리 비행에서는 통로 쪽 좌석을 좋아한다",
    ],
    "Arabic": [
        "أختي ليلى انتقلت إلى مراكش في مارس وتعمل ممرضة",
        "تم تغيير رمز باب المرآب بعد السرقة",
        "طبيب أسناننا هو الدكتور حسن في شارع النيل",
        "القطة لديها حساسية من الدجاج، أطعموها السمك فقط",
        "أفضل المقعد بجانب الممر في الرحلات الطويلة",
    ],
}
QUESTIONS = {
    "English": [
        "Where does my sister live?",
        "When was the garage code changed?",
        "Who is our dentist?",
        "What may the cat not eat?",
        "Which seat do I want on a plane?",
    ],
    "Chinese": [
        "我妹妹住在哪里？",
        "车库密码什么时候换的？",
        "我们的牙医是谁？",
        "猫不能吃什么？",
        "坐飞机我想要什么座位？",
    ],
    "Japanese": [
        "妹はどこに住んでいますか",
        "ガレージの暗証番号はいつ変えた？",
        "歯医者は誰ですか",
        "猫が食べられないものは？",
        "飛行機ではどの席がいい？",
    ],
    "Korean": [
        "여동생은 어디에 살아?",
        "차고 비밀번호는 언제 바꿨어?",
        "우리 치과 의사는 누구야?",
        "고양이가 먹으면 안 되는 것은?",
        "비행기에서 어떤 좌석을 원해?",
    ],
    "Arabic": [
        "أين تعيش أختي؟",
        "متى تم تغيير رمز المرآب؟",
        "من هو طبيب أسناننا؟",
        "ماذا لا تأكل القطة؟",
        "أي مقعد أريد في الطائرة؟",
    ],
}
OTHERS = [
    "Rain is expected on the coast tomorrow",
    "The printer on the second floor is out of toner",
    "The recipe needs two eggs and a cup of flour",
    "明天下午三点有部门会议",
    "来週の予算会議は中止になった",
    "다음 주 회의는 취소되었다",
    "الطابعة في الطابق الثاني معطلة",
]
