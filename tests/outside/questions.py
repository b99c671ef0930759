"""A format of its own: ``questions``, texts that are to be answered without a call."""

from __future__ import annotations

from pytest_toolcall import Case, Document, DocumentError, Message, Problem, ReadContext, Source, Step, Steps, Suite


def read(document: Document, context: ReadContext) -> tuple[list[Case], list[Problem]]:
    questions = document.value["questions"]
    if not isinstance(questions, list):
        raise DocumentError([Problem(document.path, document.line(("questions",)), "questions must be a list")])
    cases = []
    for number, question in enumerate(questions):
        line = document.line(("questions", number))
        if not question:
            raise DocumentError([Problem(document.path, line, "a question is empty")])
        cases.append(
            Case(
                id=f"q{number}",
                suite=Suite("questions", "1"),
                source=Source(document.path, line),
                messages=(Message("user", question),),
                plan=Steps((Step(()),)),
            )
        )
    return cases, [Problem(document.path, 1, "is short")] if len(cases) < 2 else []
