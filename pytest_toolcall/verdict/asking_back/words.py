"""Closed classes of words, and the small concepts that a parameter may be.

Words are listed for some 20 languages, unevenly; no phrase is listed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache


class Words:
    """A closed class. Words of scripts that write no spaces (or glue particles on) are looked for inside the text."""

    def __init__(self, listed: str | Iterable[str]) -> None:
        words = listed.split() if isinstance(listed, str) else list(listed)
        self.tokens = frozenset(word for word in words if not _unspaced(word))
        self.pieces = tuple(sorted({word for word in words if _unspaced(word)}))

    def at(self, words: Sequence[str], text: str) -> bool:
        return not self.tokens.isdisjoint(words) or any(piece in text for piece in self.pieces)


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _unspaced(word: str) -> bool:
    return any("\u0e00" <= char <= "\u0eff" or "\u1000" <= char <= "\u109f" or char >= "\u3040" for char in word)


WH_EN = _listed("what which where when who whom whose how")
WH = Words(
    "qué cuál cuáles dónde cuándo quién cómo cuánto cuántos que quel quelle quels quelles où quand qui quoi combien "
    "comment welche welcher welches welchen welchem wo wann wer wem was wohin wieviel quale quali dove che chi "
    "qual quais onde quem quando welke waar wanneer wie wat какой какая какого какое каком какую где когда кто кому "
    "что сколько איזו איזה איפה היכן מתי מי أي أية لأي أين متى ماذا ما كم какво hangi nerede ne kim który którym jakie "
    "gdzie kiedy vilken vilket var hvilken hvor कौन किस कहाँ कब क्या ποια ποιο ποιος πού πότε τι gì nào đâu "
    "どの どこ どちら 何 いつ 誰 いくつ 哪 什么 什麼 谁 何时 多少 几 어느 어디 어떤 무엇 언제 누구 몇 ไหน อะไร ใด"
)
YOU_EN = _listed("you your yours yourself")
I_EN = _listed("i me my we us our")
MODAL_EN = _listed("can could would will should shall may might must do did")
ME = Words(
    "mir mich me moi mi mij мне меня لي לי μου bana mig meg मुझे "
    "教え お知らせ 聞かせ 告诉我 告訴我 给我 提供 알려 말씀 บอก"
)
SPEAKER = Words("ich je j yo io eu я мне أنا אני ik jag jeg ben 我 私 제가 저는")
OFFER = Words(
    "soll kann darf puedo debo dois peux puis posso devo могу должен сделать أستطيع يمكنني kan ska "
    "ましょうか 할까 드릴까"
)
PLEASE = Words(
    "please bitte favor plaît plait favore пожалуйста فضلك يرجى رجاء الرجاء רجاء בבקשה אנא lütfen proszę alstublieft "
    "vennligst कृपया παρακαλώ لطفا tafadhali 请 請 ください 下さい 세요 십시오 กรุณา โปรด"
)
NEED = Words(
    "brauche benötige brauchen necesito necesitamos besoin faut bisogno preciso нужно нужен нужна нужны أحتاج احتاج "
    "צריך צריכה nodig potrzebuję behöver trenger चाहिए χρειάζομαι ihtiyacım 需要 必要 필요 ต้องการทราบ"
)
NOT = Words(
    "not cannot never unable no nicht kein keine keinen nein ne pas non não nunca не нет нельзя لا لن لم ليس لست לא "
    "אין niet geen inte ikke nie değil नहीं δεν không 不 无法 無法 没 ません ない 않 못 없 ไม่"
)
ABLE = Words(
    "can could cannot able unable access help kann können konnte puedo poder peux pouvoir posso могу أستطيع يمكنني "
    "يمكن אפשר יכול יכולה kan mogę μπορώ 不能 无法 無法 できません 수"
)
ELSE = Words(
    "else another other others further different anything sonst noch weitere weiteres anderes más otra otro otras "
    "otros autre autres plus altro altra mais outra outro ещё еще другой другое другом آخر أخرى עוד אחר anders annat "
    "mer başka jeszcze inny और άλλο khác 还 還 其他 别的 他に ほかに 다른 더 อื่น"
)
ANOTHER_EN = _listed("another other others different")
NEED_EN = _listed("need needs needed require requires required missing")
CONDITION_EN = _listed("if once unless until when after before")
DATES_EN = _listed(
    "today tomorrow tonight now monday tuesday wednesday thursday friday saturday sunday january february march april "
    "june july august september october november december"
)
BE_EN = _listed("is are was were am be been has have had")
EXAMPLE = Words("example instance such like eg beispiel ejemplo exemple esempio exemplo 例えば 例如 比如 예를")
FUNCTION_EN = (
    WH_EN | YOU_EN | (I_EN - {"me"}) | MODAL_EN | BE_EN | NEED_EN | CONDITION_EN
    | _listed("the of and to for it its this that there with please sorry not by from at")
)  # fmt: skip
STOP = FUNCTION_EN | _listed("a an in on or as e g eg etc me any all be used user s optional")
META = _listed("name value string number list code format id type given current valid full text object")
ENDINGS = ("か", "吗", "嗎", "呢", "까", "까요", "나요", "인가요", "ไหม")

CONCEPTS: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (frozenset(names.split()), frozenset(words.split()))
    for names, words in (
        (
            "city town location place country region area address zip postcode destination origin venue",
            "city town location place country region area address where wo wohin dónde où dove onde где أين "
            "איפה waar 哪里 哪儿 どこ 어디",
        ),
        (
            "date day time datetime hour week month start end deadline when",
            "date day time when wann cuándo quand quando когда متى מתי いつ 什么时候 언제",
        ),
        (
            "to recipient receiver person user customer contact attendee email mail cc",
            "recipient receiver person contact email mail address who whom wem wer quién qui кому кто 谁 誰 누구",
        ),
        ("body message content text", "message text content body say write"),
        ("subject title topic headline", "subject title topic headline"),
        (
            "amount count quantity number",
            "amount count quantity many much combien cuántos wieviel сколько 多少 いくつ 몇",
        ),
    )
)
PLACE, TIME, PERSON, BODY, SUBJECT, AMOUNT = range(6)

_SHORT = {"ll": "will", "d": "would", "m": "am", "re": "are", "ve": "have", "s": "is"}


def words_of(text: str) -> tuple[str, ...]:
    """Words of a normalised text, contractions written out; marks that combine (Hindi, Hebrew points) stay inside."""
    text = text.replace("’", "'").replace("can't", "can not").replace("won't", "will not").replace("n't", " not")
    words: list[str] = []
    word: list[str] = []
    short = False
    for char in f"{text} ":
        if char.isalnum() or unicodedata.category(char)[0] == "M":
            word.append(char)
            continue
        if word:
            found = "".join(word)
            words.append(_SHORT.get(found, found) if short else found)
            word = []
        short = char == "'"
    return tuple(words)


@lru_cache(maxsize=4096)
def stem_of(word: str) -> str:
    """A crude stem, good for telling *cities* and *located* as city and location; never shorter than three letters."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed", "ion", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def is_english(words: Sequence[str]) -> bool:
    """English enough for the strict reading: a fifth of the words are English function words."""
    return sum(word in FUNCTION_EN for word in words) * 5 >= len(words) > 0
