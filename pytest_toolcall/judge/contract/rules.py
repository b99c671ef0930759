"""What each rule says, where the API's documents say it, and how to mend an endpoint that breaks it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """``says`` is one sentence, ``section`` the place in the API's documents, ``hint`` one line for the engine."""

    name: str
    says: str
    section: str
    hint: str


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "status-known",
            "Every request is answered with a success, a 4xx or a 5xx.",
            "OpenAI guide: Error codes",
            "Answer the request itself; do not redirect API clients.",
        ),
        Rule(
            "no-server-error",
            "A valid request is never answered with 500 or 502, nor is a wrong one.",
            "OpenAI guide: Error codes",
            "Catch the exception: 400 with an error object for what the request got wrong, 503 when overloaded.",
        ),
        Rule(
            "error-json",
            "The body of an error is JSON.",
            "OpenAI guide: Error codes",
            "Install an error handler that writes JSON for every status, proxies in front included.",
        ),
        Rule(
            "error-object",
            "An error is an object under the key error, with a string message.",
            "OpenAI guide: Error codes",
            'Wrap it: {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}.',
        ),
        Rule(
            "error-status",
            "An error has an error status, unless a stream has begun.",
            "OpenAI guide: Error codes",
            "Set the HTTP status before writing the body; look for upstream errors before passing a body on.",
        ),
        Rule(
            "in-stream-error",
            "An error inside a stream is an object with a string message.",
            "Chat completions: Streaming",
            'Send data: {"error": {"message": ...}} and close the stream.',
        ),
        Rule(
            "no-error-on-model-output",
            "What the model itself writes, however bad, is an answer and no error.",
            "Chat completions: The chat completion object",
            "Return the model's text as content when its call cannot be parsed.",
        ),
        Rule(
            "json-content-type",
            "An answer without streaming is application/json.",
            "Chat completions: Create",
            "Set content-type: application/json.",
        ),
        Rule(
            "stream-content-type",
            "An answer to stream: true is text/event-stream.",
            "Chat completions: Streaming",
            "Honour stream: true, and set content-type: text/event-stream.",
        ),
        Rule(
            "json-body",
            "A 200 without streaming holds one JSON object.",
            "Chat completions: Returns",
            "Write the completion as JSON; report failures by status.",
        ),
        Rule(
            "envelope-id",
            "The answer has an id, a string.",
            "Chat completions: The chat completion object, id",
            "Make an id for every answer (chatcmpl-…) and send it in every chunk.",
        ),
        Rule(
            "envelope-model",
            "The answer names its model in a string.",
            "Chat completions: The chat completion object, model",
            "Fill in model, in every chunk as well.",
        ),
        Rule(
            "envelope-created",
            "The answer has its time of creation, an integer of Unix seconds.",
            "Chat completions: The chat completion object, created",
            "Send created as an integer of seconds, not as a float or a date.",
        ),
        Rule(
            "envelope-object",
            "The answer names its kind of object.",
            "Chat completions: The chat completion object, object",
            "Send chat.completion, and chat.completion.chunk in streams; blank annotation chunks break typed clients.",
        ),
        Rule(
            "choices-non-empty",
            "An answer without streaming has at least one choice.",
            "Chat completions: The chat completion object, choices",
            "When nothing was generated send one choice with an empty content and the finish_reason, or an error status.",
        ),
        Rule(
            "choice-shape",
            "A choice is an object with a message.",
            "Chat completions: The chat completion object, choices",
            "Send choices[].message as an object.",
        ),
        Rule(
            "choice-index",
            "A choice has an integer index.",
            "Chat completions: The chat completion object, choices[].index",
            "Number the choices from 0, in chunks as well.",
        ),
        Rule(
            "message-role",
            "The message's role is assistant.",
            "Chat completions: choices[].message.role",
            "Set role: assistant.",
        ),
        Rule(
            "content-string-or-null",
            "content and refusal are a string or null.",
            "Chat completions: choices[].message.content",
            "Join text parts into one string; send thinking in a field of its own.",
        ),
        Rule(
            "call-shape",
            "tool_calls is a list of objects with an object function.",
            "Chat completions: choices[].message.tool_calls",
            "Leave out entries that hold no call; send null or no tool_calls where there is none.",
        ),
        Rule(
            "call-type",
            "A call's type is function.",
            "Chat completions: choices[].message.tool_calls[].type",
            "Send type: function in every call, in a stream in its first fragment.",
        ),
        Rule(
            "id-present",
            "Every call has an id.",
            "Chat completions: choices[].message.tool_calls[].id",
            "Make an id for each call, in a stream in its first fragment.",
        ),
        Rule(
            "id-string",
            "A call's id is a string.",
            "Chat completions: choices[].message.tool_calls[].id",
            "Turn numbers into strings.",
        ),
        Rule(
            "id-non-empty",
            "A call's id is not empty.",
            "Chat completions: choices[].message.tool_calls[].id",
            "Make an id where the engine has none.",
        ),
        Rule(
            "id-unique",
            "The calls of one turn have different ids.",
            "Guide Function calling: Handling function calls",
            "Make ids from a counter or at random, not from the name.",
        ),
        Rule(
            "name-non-empty",
            "A call names its function.",
            "Chat completions: choices[].message.tool_calls[].function.name",
            "Do not emit a call before its name is parsed; drop ghost calls.",
        ),
        Rule(
            "name-pattern",
            "A function's name is letters, digits, _ and - only, up to 64.",
            "Chat completions: tools[].function.name",
            "Strip channel tokens and white space in the tool parser.",
        ),
        Rule(
            "arguments-present",
            "A call has arguments, {} where there are none.",
            "Chat completions: choices[].message.tool_calls[].function.arguments",
            'Send "{}" for a call without arguments.',
        ),
        Rule(
            "arguments-string",
            "arguments is a string, not an object.",
            "Chat completions: choices[].message.tool_calls[].function.arguments",
            "Encode the object: json.dumps(arguments).",
        ),
        Rule(
            "arguments-object",
            "arguments is the text of exactly one JSON object, unless the output was cut.",
            "Chat completions: choices[].message.tool_calls[].function.arguments",
            "Constrain generation to the schema, or hand the text back as content when it is no JSON object.",
        ),
        Rule(
            "tool_calls-not-function_call",
            "Calls stand in tool_calls; function_call is deprecated.",
            "Chat completions: choices[].message.tool_calls",
            "Answer tools with tool_calls and finish_reason tool_calls.",
        ),
        Rule(
            "finish_reason-present",
            "A choice ends with a finish_reason.",
            "Chat completions: choices[].finish_reason",
            "Send the last chunk with its finish_reason also after tool calls.",
        ),
        Rule(
            "finish_reason-enum",
            "finish_reason is one of the documented values.",
            "Chat completions: choices[].finish_reason",
            "Map the engine's own values to stop, length, tool_calls and content_filter.",
        ),
        Rule(
            "finish_reason-tool_calls",
            "An answer with calls ends with tool_calls.",
            "Chat completions: choices[].finish_reason",
            "Set tool_calls whenever the message has calls (a call forced by name may say stop).",
        ),
        Rule(
            "finish_reason-needs-calls",
            "finish_reason tool_calls comes with at least one call.",
            "Chat completions: choices[].finish_reason",
            "Decide finish_reason after parsing, not from the stop token.",
        ),
        Rule(
            "tool_choice-none",
            "tool_choice none: no call.",
            "Chat completions: tool_choice",
            "Do not give the template tools, and skip the tool parser, when tool_choice is none.",
        ),
        Rule(
            "tool_choice-required",
            "tool_choice required: at least one call.",
            "Chat completions: tool_choice",
            "Constrain decoding to the union of the tools' schemas.",
        ),
        Rule(
            "tool_choice-named",
            "A named tool_choice: calls of that function only, at least one.",
            "Chat completions: tool_choice",
            "Constrain decoding to the named tool's schema.",
        ),
        Rule(
            "parallel-false",
            "parallel_tool_calls false: at most one call.",
            "Chat completions: parallel_tool_calls",
            "Stop after the first call, or refuse the parameter with 400.",
        ),
        Rule(
            "usage-shape",
            "Counts of tokens are integers of 0 or more.",
            "Chat completions: usage",
            "Send prompt_tokens, completion_tokens and total_tokens as integers.",
        ),
        Rule(
            "usage-total",
            "The total is the sum of its parts.",
            "Chat completions: usage.total_tokens",
            "Count reasoning within completion_tokens, and add up.",
        ),
        Rule(
            "no-tool-markup-in-content",
            "No unparsed call stands in the text.",
            "Guide Function calling",
            "Switch on the tool parser that fits the model's template.",
        ),
        Rule(
            "no-tool-markup-in-reasoning",
            "No unparsed call stands in the reasoning.",
            "Guide Function calling",
            "Let the tool parser see what the reasoning parser took out.",
        ),
        Rule(
            "sse-utf8",
            "A stream is UTF-8.",
            "WHATWG HTML: 9.2.5 Parsing an event stream",
            "Cut output at characters: hold back bytes of an unfinished one.",
        ),
        Rule(
            "sse-fields",
            "The lines of a stream are data, event, id, retry or comments.",
            "WHATWG HTML: 9.2.6 Interpreting an event stream",
            "Send JSON after data: only, and keep-alives as comments (a line that starts with a colon).",
        ),
        Rule(
            "sse-data-json",
            "Every data payload is JSON, but for the end signal.",
            "Chat completions: Streaming",
            "Write each event in one piece under a lock.",
        ),
        Rule(
            "sse-done",
            "A stream ends with data: [DONE].",
            "Chat completions: stream",
            "Send data: [DONE] after the last chunk, also after tool calls.",
        ),
        Rule(
            "done-last",
            "Nothing follows [DONE].",
            "Chat completions: stream",
            "Send usage before [DONE].",
        ),
        Rule(
            "stream-terminated",
            "A stream shows its end.",
            "Chat completions: stream",
            "Send finish_reason and [DONE] (Responses: response.completed; Messages: message_stop).",
        ),
        Rule(
            "chunk-shape",
            "A chunk is an object with a list of choices.",
            "Chat completions: The chat completion chunk object",
            "Send choices in every chunk, [] in the one with the usage.",
        ),
        Rule(
            "chunk-id",
            "All chunks of an answer have the same id.",
            "Chat completions: The chat completion chunk object, id",
            "Make the id once for each answer.",
        ),
        Rule(
            "delta-present",
            "Every choice of a chunk has a delta.",
            "Chat completions: The chat completion chunk object, choices[].delta",
            "Send delta: {} where a chunk adds nothing.",
        ),
        Rule(
            "delta-role",
            "The role comes in a delta.",
            "Chat completions: The chat completion chunk object, choices[].delta.role",
            "Send role: assistant in the first delta.",
        ),
        Rule(
            "delta-index-integer",
            "Every fragment of a call has an integer index.",
            "Chat completions: choices[].delta.tool_calls[].index",
            "Send index in every fragment.",
        ),
        Rule(
            "delta-index-from-zero",
            "Calls are numbered 0, 1, 2 in the order they begin.",
            "Chat completions: choices[].delta.tool_calls[].index",
            "Count calls, not content blocks.",
        ),
        Rule(
            "delta-index-distinct",
            "Two calls have two indexes.",
            "Chat completions: choices[].delta.tool_calls[].index",
            "Raise the index with every new call.",
        ),
        Rule(
            "delta-id-once",
            "A call's id comes once; clients append fragments.",
            "Chat completions: choices[].delta.tool_calls[].id",
            "Send the id in the first fragment only, then leave it out or null.",
        ),
        Rule(
            "delta-name-once",
            "A call's name comes once; clients append fragments.",
            "Chat completions: choices[].delta.tool_calls[].function.name",
            "Send the name in the first fragment only, then leave it out or null.",
        ),
        Rule(
            "argument-deltas",
            "The fragments of arguments, joined, are the text of one JSON object.",
            "Chat completions: choices[].delta.tool_calls[].function.arguments",
            "Send what is new in each fragment, from the first brace to the last.",
        ),
        Rule(
            "finish_reason-once",
            "finish_reason comes once.",
            "Chat completions: The chat completion chunk object, choices[].finish_reason",
            "Send it in the last chunk of the choice only.",
        ),
        Rule(
            "finish_reason-last",
            "No content follows finish_reason.",
            "Chat completions: The chat completion chunk object, choices[].finish_reason",
            "Flush the tool parser before the last chunk.",
        ),
        Rule(
            "include_usage",
            "include_usage: a chunk with the usage comes.",
            "Chat completions: stream_options.include_usage",
            "Send one more chunk with choices [] and the usage before [DONE].",
        ),
        Rule(
            "usage-chunk",
            "The chunk with the usage has no choices.",
            "Chat completions: stream_options.include_usage",
            "Send the usage in a chunk of its own with choices [].",
        ),
        Rule(
            "usage-last",
            "The chunk with the usage is the last.",
            "Chat completions: stream_options.include_usage",
            "Send the usage right before [DONE].",
        ),
        Rule(
            "status-enum",
            "A response's status is one of the documented values.",
            "Responses: The response object, status",
            "Map the engine's own states.",
        ),
        Rule(
            "incomplete-details",
            "An incomplete response gives its reason.",
            "Responses: The response object, incomplete_details",
            "Send incomplete_details: {reason: max_output_tokens}.",
        ),
        Rule(
            "output-list",
            "output is a list of items.",
            "Responses: The response object, output",
            "Send [] where nothing was generated.",
        ),
        Rule(
            "output-item-type",
            "Every output item has a type.",
            "Responses: The response object, output",
            "Send type: message, function_call or reasoning.",
        ),
        Rule(
            "item-id-unique",
            "Output items have different ids.",
            "Responses: The response object, output[].id",
            "Make an id for each item (msg_…, fc_…, rs_…).",
        ),
        Rule(
            "reasoning-item",
            "A reasoning item has a summary, [] where there is none.",
            "Responses: Reasoning item",
            "Send summary: [].",
        ),
        Rule(
            "content-parts",
            "A message's content is a list of output_text and refusal parts.",
            "Responses: Output message",
            "Wrap text: [{type: output_text, text: ..., annotations: []}].",
        ),
        Rule(
            "event-type",
            "Every event names its type in its data.",
            "Responses: Streaming events",
            "Put type into the data.",
        ),
        Rule(
            "event-name",
            "The name of an SSE event is the type in its data.",
            "Responses: Streaming events; Anthropic: Streaming messages",
            "Send event: TYPE before the data.",
        ),
        Rule(
            "created-first",
            "A stream starts with its opening event.",
            "Responses: response.created; Anthropic: message_start",
            "Send response.created, or message_start with the message, before anything else.",
        ),
        Rule(
            "terminal-last",
            "Nothing follows the closing event.",
            "Responses: response.completed; Anthropic: message_stop",
            "Close the stream after it.",
        ),
        Rule(
            "terminal-response",
            "The closing event holds the whole response.",
            "Responses: response.completed",
            "Send the final response object in it.",
        ),
        Rule(
            "sequence-number",
            "sequence_number goes up.",
            "Responses: Streaming events, sequence_number",
            "Count events from 0.",
        ),
        Rule(
            "item-added",
            "An item is added before it is done.",
            "Responses: response.output_item.added",
            "Send output_item.added when an item begins.",
        ),
        Rule(
            "deltas-rebuild",
            "The deltas, joined, are the text that the done event gives.",
            "Responses: response.function_call_arguments.done",
            "Send what is new in each delta, and all of it.",
        ),
        Rule(
            "items-rebuild",
            "The items that were done are the output of the final response.",
            "Responses: response.output_item.done",
            "Build both from the same items.",
        ),
        Rule(
            "content-blocks",
            "content is a list of typed blocks.",
            "Anthropic: Create a message, content",
            "Send [{type: text, text: ...}].",
        ),
        Rule(
            "stop_reason-present",
            "A message ends with a stop_reason.",
            "Anthropic: Create a message, stop_reason",
            "Send it in the message, in a stream in message_delta.",
        ),
        Rule(
            "stop_reason-enum",
            "stop_reason is one of the documented values.",
            "Anthropic: Handling stop reasons",
            "Map finish_reason: stop to end_turn, length to max_tokens, tool_calls to tool_use.",
        ),
        Rule(
            "stop_reason-tool_use",
            "A message with tool_use blocks ends with tool_use.",
            "Anthropic: Handling stop reasons",
            "Set tool_use whenever there is such a block.",
        ),
        Rule(
            "stop_reason-needs-calls",
            "stop_reason tool_use comes with a tool_use block.",
            "Anthropic: Handling stop reasons",
            "Decide stop_reason after parsing.",
        ),
        Rule(
            "input-object",
            "A call's input is an object.",
            "Anthropic: Tool use, tool_use block",
            "Decode the arguments before sending them as input.",
        ),
        Rule(
            "input-deltas",
            "The partial_json pieces, joined, are one JSON object or empty.",
            "Anthropic: Streaming messages, Input JSON delta",
            "Send what is new in each piece, and all of it.",
        ),
        Rule(
            "block-order",
            "Blocks start, grow and stop one after the other.",
            "Anthropic: Streaming messages, Event types",
            "Stop a block before the next one starts.",
        ),
        Rule(
            "block-index",
            "Blocks are numbered from 0.",
            "Anthropic: Streaming messages, Event types",
            "Count content blocks, text and thinking included.",
        ),
        Rule(
            "usage-in-delta",
            "message_delta carries the usage.",
            "Anthropic: Streaming messages, message_delta",
            "Send usage with the cumulative output_tokens.",
        ),
    )
}
"""By name. Rules that more than one API has are worded after the chat completions API."""
