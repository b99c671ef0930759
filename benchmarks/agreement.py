"""How far our verdicts agree with those of BFCL and of vendors' recorded transcripts.

    python benchmarks/agreement.py --bfcl agreement.jsonl.gz --vendor transcripts.jsonl.gz --checker PYTHON --keep DIR

The rows are written out as BFCL question files, answers and a recording, and judged by ``pytest … --model replay:…``
in a separate process, as a user would do it. Every disagreement is listed. ``--checker`` names a Python in which
``bfcl-eval`` is installed (``pip install --no-deps bfcl-eval`` is enough); BFCL's own checker is then timed on the same
rows, alternating with ours.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_toolcall.core.transcripts import transcript_case

Row = dict[str, Any]
ROUNDS = 5


def read_rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run_pytest(directory: Path, files: Sequence[Path], recording: Path, *extra: str) -> tuple[list[Row], float, str]:
    """The case records of a run, its seconds, and what it printed."""
    out = directory / "run.json"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "--no-header", "-rN", "-p", "no:cacheprovider"]
    command += [*map(str, files), "--model", f"replay:{recording}", "--toolcall-reports", "none"]
    command += ["--toolcall-json", str(out), "--rootdir", str(directory), "-c", str(directory / "pytest.ini"), *extra]
    (directory / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n", encoding="utf-8")
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory)
    seconds = time.perf_counter() - started
    if not out.exists():
        sys.exit(f"pytest wrote no run.json:\n{done.stdout}\n{done.stderr}")
    return json.loads(out.read_text(encoding="ascii"))["cases"], seconds, done.stdout


# --- BFCL ------------------------------------------------------------------------------------------------------------


def completion(calls: Sequence[Mapping[str, str]]) -> Row:
    message: Row = {"role": "assistant", "content": None}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{number}", "type": "function", "function": dict(call)} for number, call in enumerate(calls)
        ]
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}]}


def write_bfcl(directory: Path, rows: Sequence[Row]) -> tuple[list[Path], Path]:
    """One question per row: each of several candidate answers to a case becomes a case, named by its pair's id."""
    by_category: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_category[row["category"]].append(row)
    files = []
    for category, mine in by_category.items():
        file = directory / f"BFCL_v4_{category}.json"
        files.append(file)
        write_lines(file, ({"id": r["pair_id"], "question": [r["question"]], "function": r["functions"]} for r in mine))
        if any(r["ground_truth"] for r in mine):
            answers = ({"id": r["pair_id"], "ground_truth": r["ground_truth"]} for r in mine)
            write_lines(directory / "possible_answer" / file.name, answers)
    recording = directory / "recording.jsonl"
    write_lines(
        recording, ({"case": r["pair_id"], "response": {"body": completion(r["response_calls"])}} for r in rows)
    )
    return files, recording


def compare_bfcl(directory: Path, rows: Sequence[Row], checker: Path | None) -> bool:
    files, recording = write_bfcl(directory, rows)
    cases, seconds, printed = run_pytest(directory, files, recording)
    verdicts = {case["id"]: case for case in cases}
    judged = [row for row in rows if verdicts.get(row["pair_id"], {}).get("outcome") in ("passed", "failed")]
    wrong = [row for row in judged if (verdicts[row["pair_id"]]["outcome"] == "passed") is not row["bfcl_valid"]]
    print(f"BFCL: {len(rows)} rows, {len(judged)} judged through pytest in {seconds:.1f} s")
    groups = [("all rows", rows), ("rows without a label", [row for row in rows if not row["bfcl_quirks"]])]
    groups += [("rows not labelled faulty_case", [row for row in rows if "faulty_case" not in row["bfcl_quirks"]])]
    for name, chosen in groups:
        print_share(name, chosen, judged, wrong)
    for category in dict.fromkeys(row["category"] for row in rows):
        print_share(f"  {category}", [row for row in rows if row["category"] == category], judged, wrong)
    for label in sorted({label for row in rows for label in row["bfcl_quirks"]}):
        print_share(f"  labelled {label}", [row for row in rows if label in row["bfcl_quirks"]], judged, wrong)
    print(f"disagreements: {len(wrong)}")
    for row in wrong:
        ours = verdicts[row["pair_id"]]
        print(f"  {row['pair_id']} {row['bfcl_quirks']}: BFCL {row['bfcl_valid']} ({row['bfcl_error_type']}),")
        print(f"    ours {ours['outcome']}: {ours['reason']}")
    print("what the run printed of its groupings:")
    print("\n".join(f"  {line}" for line in printed.splitlines() if "mean of" in line or line.startswith("BFCL v4")))
    strict, _, _ = run_pytest(directory, files, recording, "--toolcall-bfcl-strict")
    print_strict(strict, {row["pair_id"]: row for row in rows})
    if checker is not None:
        time_checkers(directory, files, rows, checker)
    return len(judged) == len(rows) and all("faulty_case" in row["bfcl_quirks"] for row in wrong)


def print_share(name: str, rows: Sequence[Row], judged: Sequence[Row], wrong: Sequence[Row]) -> None:
    chosen = {row["pair_id"] for row in rows}
    total = sum(row["pair_id"] in chosen for row in judged)
    agreed = total - sum(row["pair_id"] in chosen for row in wrong)
    print(f"{name:42} {agreed}/{total}" + (f"  {agreed / total:.2%}" if total else ""))


def print_strict(cases: Sequence[Row], rows: Mapping[str, Row]) -> None:
    """Where the native rules differ from BFCL's verdict, by the labels of the rows and by what the reason says."""
    differ = [case for case in cases if (case["outcome"] == "passed") is not rows[case["id"]]["bfcl_valid"]]
    told = sum(bool(case["trials"][0]["steps"][0]["dissent"]) for case in cases)
    refused = [case for case in differ if case["outcome"] != "passed"]
    print(
        f"strict (native rules): {len(cases) - len(differ)}/{len(cases)} agree; {len(refused)} that BFCL passes fail,"
    )
    print(f"  {len(differ) - len(refused)} that BFCL fails pass; {told} told as differences by the run itself")
    modes = Counter(case["failure_modes"][0] if case["failure_modes"] else "(none)" for case in refused)
    print("  failed by native rules as: " + ", ".join(f"{mode} {count}" for mode, count in modes.most_common()))
    print("  by the labels of the rows:")
    labels = Counter(", ".join(rows[case["id"]]["bfcl_quirks"]) or "(no label)" for case in differ)
    for label, count in labels.most_common():
        print(f"  {count:4}  {label}")


# --- time ------------------------------------------------------------------------------------------------------------

_CHECKER = r"""
import json, sys, time, types
# The checker takes from this module one switch of the model; the module itself imports the clients of thirty vendors.
models = types.ModuleType("bfcl_eval.constants.model_config")
models.MODEL_CONFIG_MAPPING = {"model": types.SimpleNamespace(underscore_to_dot=True)}
sys.modules[models.__name__] = models
from bfcl_eval.constants.enums import Language
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

rows = [json.loads(line) for line in open(sys.argv[1])]
print("ready", flush=True)
for _ in sys.stdin:
    valid, started = [], time.perf_counter()
    for row in rows:
        try:
            made = [{call["name"]: json.loads(call["arguments"])} for call in row["response_calls"]]
            if not all(type(value) is dict for call in made for value in call.values()):
                raise ValueError
        except ValueError:
            valid.append(False)
            continue
        args = (row["functions"], made, row["ground_truth"], Language.PYTHON, row["category"], "model")
        valid.append(ast_checker(*args)["valid"])
    print(json.dumps([time.perf_counter() - started, valid]), flush=True)
"""


def time_checkers(directory: Path, files: Sequence[Path], rows: Sequence[Row], python: Path) -> None:
    """Time both checkers on the rows with reference answers, five alternating rounds, from the text of the arguments to
    the verdict, without reading files."""
    from pytest_toolcall.casefile.reader import read_file
    from pytest_toolcall.core.replies import Reply
    from pytest_toolcall.core.steps import Steps
    from pytest_toolcall.endpoint.received.answer import RawAnswer
    from pytest_toolcall.endpoint.wires.table import wire_named
    from pytest_toolcall.verdict.bfcl import judge_bfcl
    from pytest_toolcall.verdict.steps import judge_step

    with_answers = [row for row in rows if row["ground_truth"]]
    cases = {case.id: case for file in files for case in read_file(file).cases}
    steps = {name: case.plan.steps[0] for name, case in cases.items() if isinstance(case.plan, Steps)}
    wire = wire_named("chat")

    def read(row: Row) -> Reply:
        text = json.dumps(completion(row["response_calls"]))
        return wire.read(RawAnswer.of_text(200, {}, text), cases[row["pair_id"]].tools).reply

    replies = [(cases[row["pair_id"]], read(row)) for row in with_answers]
    ours: dict[str, list[float]] = {"ours: verdict by BFCL's rules": [], "ours: verdict, arguments decoded again": []}
    ours["ours: whole step (schema findings, failure mode, comparison)"] = []
    theirs: list[float] = []
    write_lines(directory / "checker_rows.jsonl", with_answers)
    (directory / "checker.py").write_text(_CHECKER, encoding="utf-8")
    command = [str(python), str(directory / "checker.py"), str(directory / "checker_rows.jsonl")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            print("BFCL's checker does not start in that Python; no times")
            return
        valid: list[bool] = []
        for _ in range(ROUNDS):
            process.stdin.write("\n")
            process.stdin.flush()
            seconds, valid = json.loads(process.stdout.readline())
            theirs.append(seconds)
            for number, name in enumerate(ours):
                started = time.perf_counter()
                for case, reply in replies:
                    rules = steps[case.id].rules
                    assert rules is not None
                    if number == 0:
                        judge_bfcl(rules, reply.calls, case.tools)
                    elif number == 1:
                        for call in reply.calls:
                            decode(call.raw)
                        judge_bfcl(rules, reply.calls, case.tools)
                    else:
                        judge_step(steps[case.id], reply, case.tools)
                ours[name].append(time.perf_counter() - started)
        process.stdin.close()
    calls = sum(len(row["response_calls"]) for row in with_answers)
    same = sum(value is row["bfcl_valid"] for value, row in zip(valid, with_answers, strict=True))
    print(f"time per judged call, best of {ROUNDS} rounds in turn, {len(with_answers)} rows with {calls} calls")
    print(f"  (bfcl-eval as installed agrees with the rows' own verdicts on {same})")
    for name, taken in (("BFCL: decoding and ast_checker", theirs), *ours.items()):
        print(f"  {name:62} {min(taken) / calls * 1e6:7.1f} µs  (rounds up to {max(taken) / calls * 1e6:.1f})")


def decode(text: str) -> None:
    with contextlib.suppress(ValueError):
        json.loads(text)


# --- vendors ---------------------------------------------------------------------------------------------------------


def compare_vendor(directory: Path, rows: Sequence[Row]) -> None:
    file = directory / "transcripts.jsonl"
    write_lines(file, rows)
    cases, seconds, printed = run_pytest(directory, [file], file, "--toolcall-max-errored", "1")
    by_id = {case["id"]: case for case in cases}
    print(f"vendors: {len(rows)} transcripts, {len(cases)} cases through pytest in {seconds:.1f} s")
    print(f"  {printed.splitlines()[-1]}")
    ours = {number: by_id[transcript_case(row, number)] for number, row in enumerate(rows, 1)}
    told = [(row, ours[number]) for number, row in enumerate(rows, 1) if row["tool_calls_valid"] is not None]
    agreed = [(row, case) for row, case in told if valid_calls(case) is row["tool_calls_valid"]]
    calls = sum(len(step["calls"]) for _, case in told for trial in case["trials"] for step in trial["steps"])
    print(f"verdicts that agree: {len(agreed)}/{len(told)} on {calls} calls")
    print("the ones that the recorder calls false, and our verdict:")
    for row, case in told:
        if not row["tool_calls_valid"] or valid_calls(case) is not row["tool_calls_valid"]:
            call = case["trials"][0]["steps"][0]["calls"][0]
            reason = call["problem"] or f"arguments {call['raw']!r} are read as {{}}"
            print(f"  {case['id']}: {'true ' if valid_calls(case) else 'false'} {call['name']}: {reason}"[:230])


def valid_calls(case: Row) -> bool:
    calls = [call for trial in case["trials"] for step in trial["steps"] for call in step["calls"]]
    return bool(calls) and all(call["valid"] is True for call in calls)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bfcl", type=Path, help="rows of BFCL cases, candidate calls and verdicts")
    parser.add_argument("--vendor", type=Path, help="recorded transcripts with the recorder's verdict")
    parser.add_argument("--checker", type=Path, help="a Python that has bfcl-eval installed, to time its checker")
    parser.add_argument("--keep", type=Path, help="write the files here and leave them")
    options = parser.parse_args()
    if not (options.bfcl or options.vendor):
        parser.error("give --bfcl, --vendor, or both")
    fine = True
    with tempfile.TemporaryDirectory() as temporary:
        directory = (options.keep or Path(temporary)).resolve()
        if options.bfcl:
            fine = compare_bfcl(directory / "bfcl", read_rows(options.bfcl), options.checker)
        if options.vendor:
            compare_vendor(directory / "vendor", read_rows(options.vendor))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
