#!/usr/bin/env python3
"""Anthropic's official Python SDK against a running server.

usage: anthropic_sdk.py URL MODEL      (needs the package `anthropic`; exits 77 when it is not installed)
"""
import asyncio
import sys

try:
    import anthropic
except ImportError:
    print("the package 'anthropic' is not installed")
    sys.exit(77)

URL, MODEL = sys.argv[1], sys.argv[2]
OLD = {"anthropic-version": "2023-06-01"}
client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
COMMON = dict(model=MODEL, max_tokens=12, messages=[{"role": "user", "content": "Hello"}], extra_body={"seed": 4})


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def whole_and_streamed_agree():
    whole = client.messages.create(**COMMON)
    check(whole.stop_reason == "max_tokens" and whole.usage.output_tokens == 12, "stop_reason and usage")
    text = ""
    for event in client.messages.create(**COMMON, stream=True):
        if event.type == "content_block_delta":
            text += event.delta.text
    check(text == whole.content[0].text, "stream equals whole")


def the_accumulating_stream_helper_works():
    whole = client.messages.create(**COMMON)
    with client.messages.stream(**COMMON) as stream:
        check("".join(stream.text_stream) == whole.content[0].text, "text_stream")
        final = stream.get_final_message()
    check(final.content[0].text == whole.content[0].text and final.usage.output_tokens == 12, "final message")
    check(final.stop_reason == "max_tokens", "stop_reason of the stream")


def system_prefill_and_stop_sequences():
    answer = client.messages.create(**{**COMMON, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]},
                                                              {"role": "assistant", "content": "Well"}]}, system="Be kind.", stop_sequences=["zzzz"])
    check(answer.role == "assistant", "prefill")
    sampled = client.messages.create(**{**COMMON, "extra_body": {"seed": 4, "temperature": 0.0}}, extra_headers=OLD)
    check(sampled.content, "sampling parameters of the older version")


def tokens_are_counted_and_caches_told():
    system = [{"type": "text", "text": "k" * 140, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    counted = client.messages.count_tokens(model=MODEL, messages=COMMON["messages"], system=system).input_tokens
    for _ in range(2):
        usage = client.messages.create(**COMMON, system=system).usage
        check(usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens == counted, "usage adds up to the count")
    check(usage.cache_read_input_tokens > 0, "the second time reads the cache")


def models_are_listed():
    check(MODEL in [m.id for m in client.models.list()], "model list")
    check(client.models.retrieve(MODEL).lifecycle == "active", "one model")


def errors_become_the_right_exceptions():
    for kind, fields in [
        (anthropic.NotFoundError, dict(model="no-such-model")),
        (anthropic.BadRequestError, dict(extra_body={"temperature": 1.0})),
        (anthropic.BadRequestError, dict(extra_body={"no_such_field": 1})),
        (anthropic.BadRequestError, dict(tools=[{"name": "f", "input_schema": {"type": "object"}}])),
    ]:
        try:
            client.messages.create(**{**COMMON, **fields})
        except kind as error:
            check(error.body["error"]["message"] and error.request_id, "error body and request id")
            continue
        raise AssertionError(f"{fields} did not raise {kind.__name__}")


def cancelling_a_stream_is_no_harm():
    stream = client.messages.create(**{**COMMON, "max_tokens": 100}, stream=True)
    next(iter(stream))
    stream.close()
    whole_and_streamed_agree()


async def many_at_once():
    async with anthropic.AsyncAnthropic(base_url=URL, api_key="none", max_retries=0) as many:
        async def one(seed):
            return (await many.messages.create(**{**COMMON, "extra_body": {"seed": seed % 3}})).content[0].text
        answers = await asyncio.gather(*(one(i) for i in range(12)))
        async with many.messages.stream(**{**COMMON, "extra_body": {"seed": 0}}) as stream:
            check(await stream.get_final_text() == answers[0], "asynchronous stream")
    for i, answer in enumerate(answers):
        check(answer == answers[i % 3], "same seed, same answer, also together")


for case in (whole_and_streamed_agree, the_accumulating_stream_helper_works, system_prefill_and_stop_sequences,
             tokens_are_counted_and_caches_told, models_are_listed, errors_become_the_right_exceptions, cancelling_a_stream_is_no_harm):
    case()
    print("ok", case.__name__)
asyncio.run(many_at_once())
print("ok many_at_once")
