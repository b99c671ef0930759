"""Does one exchange keep to the API's contract? (`findings`)

Pure: an exchange in, broken rules out. What a rule says, where the API's documents say it and how to mend an endpoint
that breaks it stands in `RULES`. A chat answer must fit the response types of openai-python, its stream must be rebuilt
by that client's accumulator; both are written down here anew, so that no client has to be installed.
"""

from __future__ import annotations

from pytest_toolcall.core.jsontext import Json, JsonTextError, parse_json
from pytest_toolcall.verdict.contract import chat, chat_stream, messages, messages_stream, responses, responses_stream
from pytest_toolcall.verdict.contract.errors import check_error, check_error_in_answer
from pytest_toolcall.verdict.contract.exchange import Breach, Call, Findings, LeakTest, WireExchange
from pytest_toolcall.verdict.contract.rules import RULES, ContractRule
from pytest_toolcall.verdict.contract.sse import read_stream

EVENT_STREAM = "text/event-stream"

_PLAIN = {"chat": chat.check, "responses": responses.check, "messages": messages.check}
_STREAM = {"chat": chat_stream.check, "responses": responses_stream.check, "messages": messages_stream.check}


def findings(exchange: WireExchange) -> Findings:
    """Everything that can be said of one exchange. The content type decides how an answer is read."""
    found = Findings()
    if not exchange.ok:
        check_error(exchange, found)
        return found
    if exchange.content_type == EVENT_STREAM:
        if not exchange.stream_wanted:
            found.broken("json-content-type", "no stream was asked for, and one came", _type(exchange))
        found.streamed = True
        _STREAM[exchange.wire](read_stream(exchange.body, found), exchange, found)
        return found
    if exchange.stream_wanted:
        found.broken("stream-content-type", "a stream was asked for, and none came", _type(exchange))
    body = _body(exchange, found)
    if body is not None and not check_error_in_answer(body, exchange, found):
        if not exchange.stream_wanted and exchange.content_type != "application/json":
            found.broken("json-content-type", "the content type of a JSON answer", _type(exchange))
        _PLAIN[exchange.wire](body, exchange, found)
    return found


def _type(exchange: WireExchange) -> str:
    return f"content-type: {exchange.headers.get('content-type', '')}"


def _body(exchange: WireExchange, found: Findings) -> Json:
    try:
        body = parse_json(exchange.text)
    except JsonTextError as error:
        found.broken("json-body", f"the body is {error}", exchange.text)
        return None
    return body if found.check(isinstance(body, dict), "json-body", "the body is no JSON object", body) else None


__all__ = ["RULES", "Breach", "Call", "ContractRule", "Findings", "LeakTest", "WireExchange", "findings"]
