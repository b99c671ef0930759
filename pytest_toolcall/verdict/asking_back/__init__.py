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

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_toolcall.core.tools import Tool
from pytest_toolcall.verdict.asking_back.missing import subject_of
from pytest_toolcall.verdict.asking_back.reading import (
    goes_on,
    question_any,
    question_en,
    read_sentence,
    request_any,
    request_en,
)
from pytest_toolcall.verdict.asking_back.sentences import sentences_of
from pytest_toolcall.verdict.asking_back.words import is_english, normal


@dataclass(frozen=True, slots=True)
class Clarification:
    """Whether a text asks the user for what is missing; ``why`` is for the record and not for comparisons."""

    asks: bool
    why: str


def clarification(text: str, tools: Sequence[Tool], prompt: str) -> Clarification:
    """Whether ``text`` asks the user for what ``prompt`` left out of the ``tools``' required parameters.

    Read from the end, because a clarification hands the turn to the user: what stands at the end weighs most. How and
    with what limits: the module's docstring and ``docs/clarification.md``. Never raises on any text.
    """
    subject = subject_of(tools, prompt)
    readings = [read_sentence(sentence, subject) for sentence in sentences_of(normal(text))]
    if not readings:
        return Clarification(False, "no text")
    english = is_english([word for read in readings for word in read.sentence.words])
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
            label = question_en(read) if english else question_any(read, refused[at])
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
        label = "" if gave[at] else (request_en(read, refused[at]) if english else request_any(read))
        if label:
            return Clarification(True, label + (f" ({', '.join(subject.names[:5])})" if read.mentions else ""))
        followed = True
        answered = answered or read.gives or not goes_on(read, english)
        if read.gives:
            return Clarification(False, "an answer")
    return Clarification(False, why)
