"""What one sentence does: ask, request, refuse, offer or answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_toolcall.verdict.asking_back.missing import Subject
from pytest_toolcall.verdict.asking_back.sentences import Sentence
from pytest_toolcall.verdict.asking_back.words import (
    ABLE,
    ANOTHER_EN,
    BE_EN,
    CONDITION_EN,
    ELSE,
    EXAMPLE,
    FUNCTION_EN,
    I_EN,
    ME,
    MODAL_EN,
    NEED,
    NEED_EN,
    NOT,
    OFFER,
    PLEASE,
    SPEAKER,
    STOP,
    WH,
    WH_EN,
    YOU_EN,
    stem_of,
)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one sentence shows; computed once, so that the whole is linear in the text."""

    sentence: Sentence
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


def read_sentence(sentence: Sentence, subject: Subject) -> _Reading:
    words, text = sentence.words, sentence.text
    stems = tuple(stem_of(word) for word in words)
    mentions = [
        at
        for at, stem in enumerate(stems)
        if stem in subject.missing.tokens and not (at and words[at - 1] in ANOTHER_EN)
    ]
    if not mentions and any(piece in text for piece in subject.missing.pieces):
        mentions = [0]
    negated = NOT.at(words, text)
    return _Reading(
        sentence=sentence,
        mentions=tuple(mentions),
        others=subject.others.at(stems, text),
        you=not YOU_EN.isdisjoint(words),
        speaker=not I_EN.isdisjoint(words) or SPEAKER.at(words, text),
        please=PLEASE.at(words, text),
        me=ME.at(words, text) or any(len(word) > 3 and word.endswith(("me", "ني")) for word in words),
        needs=NEED.at(words, text),
        negated=negated,
        refuses=negated and ABLE.at(words, text),
        example=EXAMPLE.at(words, text),
        figures=any(word[0].isdigit() and word not in subject.numbers for word in words),
    )


def question_en(read: _Reading) -> str:
    """Why an English question asks for something missing, or empty."""
    words = read.sentence.words
    known = set(words)
    interrogative = not known.isdisjoint(WH_EN)
    modal = not known.isdisjoint(MODAL_EN)
    if "else" in known or (not interrogative and "anything" in known):
        return ""
    if read.mentions:
        adverb = all(words[at] in WH_EN for at in read.mentions)
        turned = read.you or (modal and read.speaker) or (interrogative and (modal or not adverb))
        brief = len(words) <= 6 and known.isdisjoint(BE_EN)
        return "a question that names what is missing" if turned or brief else ""
    if read.others or not known.isdisjoint(ANOTHER_EN) or "further" in known:
        return ""
    offers = any(word in MODAL_EN and after == "i" for word, after in pairwise(words))
    if not known.isdisjoint({"which", "what"}) and "you" in known and not offers:
        return "an open question to the user"
    asked = any(word in MODAL_EN and after == "you" for word, after in pairwise(words))
    wanted = any(word in ("like", "want", "need") and after == "me" for word, after in pairwise(words))
    return "a question for information to the speaker" if asked and "me" in known and not wanted else ""


def question_any(read: _Reading, refused: bool) -> str:
    """Why a question in another language counts, or empty: everything but what is known to be something else."""
    words, text = read.sentence.words, read.sentence.text
    if read.mentions:
        return "a question that names what is missing"
    interrogative = WH.at(words, text)
    if read.others or ELSE.at(words, text):
        return ""
    if interrogative:
        return "an open question"
    offers = OFFER.at(words, text) and not read.me
    if offers or ((refused or read.negated) and not read.me):
        return ""
    return "a question to the user"


def request_en(read: _Reading, refused: bool) -> str:
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
        if word in CONDITION_EN and (after == "you" or words[at + 1 : at + 3] in (("i", "know"), ("i", "have"))):
            return "a condition that the user should fulfil"
    if read.refuses:
        return ""
    for at, word in enumerate(words):
        if word in NEED_EN:
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
    if opening and opening[0] not in FUNCTION_EN and _to_me(opening):
        return "a request for what is missing"
    bare = len(opening) > 1 and opening[0] not in STOP and opening[1] in ("a", "the", "your", "which", "what")
    near = bool(read.mentions) and read.mentions[0] - (len(words) - len(opening)) <= 3
    return "an imperative on what is missing" if bare and near and not refused and BE_EN.isdisjoint(words) else ""


def _to_me(opening: Sequence[str]) -> bool:
    """``Tell me ...``, ``Kindly give us ...``: the speaker as receiver right after an opening verb."""
    return any(word in ("me", "us") for word in opening[1:3])


def request_any(read: _Reading) -> str:
    """Why a statement in another language is a request: a need of the speaker, or giving to the speaker asked for."""
    words, text = read.sentence.words, read.sentence.text
    if read.refuses or ELSE.at(words, text) or (read.others and not read.mentions):
        return ""
    if read.needs and not read.negated:
        return "a need of the speaker"
    asked = read.please and (read.me or bool(read.mentions) or WH.at(words, text))
    return "a polite request to tell the speaker" if asked else ""


def goes_on(read: _Reading, english: bool) -> bool:
    """A statement after a question that still talks to the user, and so does not answer the question itself."""
    talks = read.speaker or read.please or read.needs or read.example or read.sentence.item
    return talks or len(read.sentence.words) <= 1 or (english and (read.you or bool(read.mentions)))
