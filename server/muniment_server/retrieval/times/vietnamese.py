"""Times in Vietnamese: the words for them.

What is something else as well is no time alone: "mai" (a name), "sau" and "trước" (behind, in front), "năm"
(five), "thứ hai" (the second). Without tone marks only what nobody takes for another word is read.
"""

from muniment_server.retrieval.times import tables as t
from muniment_server.retrieval.times.spans import FEW, WINTER

LANGUAGE = t.language(
    {
        t.DAY: {
            -2: "hôm kia, hom kia",
            -1: "hôm qua, hom qua, đêm qua, tối qua, sáng qua, chiều qua",
            0: "hôm nay, hom nay, sáng nay, trưa nay, chiều nay, tối nay, đêm nay",
            1: "ngày mai, ngay mai, sáng mai, chiều mai, tối mai, trưa mai, đêm mai",
            2: "ngày kia, ngày mốt",
        },
        t.SURE_MONTH: {1: "tháng giêng", 12: "tháng chạp"},
        t.WEEKDAY: {
            0: "thứ hai, thứ 2",
            1: "thứ ba, thứ 3",
            2: "thứ tư, thứ 4",
            3: "thứ năm, thứ 5",
            4: "thứ sáu, thứ 6",
            5: "thứ bảy, thứ bẩy, thứ 7",
        },
        t.SURE_WEEKDAY: {6: "chủ nhật, chúa nhật"},
        t.UNIT: {"weekend": "cuối tuần"},
        t.WEEK: "tuần, tuần lễ",
        t.MONTHS: "tháng",
        t.DAYS: "ngày, mùng, mồng",
        t.FIVE_OR_YEAR: "năm",
        t.NUMBER: {
            1: "một",
            2: "hai",
            3: "ba",
            4: "bốn, tư",
            6: "sáu",
            7: "bảy, bẩy",
            8: "tám",
            9: "chín",
            10: "mười",
            11: "mười một",
            12: "mười hai",
            13: "mười ba",
            14: "mười bốn",
            16: "mười sáu",
            17: "mười bảy",
            18: "mười tám",
            19: "mười chín",
            15: "mười lăm",
            20: "hai mươi",
            21: "hai mươi mốt",
            25: "hai mươi lăm",
            30: "ba mươi",
            0.5: "nửa",
            FEW: "vài, mấy, một vài, vài ba, dăm",
        },
        t.HALF: "rưỡi",
        t.BEHIND: {0: "này, nay", 1: "sau, kế tiếp", -1: "ngoái, vừa rồi, rồi", -2: "trước nữa"},
        t.BEHIND_AGO: {-1: "trước"},
        t.BEHIND_WITHIN: {-1: "qua, vừa qua", 1: "tới, sắp tới"},
        t.WITHIN: {-1: "gần đây, gần nhất, trở lại đây", 1: "tiếp theo"},
        t.AGO_BEFORE: {-1: "cách đây, cách nay, trước đây"},
        t.AGO_BEHIND: {1: "nữa"},
        t.NEAR: {
            ("week", -1): "tuan truoc",
            ("week", 0): "tuan nay",
            ("week", 1): "tuan sau",
            ("month", -1): "thang truoc",
            ("month", 0): "thang nay",
            ("month", 1): "thang sau",
            ("year", -1): "nam ngoai",
            ("year", -2): "năm kia",
        },
        t.SEASON: {3: "mùa xuân", 6: "mùa hè, mùa hạ, hè", 9: "mùa thu", WINTER: "mùa đông"},
        t.QUARTER: "quý",
        t.SURE_HOLIDAY: {
            (12, 25, 1): "giáng sinh",
            (1, 1, 1): "tết dương lịch",
            (9, 2, 1): "lễ quốc khánh, ngày quốc khánh",
        },
        t.OF: "của",
        t.IN: "trong, vào, từ, kể từ, cuối, đầu",
        t.ON: "hôm, vào hôm, vào sáng, vào chiều, vào tối, sáng, chiều, tối, trưa",
        t.UNTIL: "đến, cho đến, cho tới",
        t.BETWEEN: "giữa",
        t.AND: "và",
        t.THINGS: "đồng, nghìn, triệu, đô, người, lần, km, mét, trang, từ",
        t.EVERY: "mỗi, hàng, hằng, các, lần, người",
        t.OTHER: (
            "trước khi, sau khi, trước mắt, trước mặt, sau đó, sau này, trước đó, lần thứ hai, "
            "lần thứ ba, lần thứ tư, người thứ hai, người thứ ba, ngày nay"
        ),
    }
)
