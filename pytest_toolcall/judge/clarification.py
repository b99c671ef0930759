"""Does an answer in text ask the user for what the request left out?

Why structure and not phrases: "which city?" can be said in any number of ways and languages, but what is missing is
known from the tool's schema, and a question is marked by its script. So the reading rests on, in this order:

1. The text is cut into sentences; question marks and full stops of every script are found by their Unicode names.
2. What is *missing* is a required parameter, nested ones too, whose value the prompt does not obviously hold. Its
   vocabulary is the schema's: name, content words of the description, enum values, stemmed; a parameter that is a
   place, a time, a person, a text or an amount also has the words of that small concept ("location" and "where" for
   "city").
3. A question counts if it names something missing and turns to someone (interrogative, "you", modal). Statements after
   it must go on talking to the user; a statement that gives figures, before or after, makes it an aside to an answer.
4. A sentence without question mark counts if it names something missing and is a request: "please", an imperative with
   "me", a need of the speaker, a condition on the user ("once you ..."). A promise or a refusal is none of these.
5. Closed-class words (interrogatives, pronouns, negations, modal and need verbs, "please", "else") are listed for some
   languages. Texts that are not English can seldom be matched with an English schema: there a question counts unless it
   speaks of something else that the schema knows, offers more, offers the speaker's service, or follows an
   answer in figures.

Limits. Meaning is not understood. A rhetorical question about the missing thing that ends a text counts; a made-up
answer without figures before a real question is not seen; a request in other words than the schema's ("I'd love some
more context.") does not count in English; a guess to confirm ("Are you in London?") does not count in English; a
question on another subject in a foreign language counts; requests without question mark in languages outside the lists
do not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.tools import Tool, follow


@dataclass(frozen=True, slots=True)
class Clarification:
    """Whether a text asks the user for what is missing; ``why`` is for the record and not for comparisons."""

    asks: bool
    why: str


class _Words:
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


_WH_EN = _listed("what which where when who whom whose how")
_WH = _Words(
    "qué cuál cuáles dónde cuándo quién cómo cuánto cuántos que quel quelle quels quelles où quand qui quoi combien "
    "comment welche welcher welches welchen welchem wo wann wer wem was wohin wieviel quale quali dove che chi "
    "qual quais onde quem quando welke waar wanneer wie wat какой какая какого какое каком какую где когда кто кому "
    "что сколько איזו איזה איפה היכן מתי מי أي أية لأي أين متى ماذا ما كم какво hangi nerede ne kim który którym jakie "
    "gdzie kiedy vilken vilket var hvilken hvor कौन किस कहाँ कब क्या ποια ποιο ποιος πού πότε τι gì nào đâu "
    "どの どこ どちら 何 いつ 誰 いくつ 哪 什么 什麼 谁 何时 多少 几 어느 어디 어떤 무엇 언제 누구 몇 ไหน อะไร ใด"
)
_YOU_EN = _listed("you your yours yourself")
_I_EN = _listed("i me my we us our")
_MODAL_EN = _listed("can could would will should shall may might must do did")
_ME = _Words(
    "mir mich me moi mi mij мне меня لي לי μου bana mig meg मुझे "
    "教え お知らせ 聞かせ 告诉我 告訴我 给我 提供 알려 말씀 บอก"
)
_I = _Words("ich je j yo io eu я мне أنا אני ik jag jeg ben 我 私 제가 저는")
_OFFER = _Words(
    "soll kann darf puedo debo dois peux puis posso devo могу должен сделать أستطيع يمكنني kan ska "
    "ましょうか 할까 드릴까"
)
_PLEASE = _Words(
    "please bitte favor plaît plait favore пожалуйста فضلك يرجى رجاء الرجاء רجاء בבקשה אנא lütfen proszę alstublieft "
    "vennligst कृपया παρακαλώ لطفا tafadhali 请 請 ください 下さい 세요 십시오 กรุณา โปรด"
)
_NEED = _Words(
    "brauche benötige brauchen necesito necesitamos besoin faut bisogno preciso нужно нужен нужна нужны أحتاج احتاج "
    "צריך צריכה nodig potrzebuję behöver trenger चाहिए χρειάζομαι ihtiyacım 需要 必要 필요 ต้องการทราบ"
)
_NOT = _Words(
    "not cannot never unable no nicht kein keine keinen nein ne pas non não nunca не нет нельзя لا لن لم ليس لست לא "
    "אין niet geen inte ikke nie değil नहीं δεν không 不 无法 無法 没 ません ない 않 못 없 ไม่"
)
_ABLE = _Words(
    "can could cannot able unable access help kann können konnte puedo poder peux pouvoir posso могу أستطيع يمكنني "
    "يمكن אפשר יכול יכולה kan mogę μπορώ 不能 无法 無法 できません 수"
)
_ELSE = _Words(
    "else another other others further different anything sonst noch weitere weiteres anderes más otra otro otras "
    "otros autre autres plus altro altra mais outra outro ещё еще другой другое другом آخر أخرى עוד אחר anders annat "
    "mer başka jeszcze inny और άλλο khác 还 還 其他 别的 他に ほかに 다른 더 อื่น"
)
_ANOTHER_EN = _listed("another other others different")
_NEED_EN = _listed("need needs needed require requires required missing")
_CONDITION_EN = _listed("if once unless until when after before")
_DATES_EN = _listed(
    "today tomorrow tonight now monday tuesday wednesday thursday friday saturday sunday january february march april "
    "june july august september october november december"
)
_BE_EN = _listed("is are was were am be been has have had")
_EXAMPLE = _Words("example instance such like eg beispiel ejemplo exemple esempio exemplo 例えば 例如 比如 예를")
_FUNCTION_EN = (
    _WH_EN | _YOU_EN | (_I_EN - {"me"}) | _MODAL_EN | _BE_EN | _NEED_EN | _CONDITION_EN
    | _listed("the of and to for it its this that there with please sorry not by from at")
)  # fmt: skip
_STOP = _FUNCTION_EN | _listed("a an in on or as e g eg etc me any all be used user s optional")
_META = _listed("name value string number list code format id type given current valid full text object")
_ENDINGS = ("か", "吗", "嗎", "呢", "까", "까요", "나요", "인가요", "ไหม")

_CONCEPTS: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
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
_PLACE, _TIME, _PERSON, _BODY, _SUBJECT, _AMOUNT = range(6)

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ITEM = re.compile(r"\s*(?:[-*•–]|\d{1,2}[.)])\s+")
_SHORT = {"ll": "will", "d": "would", "m": "am", "re": "are", "ve": "have", "s": "is"}
_DEPTH = 5
_MOST = 500  # parameters of one tool; a schema that refers to itself has no end


# Words --------------------------------------------------------------------------------------------------------------


def _words(text: str) -> tuple[str, ...]:
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
def _stem(word: str) -> str:
    """A crude stem, good for telling *cities* and *located* as city and location; never shorter than three letters."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed", "ion", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


# Sentences ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    words: tuple[str, ...]
    question: bool
    item: bool


@lru_cache(maxsize=1024)
def _mark(char: str) -> str:
    """``?`` for the question marks of all scripts, ``.`` for other sentence ends, empty for the rest."""
    if char in "‽⁉":
        return "?"
    name = unicodedata.name(char, "") if not char.isalnum() else ""
    if "QUESTION MARK" in name and "INVERTED" not in name:
        return "?"
    return "." if any(end in name for end in ("FULL STOP", "EXCLAMATION MARK", "DANDA")) and "INV" not in name else ""


def _ends(text: str, at: int, greek: bool) -> str:
    """The kind of sentence end at one place; a mark inside a number, an address or an abbreviation is none."""
    char, after = text[at], text[at + 1 : at + 2]
    if char == "՞":  # Armenian: stands in the word that is asked about, and the sentence goes on
        return ""
    mark = "?" if greek and char == ";" else _mark(char)
    if char in ".?" and after and (after in "=&/_%" or (after.isascii() and after.isalnum())):
        return ""
    return "" if char == "." and after == " " and text[at + 2 : at + 3].islower() else mark


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines without code blocks, each with whether it is a list item; a list after a colon stays in one line."""
    lead, code = "", False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            code = not code
            continue
        if code or not line.strip():
            continue
        match = _ITEM.match(line)
        bare = (line[match.end() :] if match else line).strip(" \t*_#>")
        if lead and match:
            lead = f"{lead} {bare},"
            continue
        if lead:
            yield lead, False
            lead = ""
        if bare.endswith(":"):
            lead = bare
        else:
            yield bare, match is not None
    if lead:
        yield lead, False


def _sentences(text: str) -> list[_Sentence]:
    found: list[_Sentence] = []
    greek = any("\u0370" <= char <= "\u03ff" for char in text)
    for line, item in _lines(text):
        start = 0
        for at in range(len(line)):
            mark = _ends(line, at, greek)
            if mark:
                _add(found, line[start : at + 1], mark == "?", item)
                start = at + 1
        _add(found, line[start:], False, item)
    return found


def _add(found: list[_Sentence], piece: str, question: bool, item: bool) -> None:
    text = piece.casefold().strip()
    words = _words(text)
    if words:
        asks = question or "՞" in text or text.rstrip(".。!！ ").endswith(_ENDINGS)
        found.append(_Sentence(text, words, asks, item))
    elif question and found:  # "Really!?": the second mark belongs to the sentence before
        last = found[-1]
        found[-1] = _Sentence(last.text, last.words, True, last.item)


# What is missing ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    schema: Mapping[str, Json]
    required: bool


def _parameters(root: Json, schema: Json, required: bool = True, depth: int = 0) -> Iterator[_Parameter]:
    schema = follow(root, schema)
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return
    properties, needed = schema.get("properties"), schema.get("required")
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        inner = follow(root, inner)
        inner = inner if isinstance(inner, Mapping) else {}
        must = required and isinstance(needed, list) and name in needed
        items = inner.get("items")
        yield _Parameter(str(name), inner, must)
        yield from _parameters(root, inner, must, depth + 1)
        yield from _parameters(root, items, must, depth + 1)


def _split(name: str) -> tuple[str, ...]:
    return _words(_CAMEL.sub(" ", _normal(name)).replace("_", " ").casefold())


def _enum(schema: Mapping[str, Json]) -> list[str]:
    values = schema.get("enum")
    return [_normal(value).casefold() for value in values if isinstance(value, str)] if isinstance(values, list) else []


def _described(schema: Mapping[str, Json]) -> tuple[str, ...]:
    description = schema.get("description")
    return _words(_normal(description).casefold()) if isinstance(description, str) else ()


def _concepts(parameter: _Parameter) -> frozenset[int]:
    """Concepts by name, else by format or type, else by description: a description may speak of other things, too."""
    schema = parameter.schema
    for words in (_split(parameter.name), _described(schema)):
        found = {at for at, (names, _) in enumerate(_CONCEPTS) if not names.isdisjoint(words)}
        kind = schema.get("format")
        if kind in ("date", "date-time", "time"):
            found.add(_TIME)
        if kind in ("email", "idn-email"):
            found.add(_PERSON)
        if schema.get("type") in ("integer", "number") and not found:
            found.add(_AMOUNT)
        if found:
            return frozenset(found)
    return frozenset()


def _vocabulary(parameter: _Parameter, common: frozenset[str]) -> frozenset[str]:
    """Stems that speak of one parameter. ``common`` are words of the prompt and the tool's name: they tell nothing."""
    own = [word for word in _split(parameter.name) if word not in _STOP]
    told = [word for word in _described(parameter.schema) if word not in _STOP and word not in common]
    words = set(own) | {word for word in told if len(word) > 2 or not word.isascii()}
    if words - _META:
        words = (words - _META) | {word for word in own if len(own) == 1}
    for concept in _concepts(parameter):
        words |= _CONCEPTS[concept][1]
    for value in _enum(parameter.schema):
        words |= {word for word in _words(value) if word not in _STOP}
    return frozenset(_stem(word) for word in words)


def _given(parameter: _Parameter, prompt: str, english: bool) -> bool:
    """Whether the prompt obviously holds a value. Errs towards no: the task says that something is missing."""
    words, concepts = _words(prompt.casefold()), _concepts(parameter)
    schema = parameter.schema
    if schema.get("type") in ("object", "array") or "const" in schema:
        return "const" in schema
    if values := _enum(schema):
        said = f" {' '.join(words)} "
        return any(f" {' '.join(_words(value))} " in said for value in values)
    told = {*_split(parameter.name), *_described(schema)}
    if schema.get("format") in ("email", "idn-email") or not told.isdisjoint({"email", "mail"}):
        return "@" in prompt
    figures = any(char.isdigit() for char in prompt)
    names = english and _has_name(prompt)
    if _TIME in concepts:
        return figures or not _DATES_EN.isdisjoint(words)
    if _AMOUNT in concepts:
        return _has_amount(prompt)
    if concepts & {_BODY, _SUBJECT}:
        return any(char in prompt for char in '"“”«»:')
    return names if concepts & {_PLACE, _PERSON} else False


def _has_amount(prompt: str) -> bool:
    """A number of its own: not the day beside a month's name, and no part of a code such as HON-5120."""
    words = ["", *(word.strip(".,;:!?()$€£%") for word in prompt.casefold().split()), ""]
    return any(
        word.replace(".", "").replace(",", "").isdigit() and not {before, after} & _DATES_EN
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
    )


def _has_name(prompt: str) -> bool:
    """A capitalised word that does not begin a sentence, the way English marks proper names."""
    before = "."
    for match in _WORD.finditer(prompt):
        word = match.group()
        if word[0].isupper() and word != "I" and before not in ".!?\n":
            return True
        rest = prompt[match.end() : match.end() + 3].strip(" '’\"")
        before = rest[0] if rest and not rest[0].isalnum() else ","
    return False


@dataclass(frozen=True, slots=True)
class _Subject:
    """What may be spoken of: stems of missing parameters, and of the tools' other parameters."""

    missing: _Words
    others: _Words
    names: tuple[str, ...]
    numbers: frozenset[str]


def _subject(tools: Sequence[Tool], prompt: str) -> _Subject:
    prompt = _normal(prompt)
    english = _english(_words(prompt.casefold()))
    missing: set[str] = set()
    others: set[str] = set()
    names: list[str] = []
    for tool in tools:
        common = frozenset((*_words(prompt.casefold()), *_split(tool.name)))
        for parameter in islice(_parameters(tool.parameters, tool.parameters), _MOST):
            gone = parameter.required and not _given(parameter, prompt, english)
            (missing if gone else others).update(_vocabulary(parameter, common))
            if gone:
                names.append(parameter.name)
    numbers = frozenset(word for word in _words(prompt) if word.isdigit())
    return _Subject(_Words(missing), _Words(others - missing), tuple(names), numbers)


# Reading ------------------------------------------------------------------------------------------------------------


def _english(words: Sequence[str]) -> bool:
    """English enough for the strict reading: a fifth of the words are English function words."""
    return sum(word in _FUNCTION_EN for word in words) * 5 >= len(words) > 0


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one sentence shows; computed once, so that the whole is linear in the text."""

    sentence: _Sentence
    mentions: tuple[int, ...]
    others: bool
    you: bool
    speaker: bool
    please: bool
    me: bool
    needs: bool
    negated: bool
    refuses: bool
    example: bool
    figures: bool

    @property
    def gives(self) -> bool:
        """Figures that come from nowhere, told of nobody: an answer."""
        return self.figures and not self.example and not {"i", "you", "we"} & set(self.sentence.words[:4])


def _read(sentence: _Sentence, subject: _Subject) -> _Reading:
    words, text = sentence.words, sentence.text
    stems = tuple(_stem(word) for word in words)
    mentions = [
        at
        for at, stem in enumerate(stems)
        if stem in subject.missing.tokens and not (at and words[at - 1] in _ANOTHER_EN)
    ]
    if not mentions and any(piece in text for piece in subject.missing.pieces):
        mentions = [0]
    negated = _NOT.at(words, text)
    return _Reading(
        sentence=sentence,
        mentions=tuple(mentions),
        others=subject.others.at(stems, text),
        you=not _YOU_EN.isdisjoint(words),
        speaker=not _I_EN.isdisjoint(words) or _I.at(words, text),
        please=_PLEASE.at(words, text),
        me=_ME.at(words, text) or any(len(word) > 3 and word.endswith(("me", "ني")) for word in words),
        needs=_NEED.at(words, text),
        negated=negated,
        refuses=negated and _ABLE.at(words, text),
        example=_EXAMPLE.at(words, text),
        figures=any(word[0].isdigit() and word not in subject.numbers for word in words),
    )


def _question_en(read: _Reading) -> str:
    """Why an English question asks for something missing, or empty."""
    words = read.sentence.words
    known = set(words)
    interrogative = not known.isdisjoint(_WH_EN)
    modal = not known.isdisjoint(_MODAL_EN)
    if "else" in known or (not interrogative and "anything" in known):
        return ""
    if read.mentions:
        adverb = all(words[at] in _WH_EN for at in read.mentions)
        turned = read.you or (modal and read.speaker) or (interrogative and (modal or not adverb))
        brief = len(words) <= 6 and known.isdisjoint(_BE_EN)
        return "a question that names what is missing" if turned or brief else ""
    if read.others or not known.isdisjoint(_ANOTHER_EN) or "further" in known:
        return ""
    offers = any(word in _MODAL_EN and after == "i" for word, after in pairwise(words))
    if not known.isdisjoint({"which", "what"}) and "you" in known and not offers:
        return "an open question to the user"
    asked = any(word in _MODAL_EN and after == "you" for word, after in pairwise(words))
    wanted = any(word in ("like", "want", "need") and after == "me" for word, after in pairwise(words))
    return "a question for information to the speaker" if asked and "me" in known and not wanted else ""


def _question_any(read: _Reading, refused: bool) -> str:
    """Why a question in another language counts, or empty: everything but what is known to be something else."""
    words, text = read.sentence.words, read.sentence.text
    if read.mentions:
        return "a question that names what is missing"
    interrogative = _WH.at(words, text)
    if read.others or _ELSE.at(words, text):
        return ""
    if interrogative:
        return "an open question"
    offers = _OFFER.at(words, text) and not read.me
    if offers or ((refused or read.negated) and not read.me):
        return ""
    return "a question to the user"


def _request_en(read: _Reading, refused: bool) -> str:
    """Why an English statement is a request for something missing, or empty."""
    words = read.sentence.words
    if not read.mentions:
        return ""
    last = read.mentions[-1]
    pairs = tuple(pairwise(words))
    if "please" in words:
        at = words.index("please")
        return "" if "that" in words[at : at + 4] and last > at else "a polite request for what is missing"
    for at, (word, after) in enumerate(pairs):
        if word in _CONDITION_EN and (after == "you" or words[at + 1 : at + 3] in (("i", "know"), ("i", "have"))):
            return "a condition that the user should fulfil"
    if read.refuses:
        return ""
    for at, word in enumerate(words):
        if word in _NEED_EN:
            does = words[at + 1 : at + 2] == ("to",) and words[at + 2 : at + 3] not in (("know",), ("have",))
            if not (does and "you" not in words[max(0, at - 2) : at]) and not read.negated:
                return "a need for what is missing"
        if word == "you" and "not" in words[at + 1 : at + 4]:
            return "a remark that something is missing"
        if word in ("can", "could", "may", "should", "must") and words[at - 1 : at] == ("you",) and "me" in words[at:]:
            return "a request for what is missing"
    opening = words[1:] if words[0] in ("just", "then", "so") else words
    if opening[:2] == ("let", "me"):
        return "a request for what is missing" if opening[2:3] == ("know",) else ""
    if opening and opening[0] not in _FUNCTION_EN and _to_me(opening):
        return "a request for what is missing"
    bare = len(opening) > 1 and opening[0] not in _STOP and opening[1] in ("a", "the", "your", "which", "what")
    near = bool(read.mentions) and read.mentions[0] - (len(words) - len(opening)) <= 3
    return "an imperative on what is missing" if bare and near and not refused and _BE_EN.isdisjoint(words) else ""


def _to_me(opening: Sequence[str]) -> bool:
    """``Tell me ...``, ``Kindly give us ...``: the speaker as receiver right after an opening verb."""
    return any(word in ("me", "us") for word in opening[1:3])


def _request_any(read: _Reading) -> str:
    """Why a statement in another language is a request: a need of the speaker, or giving to the speaker asked for."""
    words, text = read.sentence.words, read.sentence.text
    if read.refuses or _ELSE.at(words, text) or (read.others and not read.mentions):
        return ""
    if read.needs and not read.negated:
        return "a need of the speaker"
    asked = read.please and (read.me or bool(read.mentions) or _WH.at(words, text))
    return "a polite request to tell the speaker" if asked else ""


def _goes_on(read: _Reading, english: bool) -> bool:
    """A statement after a question that still talks to the user, and so does not answer the question itself."""
    talks = read.speaker or read.please or read.needs or read.example or read.sentence.item
    return talks or len(read.sentence.words) <= 1 or (english and (read.you or bool(read.mentions)))


def clarification(text: str, tools: Sequence[Tool], prompt: str) -> Clarification:
    """Whether ``text`` asks the user for what ``prompt`` left out of the ``tools``' required parameters.

    Read from the end, because a clarification hands the turn to the user: what stands at the end weighs most. How and
    with what limits: the module's docstring and ``docs/clarification.md``. Never raises on any text.
    """
    subject = _subject(tools, prompt)
    readings = [_read(sentence, subject) for sentence in _sentences(_normal(text))]
    if not readings:
        return Clarification(False, "no text")
    english = _english([word for read in readings for word in read.sentence.words])
    refused, gave = [False], [False]
    for read in readings:
        refused.append(refused[-1] or (read.refuses and not read.sentence.question))
        gave.append(gave[-1] or (read.gives and not read.sentence.question))
    followed = False
    answered = False
    why = "no question or request for what is missing"
    for at in range(len(readings) - 1, -1, -1):
        read = readings[at]
        if read.sentence.question:
            label = _question_en(read) if english else _question_any(read, refused[at])
            weak = not read.mentions if english else label == "a question to the user"
            if label and gave[at]:
                why = "a question after an answer"
            elif label and (answered or (followed and weak)):
                why = "a question that the text itself goes past"
            elif label:
                named = f" ({', '.join(subject.names[:5])})" if read.mentions else ""
                return Clarification(True, label + named)
            elif not followed:
                why = "a question about nothing that is missing"
            continue
        label = "" if gave[at] else (_request_en(read, refused[at]) if english else _request_any(read))
        if label:
            return Clarification(True, label + (f" ({', '.join(subject.names[:5])})" if read.mentions else ""))
        followed = True
        answered = answered or read.gives or not _goes_on(read, english)
        if read.gives:
            return Clarification(False, "an answer")
    return Clarification(False, why)
