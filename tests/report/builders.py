"""Records and runs for the reports, with texts that try to break out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_toolcall.core.dialogues import AssertionFinding, CriterionFinding, Line, RubricFinding
from pytest_toolcall.core.verdicts import (
    ApiCall,
    ArgumentFinding,
    CallComparison,
    CallFinding,
    StepVerdict,
    TrialVerdict,
)
from pytest_toolcall.report.files import Destination
from pytest_toolcall.report.run_json import SCHEMA, RunReport, render
from pytest_toolcall.score.record import CaseRecord
from pytest_toolcall.score.summary import summarise

HOSTILE = [
    "a | b || c",
    "one\ntwo\r\n| three |\n|---|",
    "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">",
    "```\n# out of the fence\n````` ~~~",
    "\x1b[31m\x00\x07\u202e\u200b\u2028\ud800 \ufffe",
    "[link](javascript:alert(1)) ![i](http://x.example/a.png) <http://x.example> https://x.example www.x.example",
    "\\| \\` \\\\ `code | pipe` **bold** _em_ ~~gone~~ $x$",
    "]]> <!-- &amp; &#60;b&#62; {{ 7 * 7 }} {% raw %}",
    "# head\n> quote\n- item\n1. item\n===\n***",
]
EVERYTHING = "\n".join(HOSTILE)


def trial(outcome: Any = "failed", text: str = "", number: int = 0, **changes: Any) -> TrialVerdict:
    calls = (CallFinding(text or "f", {"a": text}, f'{{"a": "{text}"}}', True, False, text),)
    compared = (CallComparison("f(a)", 0, (ArgumentFinding("a", text, text, text),)),)
    step = StepVerdict("call", outcome == "passed", text, "stop", calls, (), text, comparison=compared)
    return TrialVerdict(
        outcome,
        None if outcome == "errored" else float(outcome == "passed"),
        1,
        0.5,
        (step,),
        text,
        api_calls=(ApiCall(0.5, None, 0.01, 10, 5, trace_id=f"trace-{number}"),),
        **changes,
    )


def dialogue_trial(outcome: Any = "failed", text: str = "", number: int = 0) -> TrialVerdict:
    held = outcome == "passed"
    return trial(
        outcome,
        text,
        number,
        assertions=(
            AssertionFinding(0, "contains", text, 1.0, float(held), text),
            AssertionFinding(1, "llm-rubric", f"kind {text}", 1.0, float(held), text),
            AssertionFinding(1, "llm-rubric", "unclear", 1.0, None, "prose"),
        ),
        rubric=RubricFinding("r.md", 1.0 if held else 0.25, (CriterionFinding(f"Tone {text}", held, text),)),
        transcript=(Line("user", "Hello?"), Line("assistant", text, (f"f {text}",))),
        judge_calls=(ApiCall(0.1, None, 0.02, 1, 1),),
    )


def case(name: str, *trials: TrialVerdict, model: str = "m", **changes: Any) -> CaseRecord:
    scored = [one for one in trials if one.outcome != "errored"]
    passed = bool(scored) and all(one.outcome == "passed" for one in scored)
    outcome: Any = "errored" if not scored else "passed" if passed else "failed"
    scores = [one.score for one in scored if one.score is not None]
    settings: dict[str, Any] = {
        "suite": "s", "suite_version": "1.0.0", "kind": "steps", "group": "g", "outcome": outcome,
        "failure_modes": [] if passed else ["wrong_param_value"], "reason": "" if passed else trials[0].reason,
        "nodeid": f"cases/x.yaml::{name}[{model}]", "score": sum(scores) / len(scores) if scores else None,
        **changes,
    }  # fmt: skip
    return CaseRecord(id=name, model=model, trials=list(trials), **settings)


def run(*cases: CaseRecord, started: str = "2026-11-01T10:00:00+00:00", **changes: Any) -> RunReport:
    models = dict.fromkeys(record.model for record in cases)
    return RunReport(
        SCHEMA,
        True,
        "0.1.0",
        started,
        1.5,
        {record.suite: record.suite_version for record in cases},
        {model: summarise([record for record in cases if record.model == model]) for model in models},
        list(cases),
        **changes,
    )


def to(root: Path, **options: str) -> Destination:
    """Where nothing is kept, and only the outputs of these options come about."""
    return Destination(None, None, root, root, (), options)


def keep(reports: Path, name: str, report: RunReport) -> Path:
    path = reports / name / "run.json"
    path.parent.mkdir(parents=True)
    path.write_text(render(report), encoding="ascii")
    return path
