"""Recorded exchanges, judged again without asking anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_toolcall.core.errors import EndpointError, UsageError
from pytest_toolcall.core.jsontext import Json
from pytest_toolcall.core.messages import Message
from pytest_toolcall.core.replies import Exchange
from pytest_toolcall.core.tools import Tool
from pytest_toolcall.core.transcripts import is_transcript
from pytest_toolcall.endpoint.costs import exchange_cost
from pytest_toolcall.endpoint.names import ModelName, is_simulated
from pytest_toolcall.endpoint.recording.lines import ExchangeKey, Recorder, recorded_answer
from pytest_toolcall.endpoint.recording.transcripts import recording_of_transcript
from pytest_toolcall.endpoint.settings import DEFAULT_WIRE, EndpointSettings, Prices
from pytest_toolcall.endpoint.wires.table import builtin_wires
from pytest_toolcall.endpoint.wires.wire import Wire

_LATEST_S = 1e11


@dataclass(frozen=True, slots=True)
class _Line:
    """One recorded exchange and where it is written."""

    value: Mapping[str, Json]
    where: str
    model: str

    @property
    def tested(self) -> str:
        """The model under test: what a judge was asked belongs to the model it graded (``judge_of``)."""
        return str(self.value.get("judge_of") or self.model)

    @property
    def wire(self) -> str:
        return str(self.value.get("wire") or DEFAULT_WIRE)

    @property
    def errored(self) -> bool:
        return bool(self.value.get("error")) or not isinstance(self.value.get("response"), Mapping)


class ReplayEndpoint:
    """Answers from a recording: a run's directory, or one recording file.

    A hand-made line needs no more than ``case`` and ``response.body``: the trial is 0, and the exchange is the running
    number within case and trial. Of several lines for one exchange the last one that was answered counts. Lines in the
    form of vendor verifiers (``core/transcripts.py``) are read as well.
    ``name`` is what the user typed, for reports. ``model`` picks one of several recorded models; lines that name none
    belong to each. ``truncated_lines`` counts last lines cut by a crash, which are left out. Raises `UsageError`.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        model: str | None = None,
        prices: Prices | None = None,
        name: str | None = None,
        wires: Mapping[str, Wire] | None = None,
    ) -> None:
        self.path = Path(path)
        self._wires = builtin_wires() if wires is None else wires
        self.truncated_lines = 0
        self.ignored_params: set[str] = set()
        lines = [line for file in _files(self.path) for line in self._read(file)]
        recorded = sorted({line.tested for line in lines if line.tested})
        if model is not None and recorded and model not in recorded:
            raise UsageError(f"{self.path}: model {model!r} is not recorded; there are {', '.join(recorded)}")
        if model is None and len(recorded) > 1:
            raise UsageError(f"{self.path}: several models are recorded, name one of {', '.join(recorded)}")
        chosen = model or (recorded[0] if recorded else "")
        self._lines = _by_key(line for line in lines if line.tested in ("", chosen))
        own_name = str(ModelName("replay", str(self.path)))
        self.settings = EndpointSettings(
            name=name or own_name,
            provider="replay",
            model=chosen or own_name,
            base_url="",
            prices=prices or Prices(),
            simulated=is_simulated(chosen),
        )

    @staticmethod
    def models_in(path: Path) -> frozenset[str]:
        """The models under test that a recording holds. Raises `UsageError` where it cannot be read."""
        found = set()
        for file in _files(path):
            for text in file.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if isinstance(line, dict):
                    found.add(str(line.get("judge_of") or line.get("model") or ""))
        return frozenset(found - {""})

    async def aclose(self) -> None:
        """Nothing is open; here to have the interface of `Endpoint`."""

    def recorded(self, key: ExchangeKey) -> bool:
        """Was this exchange answered? An errored one is worth asking again."""
        line = self._lines.get(key)
        return line is not None and not line.errored

    def recorded_request(self, key: ExchangeKey) -> Mapping[str, Json] | None:
        """What was asked then, None where the line does not say."""
        line = self._lines.get(key) or self._lines.get(replace(key, suite=""))
        request = line.value.get("request") if line is not None else None
        return request if isinstance(request, Mapping) and request else None

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        params: Mapping[str, Json],
        *,
        key: ExchangeKey,
        record: Recorder | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """The recorded exchange of that key, read as if it had just come. Raises `EndpointError`."""
        line = self._lines.get(key) or self._lines.get(replace(key, suite=""))
        if line is None:
            raise EndpointError(
                "not_recorded",
                f"{self.path}: case {key.case!r}, trial {key.trial}, exchange {key.exchange} is not recorded",
            )
        if record is not None:
            record({**line.value, "trial": key.trial, "exchange": key.exchange})
        response = line.value.get("response")
        error = line.value.get("error")
        if not isinstance(response, Mapping):
            raise _recorded_error(error, line.where)
        try:
            request = line.value.get("request")
            answer = recorded_answer(response).to(request if isinstance(request, Mapping) else {})
        except ValueError as fault:
            raise EndpointError("body", f"{line.where}: {fault}") from None
        reading = self._wires[line.wire].read(answer, tools)
        if error:
            raise _recorded_error(error, line.where)
        return Exchange(
            reply=reading.reply,
            latency_s=_seconds(line.value.get("latency_s")),
            ttft_s=_seconds(line.value.get("ttft_s")),
            itl_s=_all_seconds(line.value.get("itl_s")),
            cost_usd=exchange_cost(answer.headers, reading.reported_cost, reading.reply.usage, self.settings.prices),
            started=_seconds(line.value.get("started")) or 0.0,
            request_id=answer.request_id,
        )

    def _read(self, file: Path) -> Iterator[_Line]:
        try:
            texts = file.read_bytes().decode("utf-8", "replace").split("\n")
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None
        for number, text in enumerate(texts, start=1):
            if not text.strip():
                continue
            where = f"{file}:{number}"
            try:
                value = json.loads(text.removeprefix("\ufeff"))
            except (ValueError, RecursionError):
                if number == len(texts):  # no line end after it: the writer was killed in the middle
                    self.truncated_lines += 1
                    continue
                raise UsageError(f"{where}: not a line of JSON") from None
            if is_transcript(value):
                value = recording_of_transcript(value, number)
            yield _checked(value, where, self._wires)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("recording*.jsonl"))
    if not found:
        raise UsageError(f"{path}: holds no recording*.jsonl")
    return found


def _checked(value: Json, where: str, wires: Mapping[str, Wire]) -> _Line:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: a line must be a JSON object")
    if not isinstance(value.get("case"), str):
        raise UsageError(f"{where}: a line needs a string 'case'")
    if not isinstance(value.get("response"), Mapping) and not value.get("error"):
        raise UsageError(f"{where}: a line needs a 'response' with a body")
    for name in ("trial", "exchange"):
        number = value.get(name, 0)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise UsageError(f"{where}: {name} must be a number, from 0")
    model = value.get("model")
    if model is not None and not isinstance(model, str):
        raise UsageError(f"{where}: model must be a string")
    if (value.get("wire") or DEFAULT_WIRE) not in tuple(wires):
        raise UsageError(f"{where}: wire must be one of {', '.join(wires)}")
    return _Line(value, where, model or "")


def _by_key(lines: Iterator[_Line]) -> dict[ExchangeKey, _Line]:
    found: dict[ExchangeKey, _Line] = {}
    running: dict[tuple[str, str, int], int] = {}
    for line in lines:
        case, trial, suite = line.value["case"], line.value.get("trial", 0), str(line.value.get("suite") or "")
        count = running.get((suite, case, trial), 0)
        running[suite, case, trial] = count + 1
        key = ExchangeKey(case, trial, line.value.get("exchange", count), suite)
        if key not in found or not line.errored or found[key].errored:
            found[key] = line
    return found


def _recorded_error(error: Json, where: str) -> EndpointError:
    if not isinstance(error, Mapping):
        return EndpointError("not_recorded", f"{where}: no answer is recorded")
    status = error.get("status")
    return EndpointError(
        str(error.get("kind") or "transport"),
        str(error.get("message") or "errored without a message"),
        status=status if isinstance(status, int) else None,
    )


def _seconds(value: Json) -> float | None:
    """A time; None for what cannot be one."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 <= value <= _LATEST_S else None


def _all_seconds(value: Json) -> tuple[float, ...]:
    given = value if isinstance(value, list) else []
    return tuple(seconds for entry in given if (seconds := _seconds(entry)) is not None)
