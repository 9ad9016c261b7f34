"""Writes features.json, random.json and models.json: templates with what Hugging Face makes of them.

Needs: pip install transformers jinja2 (no PyTorch). Run in this folder with TZ=UTC.
With a folder of *.jinja files as argument it writes local_models.json (git ignores it), which the same test then also checks.
Each case is [template, kind, text]: kind is "out", "raise" (raise_exception's text) or "error".
Left out are cases whose result Python itself does not fix (addresses) and integers beyond 64 bits, which are refused here.
"""

import json
import pathlib
import re
import sys

import transformers.utils.logging

from conversations import CONVERSATIONS
from features import TEMPLATES, VARIABLES, expressions
from hugging_face import render
from random_templates import make

transformers.utils.logging.set_verbosity_error()
# What the engine refuses by name although Python can do it; see docs of the tests.
REFUSED = re.compile(r"random|lipsum|urlize|\\N\{|maketrans|\.encode|format_map\b(?!\()|<built-in|bound method| at 0x|generator object|object at|<class|iterator object|_GroupTuple|\bself\b|generator|rotareneg", re.IGNORECASE)


def cases(templates):
    for template in templates:
        variables = {**VARIABLES, "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True}
        kind, text = render(template, variables)
        if REFUSED.search(template) or (kind == "out" and (REFUSED.search(text) or re.search(r"\d{19}", text))):
            continue
        if "pprint" in template and len(text) > 80:  # one line only
            continue
        if "Exceeds the limit" in text or "too large" in text.lower() or re.search("[\ud800-\udfff]|surrogates", text):
            continue
        yield [template, kind, text if kind != "error" else ""]


def write(name, found, variables):
    with open(name, "w", encoding="utf-8") as out:
        json.dump({"variables": variables, "cases": found}, out, ensure_ascii=False, indent=None, separators=(",", ":"))
    kinds = [case[1] for case in found]
    print(name, len(found), {kind: kinds.count(kind) for kind in set(kinds)}, file=sys.stderr)


def model_cases(templates):
    """Real models' templates with whole conversations: [template's name, conversation's name, kind, text]."""
    found = []
    for name, template in templates.items():
        for conversation, (messages, tools, extra, generation) in CONVERSATIONS.items():
            for continued in (False, True) if messages and messages[-1]["role"] == "assistant" else (False,):
                variables = {"messages": messages, "tools": tools, "add_generation_prompt": generation and not continued, **extra}
                kind, text = render(template, {**variables, "bos_token": "<s>", "eos_token": "</s>", "continue_final_message": continued})
                found.append([name, conversation, continued, kind, text if kind != "error" else ""])
    return found


def write_models(name, templates):
    conversations = {
        conversation: {"messages": messages, "tools": tools, "extra": extra, "add_generation_prompt": generation}
        for conversation, (messages, tools, extra, generation) in CONVERSATIONS.items()
    }
    found = model_cases(templates)
    with open(name, "w", encoding="utf-8") as out:
        json.dump({"templates": templates, "conversations": conversations, "cases": found}, out, ensure_ascii=False, separators=(",", ":"))
    print(name, len(templates), "templates", len(found), "cases", file=sys.stderr)


def read_templates(folder):
    paths = sorted(pathlib.Path(folder).glob("*.jinja"))
    return {path.stem: path.read_bytes().decode("utf-8") for path in paths}


if __name__ == "__main__":
    if len(sys.argv) == 2:  # a folder of *.jinja files: the optional comparison with many models, kept out of the repository
        write_models("local_models.json", read_templates(sys.argv[1]))
    else:
        write("features.json", list(cases(expressions() + TEMPLATES)), VARIABLES)
        write("random.json", list(cases(make(1800, 1200, 20250101))), VARIABLES)
        write_models("models.json", read_templates("templates"))
