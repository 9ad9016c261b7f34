"""Writes replies.json: what models say when they call tools and reason, in the notation that their own chat templates show them.

Needs: pip install transformers jinja2 (no PyTorch). Run in this folder with TZ=UTC and a folder of chat templates (*.jinja) as
published with the models. Each case is a turn of the assistant as the template renders it; what it was rendered from is what
reading it must give back. detect.json has the signs of the same templates (the lines of each that mention a marker), which
must be enough to find the format by.
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "jinja"))
from conversations import SEARCH, WEATHER, call, message  # noqa: E402
from hugging_face import render  # noqa: E402

# Template: (format of calls, name of the reasoning's markers, what the first call begins with).
MODELS = {
    "Qwen-Qwen2.5-7B-Instruct": ("hermes", "none", "<tool_call>"),
    "Qwen-Qwen3-0.6B": ("hermes", "think", "<tool_call>"),
    "Qwen-QwQ-32B": ("hermes", "think", "<tool_call>"),
    "Qwen3-Coder": ("hermes", "none", "<tool_call>"),
    "Qwen3.5-4B": ("hermes", "think", "<tool_call>"),
    "MiMo-VL": ("hermes", "none", "<tool_call>"),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("hermes", "think", "<tool_call>"),
    "ByteDance-Seed-OSS": ("hermes", "seed", "<seed:tool_call>"),
    "ibm-granite-granite-4.0": ("hermes", "none", "<tool_call>"),
    "meta-llama-Llama-3.1-8B-Instruct": ("llama3", "none", "{"),
    "meta-llama-Llama-3.2-3B-Instruct": ("llama3", "none", "{"),
    "meta-llama-Llama-3.3-70B-Instruct": ("llama3", "none", "{"),
    "LFM2.5-8B-A1B": ("pythonic", "think", "<|tool_call_start|>"),
    "mistralai-Mistral-Nemo-Instruct-2407": ("mistral", "none", "[TOOL_CALLS]"),
    "Mistral-Small-3.2-24B-Instruct-2506": ("mistral", "none", "[TOOL_CALLS]"),
    "unsloth-mistral-Devstral-Small-2507": ("mistral", "none", "[TOOL_CALLS]"),
    "mistralai-Ministral-3-14B-Reasoning-2512": ("mistral", "think-brackets", "[TOOL_CALLS]"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": ("deepseek", "think", "<｜tool▁calls▁begin｜>"),
    "deepseek-ai-DeepSeek-V3.1": ("deepseek", "think", "<｜tool▁calls▁begin｜>"),
    "moonshotai-Kimi-K2": ("kimi", "none", "<|tool_calls_section_begin|>"),
    "openai-gpt-oss-120b": ("harmony", "none", " to=functions"),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("json", "command", "<|START_ACTION|>"),
    "unsloth-Apriel-1.5": ("json", "thinking", "<tool_calls>"),
    "NVIDIA-Nemotron-Nano-v2": ("json", "think", "<TOOLCALL>"),
    "google-gemma-2-2b-it": ("json", "none", "{"),
}
# What ends a turn and is never part of the text.
ENDS = re.compile(r"(<\|im_end\|>|<\|eot_id\|>|<\|eom_id\|>|</s>|<\|end_of_text\|>|<\|end\|>(?!<\|start\|>)|<end_of_turn>|<｜end▁of▁sentence｜>|<seed:eos>|<\|call\|>|<\|return\|>|<SPECIAL_12>|<\|END_OF_TURN_TOKEN\|>)[\s\S]*$")
MARKERS = re.compile(r"tool_call|TOOL_CALLS|\btools\b|think|THINK|channel|python|function name|reasoning|ACTION|tool▁|<seed|<function")
WEATHER_ARGUMENTS = {"city": "Malmö", "days": 2, "near": [1.5, -2], "detail": 'a "quoted" {brace} ]</x>'}


def weather(id="Abc123xyZ"):
    return call("get_weather", WEATHER_ARGUMENTS, id)


def search(id="Abc123xyQ"):
    return call("suche_ünïcode", {"query": "true", "options": {"safe": True}}, id)


TURNS = {
    "one": message("assistant", "", tool_calls=[weather()]),
    "two": message("assistant", "", tool_calls=[weather(), search()]),
    "text": message("assistant", "I will look.", tool_calls=[search()]),
    "reasoned": message("assistant", "", reasoning_content="They ask.\n\nSo look.", tool_calls=[weather()]),
    "answer": message("assistant", "It is 3 < 4 degrees.", reasoning_content="Three."),
}


def turns(name, template):
    tool_format, reasoning, first = MODELS[name]
    variables = {"tools": [WEATHER, SEARCH], "bos_token": "<s>", "eos_token": "</s>"}
    user = [message("user", "Weather?")]
    kind, prompt = render(template, {**variables, "messages": user, "add_generation_prompt": True})
    if kind != "out":
        raise SystemExit(f"{name}: {prompt}")
    for turn, said in TURNS.items():
        kind, whole = render(template, {**variables, "messages": user + [said]})
        calls = said.get("tool_calls", [])
        if kind != "out" or (calls and "Malmö" not in whole.split("Weather?")[-1] and "ünïcode" not in whole.split("Weather?")[-1]):
            print(f"{name}: the template does not tell the turn '{turn}': {whole if kind != 'out' else ''}", file=sys.stderr)
            continue
        begins = prompt.rstrip()
        if whole.startswith(prompt):
            reply = whole[len(prompt):]
        elif calls and first in whole.split("Weather?")[-1]:  # the prompt began with something that finished turns do not show
            tail = whole.split("Weather?")[-1]
            reply, begins = tail[tail.index(first):], ""
        else:
            continue
        reply = ENDS.sub("", reply)
        opened = begins.endswith(("<think>", "[THINK]", "<seed:think>"))
        all_told = all(c["function"]["name"] in reply for c in calls)
        if (calls and first not in reply) or not all_told or (opened and "/" not in reply):
            continue  # the finished turn does not go on where the prompt ended, or does not tell all
        content, told = said["content"], said.get("reasoning_content", "")
        if "analysis<|message|>" + content in reply:  # gpt-oss thinks before it calls
            content, told = "", content or told
        yield {
            "model": name, "turn": turn, "format": tool_format, "reasoning_format": reasoning,
            "open": opened, "reply": reply,
            "content": content if content and content in reply else "",
            "reasoning": told if told and told in reply else "",
            "calls": [{"name": c["function"]["name"], "arguments": c["function"]["arguments"]} for c in calls],
        }


if __name__ == "__main__":
    templates = {name: pathlib.Path(sys.argv[1], name + ".jinja").read_text(encoding="utf-8") for name in MODELS}
    cases = [case for name, template in templates.items() for case in turns(name, template)]
    signs = [{"model": name, "format": MODELS[name][0], "reasoning_format": MODELS[name][1],
              "template": "\n".join(dict.fromkeys(template[max(0, m.start() - 12):m.end() + 24] for m in MARKERS.finditer(template)))}
             for name, template in templates.items()]
    for name, content in (("replies.json", {"tools": [WEATHER, SEARCH], "cases": cases}), ("detect.json", signs)):
        with open(name, "w", encoding="utf-8") as out:
            json.dump(content, out, ensure_ascii=False, indent=0)
        print(name, len(content), file=sys.stderr)
