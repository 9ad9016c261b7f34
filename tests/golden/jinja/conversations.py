"""Conversations that chat templates are rendered with: plain, system, many turns, tools, tool calls, odd text."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather <in> a \"city\" & more",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City name"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
                "detail": {"type": ["string", "null"]},
                "near": {"type": "array", "items": {"type": "number"}},
            },
            "required": ["city"],
        },
    },
}
SEARCH = {
    "type": "function",
    "function": {
        "name": "suche_ünïcode",
        "description": "Searches",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "options": {"type": "object", "properties": {"safe": {"type": "boolean"}}}},
            "required": [],
        },
    },
}


def call(name, arguments, id="call_00001"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def message(role, content="", **more):
    return {"role": role, "content": content, **more}


TURN = [message("user", "Hello"), message("assistant", "Hi, how can I help?"), message("user", "Why is the sky blue?")]
CALL = [
    message("user", "Weather in Malmö?"),
    message("assistant", None, tool_calls=[call("get_weather", {"city": "Malmö", "days": 2, "near": [1.5, -2], "ok": True, "x": None})]),
    message("tool", '{"temperature": 3}', name="get_weather", tool_call_id="call_00001"),
    message("assistant", "It is 3 degrees."),
    message("user", "Thanks"),
]

# (messages, tools, extra variables, add_generation_prompt)
CONVERSATIONS = {
    "user": ([message("user", "Hello")], None, {}, True),
    "user_no_prompt": ([message("user", "Hello")], None, {}, False),
    "system": ([message("system", "You are terse."), message("user", "Hello")], None, {}, True),
    "developer": ([message("developer", "You are terse."), message("user", "Hello")], None, {}, True),
    "turns": (TURN, None, {}, True),
    "system_turns": ([message("system", "Be kind.\n\nAlways.")] + TURN, None, {}, True),
    "answered": (TURN + [message("assistant", "Rayleigh scattering.")], None, {}, False),
    "unicode": ([message("user", "नमस्ते å ä ö 中文 العربية 👩‍👩‍👧‍👦 \u00a0 \u2028 x")], None, {}, True),
    "spaces": ([message("system", "  padded \n"), message("user", "\n\n  spaces \t ")], None, {}, True),
    "special": ([message("user", "a <|im_end|> b </s> [INST] <start_of_turn> {{ 7*7 }} {% raw %}")], None, {}, True),
    "empty": ([message("user", "")], None, {}, True),
    "tools": ([message("user", "Weather?")], [WEATHER], {}, True),
    "two_tools": ([message("system", "Sys"), message("user", "Weather?")], [WEATHER, SEARCH], {}, True),
    "tool_call": (CALL, [WEATHER], {}, True),
    "tool_call_no_tools": (CALL, None, {}, True),
    "tool_call_text": (
        [message("user", "Go"), message("assistant", "I will look.", tool_calls=[call("suche_ünïcode", {"query": "é\"\\\n"})]),
         message("tool", "found it", name="suche_ünïcode", tool_call_id="call_00001")], [SEARCH], {}, True),
    "two_calls": (
        [message("user", "Go"),
         message("assistant", None, tool_calls=[call("get_weather", {"city": "A"}, "call_00001"), call("get_weather", {"city": "B"}, "call_00002")]),
         message("tool", "1", tool_call_id="call_00001"), message("tool", "2", tool_call_id="call_00002")], [WEATHER], {}, True),
    "string_arguments": (
        [message("user", "Go"), message("assistant", None, tool_calls=[call("get_weather", "not json")]),
         message("tool", "1", tool_call_id="call_00001")], [WEATHER], {}, True),
    "reasoning": (
        [message("user", "2+2?"), message("assistant", "4", reasoning_content="Two and two."), message("user", "3+3?")], None, {}, True),
    "reasoning_call": (
        [message("user", "Go"), message("assistant", "", reasoning_content="Need weather.", tool_calls=[call("get_weather", {"city": "A"})]),
         message("tool", "1", tool_call_id="call_00001")], [WEATHER], {}, True),
    "think_text": ([message("user", "x"), message("assistant", "<think>\nhm\n</think>\n\nyes"), message("user", "y")], None, {}, True),
    "no_thinking": (TURN, None, {"enable_thinking": False}, True),
    "thinking": (TURN, None, {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}, True),
    "bad_order": ([message("assistant", "first"), message("assistant", "second")], None, {}, True),
    "two_users": ([message("user", "one"), message("user", "two")], None, {}, True),
    "unknown_role": ([message("wizard", "abra")], None, {}, True),
    "none": ([], None, {}, True),
    "documents": ([message("user", "q")], None, {"documents": [{"title": "T", "text": "Some <text>"}]}, True),
    "date": (TURN, None, {"date_string": "26 Jul 2024", "builtin_tools": ["brave_search"]}, True),
}
