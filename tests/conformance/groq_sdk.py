#!/usr/bin/env python3
"""Groq's official Python SDK against a running server.

usage: groq_sdk.py URL MODEL      (needs the package `groq`; exits 77 when it is not installed)
"""
import asyncio
import sys

try:
    import groq
except ImportError:
    print("the package 'groq' is not installed")
    sys.exit(77)

URL, MODEL = sys.argv[1], sys.argv[2]
client = groq.Groq(base_url=URL, api_key="none", max_retries=0)
COMMON = dict(model=MODEL, messages=[{"role": "user", "content": "Hello"}], max_completion_tokens=12, seed=4)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def whole_and_streamed_agree():
    whole = client.chat.completions.create(**COMMON)
    check(whole.usage.completion_tokens == 12 and whole.usage.total_time > 0, "usage with seconds")
    check(whole.x_groq.id, "x_groq")
    text, last = "", None
    for chunk in client.chat.completions.create(**COMMON, stream=True):
        text += chunk.choices[0].delta.content or "" if chunk.choices else ""
        last = chunk.x_groq or last
    check(text == whole.choices[0].message.content, "stream equals whole")
    check(last.usage.completion_tokens == 12, "usage in the last chunk's x_groq")


def models_are_listed():
    check(MODEL in [m.id for m in client.models.list().data], "model list")


def errors_become_the_right_exceptions():
    for kind, fields in [(groq.NotFoundError, dict(model="no-such-model")), (groq.BadRequestError, dict(n=2)),
                         (groq.BadRequestError, dict(extra_body={"no_such_field": 1}))]:
        try:
            client.chat.completions.create(**{**COMMON, **fields})
        except kind as error:
            check(error.body["error"]["message"], "error body")
            continue
        raise AssertionError(f"{fields} did not raise {kind.__name__}")


async def many_at_once():
    async with groq.AsyncGroq(base_url=URL, api_key="none", max_retries=0) as many:
        async def one(seed):
            return (await many.chat.completions.create(**{**COMMON, "seed": seed % 3})).choices[0].message.content
        answers = await asyncio.gather(*(one(i) for i in range(6)))
    for i, answer in enumerate(answers):
        check(answer == answers[i % 3], "same seed, same answer, also together")


for case in (whole_and_streamed_agree, models_are_listed, errors_become_the_right_exceptions):
    case()
    print("ok", case.__name__)
asyncio.run(many_at_once())
print("ok many_at_once")
