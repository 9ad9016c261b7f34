#!/usr/bin/env python3
"""Writes strings.jsonl: the texts on which every tokenizer is compared with its reference. Same bytes on every run."""
import json
import pathlib
import random

SENTENCES = {
    "english": [
        "The quick brown fox jumps over the lazy dog, and it doesn't care who's watching.",
        "It's 3 o'clock; they've said we'll be there by 10:30 (if I'd known, I'm sure you're right).",
        "In 1969 NASA landed on the Moon, 384,400 km away, with 74KB of ROM & 4KB of RAM.",
        "HELLO WORLD! Isn't 'quoted' text “fun”? — yes… it’s ‘fun’.",
        "E-mail me at first.last+tag@example.co.uk or see https://example.com/a/b?c=d&e=f#g.",
        "Don'T SHOUT'S AT'RE WE'LL I'VE I'D I'M", "rock'n'roll o'er 'tis '90s 'S's",
    ],
    "hindi": [
        "यह एक परीक्षण वाक्य है, जिसमें संयुक्ताक्षर और मात्राएँ हैं।", "नमस्ते दुनिया! क्या हाल है? १२३४५६७८९०",
        "भारत की राजधानी नई दिल्ली है और यहाँ की जनसंख्या बहुत अधिक है।", "क़ख़ग़ज़ड़ढ़फ़ य़ ऩ ऱ ऴ",
    ],
    "swedish": [
        "Räksmörgås är gott, sa flygaren på ön i ån, å i åa ä e ö.", "Sju sjösjuka sjömän sköttes av sju sköna sjuksköterskor.",
        "Hur mår du idag? Jag mår bra, tack – och själv?", "ÅÄÖ åäö A\u030angstro\u0308m Ångström Café Cafe\u0301",
    ],
    "danish": [
        "Rødgrød med fløde, æbleskiver og smørrebrød på Ærø.", "Quizdeltagerne spiste jordbær med fløde, mens cirkusklovnen Walther spillede på xylofon.",
        "Hvad hedder du? Jeg hedder Søren, og jeg bor i Aarhus/Århus.",
    ],
    "chinese": [
        "你好，世界！今天天气怎么样？", "我们正在测试分词器的正确性，包括中文标点符号：“引号”、（括号）和《书名》。", "人工智能2024年發展迅速，繁體字也要測試。",
        "𠮷野家𠀋𡃁", "一二三四五六七八九十百千万亿〇零壹贰叁",
    ],
    "arabic": [
        "مرحبا بالعالم! كيف حالك اليوم؟", "اللُّغَةُ العَرَبِيَّةُ جَمِيلَةٌ، وَفِيهَا تَشْكِيلٌ كَثِيرٌ.", "الأرقام ١٢٣٤٥٦٧٨٩٠ و ۱۲۳۴۵", "ﷺ ﻻ ﷲ لا إله",
    ],
    "others": [
        "こんにちは、世界！カタカナとひらがなと漢字。ｶﾀｶﾅ", "안녕하세요 세계! 한국어 문장을 토큰화합니다.", "Привет, мир! Съешь ещё этих мягких французских булок.",
        "Γειά σου Κόσμε! Ὀδυσσεύς ΣΊΣΥΦΟΣ", "שלום עולם! מה שלומך הַיּוֹם?", "สวัสดีชาวโลก การทดสอบตัวตัดคำ", "İstanbul'da ığdır'ın ŞEKERİ çok güzel.",
        "Việt Nam đất nước tươi đẹp, tiếng Việt có dấu.", "Zażółć gęślą jaźń. Příliš žluťoučký kůň úpěl.", "தமிழ் வாக்கியம் சோதனை", "ქართული ენა ᲥᲐᲠᲗᲣᲚᲘ",
        "አማርኛ ጽሑፍ", "ខ្មែរ ភាសា", "Հայերեն լեզու", "ﬁne ﬂow oﬃce ﬀ ﬆ ß ẞ ŉ ǆ ǅ Ǆ", "ſ'ſ a'ſ K Å Ω",
    ],
    "emoji": [
        "👩‍👩‍👧‍👦 family, 👍🏽 thumbs, 🏳️‍🌈 flag, 🇸🇪🇩🇰🇮🇳 flags", "😀😃😄😁😆😅🤣😂🙂🙃", "❤️‍🔥 ☕️ ✈️ 1️⃣ #️⃣ ©️ ™", "🦙.cpp 🧑🏿‍🚀🚀 🫠🫨🪿", "¯\\_(ツ)_/¯ (╯°□°)╯︵ ┻━┻ ʕ•ᴥ•ʔ",
    ],
    "code": [
        "def f(x):\n    return x**2  # square\n\n\nclass A:\n\tpass\n", "int main(void) {\n\tprintf(\"%d\\n\", 0x1F);\n\treturn 0;\n}\n",
        "for (let i = 0; i < n; ++i) { a[i] = b[i] ?? c?.d; }", "SELECT * FROM t WHERE a='b''c' AND d>=1.5e-3;", "<div class=\"x\"><b>bold</b> &amp; <i>it</i></div>",
        "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\": \"\\u00e9\"}}", "#include <vector>\nstd::vector<int> v{1,2,3};", "$ git commit -m \"fix: a/b\" && cd ../..",
        "x = a if b else c\r\n\r\ny = [i for i in range(10)]\r\n", "\\frac{a}{b} \\int_0^\\infty e^{-x^2}dx", "|a|b|\n|---|---|\n|1|2|", "foo_bar fooBar FooBar FOO_BAR HTTPServer2Go", "//////// ====== ------ ....... !!!???",
    ],
    "spaces": [
        "   leading", "trailing   ", "  both  ", "a  b   c    d     e", "\ttab\t\ttabs\t\t\t", "a\n\n\nb\n \n c", " \n", "\n ", "\r\n\r\n", "a \r\n b", "\u00a0nbsp\u00a0\u00a0x",
        "\u3000全角　空白\u3000", "a\u2003b\u2009c\u200ad\u202fe\u205ff\u1680g", "line\u2028sep\u2029para", "zero\u200bwidth\u200cjoin\u200der\ufeffbom", "\u0085nel\u0085x", "\x0bvt\x0cff", " ", "  ", "   ", "", "a b\tc\nd", "\t\n \t\n", " \u00a0 \u2003 ",
        "\x00nul\x01ctl\x1f\x7f", "▁a▁▁b ▁ c", "soft\u00adhyphen", "\u180emvs",
    ],
    "numbers": [
        "0", "12", "123", "1234", "12345", "123456789012345678901234567890", "1,234,567.89", "3.14159", "1e-10", "0xDEADBEEF", "½ ⅓ ² ³ Ⅷ ① ㊿ ৪", "a1b22c333d4444", "2024-01-31T23:59:59Z", "+46 (0)8-123 45 67", "100%", "$5 €5 £5 ¥5 ₹5",
    ],
    "odd": [
        "a\u0300\u0301\u0302\u0303b", "\u0301start", "e\u0301 é", "ḍ̇ ḍ̇", "한글 한글", "\ufffd\ufffd", "\U0010ffff\ue000", "\u0378unassigned", "a\u20ddb", "‮right to left‬", "Zalgo: Z̷̢a̵l̴g̶o̸",
    ],
    "specials": [
        "<|im_start|>user\nhi<|im_end|>", "<|endoftext|>", "<s>hello</s>", "<|begin_of_text|>x<|eot_id|>", "<bos>a<eos><start_of_turn>user\nb<end_of_turn>", "[INST] x [/INST]", "</think> a <tool_call>{}</tool_call>", "<|im_start", "|im_end|>", "<<|im_end|>>", "<unk>", "[CLS] a [SEP] [MASK]",
    ],
}

ALPHABETS = [
    "abcXYZ 's't'LL'Re\n\r\t0123456789.,!?-_/()[]{}<>$+=^~|`\"",
    "aA bB \n\r\t\u00a0\u3000\u2003",
    "éÉß中文文字あア가क्षिमّا👍🏽‍ñ o\u0300\u0301 Ǆǅǆ ʰʱ ªº",
    "0123456789٠١٢½²Ⅷ ,.\n",
    "/\n\r/ !?.. ==--  ++ a",
    "'sStTmMdDlLrReEvV ſ\u0301",
]


# Characters of Unicode 10 that the class tables of the reference's WordPiece (Unicode 8) do not know.
TOO_NEW = {c: None for c in [0x9FC, 0x9FD, 0x9FE, *range(0xAFA, 0xB00)]}


def random_strings(rng):
    for alphabet in ALPHABETS:
        for _ in range(150):
            yield "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 40)))
    everything = [s for group in SENTENCES.values() for s in group]
    for _ in range(1500):  # pieces of sentences in several scripts, glued at any character
        parts = []
        for _ in range(rng.randint(1, 4)):
            s = rng.choice(everything)
            a = rng.randint(0, len(s))
            parts.append(s[a:a + rng.randint(1, 30)])
        yield rng.choice(["", " ", "\n", "  ", ""]).join(parts)
    for _ in range(400):  # any assigned-looking code points of the lower planes
        yield "".join(chr(rng.choice([rng.randint(0x20, 0x7e), rng.randint(0xa0, 0x2af), rng.randint(0x370, 0x5ff), rng.randint(0x900, 0xd7f),
                                      rng.randint(0x1e00, 0x1fff), rng.randint(0x2000, 0x2bff), rng.randint(0x3000, 0x9fff), rng.randint(0xac00, 0xd7a3),
                                      rng.randint(0x1f300, 0x1f6ff)])) for _ in range(rng.randint(1, 16)))
    for c in ["a", " ", "\n", "A", "-", "=", "#", "0", "é", "中", "👍", "\t", "ab", " a", "\r\n", "us", ".", "\u00a0"]:
        for n in [2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257]:
            yield c * n


def main():
    rng = random.Random(20240607)
    strings = [s for group in SENTENCES.values() for s in group]
    strings += [" " + s for s in strings if s] + [s + "\n" for s in strings[:60]]
    strings += list(random_strings(rng))
    seen, unique = set(), []
    for s in (s.translate(TOO_NEW) for s in strings):
        if s not in seen:
            seen.add(s)
            unique.append(s)
    out = pathlib.Path(__file__).parent / "strings.jsonl"
    out.write_text("".join(json.dumps(s, ensure_ascii=True) + "\n" for s in unique))
    print(len(unique), "strings,", out.stat().st_size, "bytes")


main()
