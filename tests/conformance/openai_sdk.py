#!/usr/bin/env python3
"""OpenAI's official Python SDK against a running server: what its typed models and exceptions make of our answers.

usage: openai_sdk.py BASE_URL MODEL      (needs the package `openai`; exits 77 when it is not installed)
"""
import asyncio
import sys
import time

try:
    import openai
except ImportError:
    print("the package 'openai' is not installed")
    sys.exit(77)

URL, MODEL = sys.argv[1], sys.argv[2]
client = openai.OpenAI(base_url=URL, api_key="none", max_retries=0)
MESSAGES = [{"role": "user", "content": "Hello"}]


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def chat_whole_and_streamed_agree():
    common = dict(model=MODEL, messages=MESSAGES, max_completion_tokens=12, temperature=1, seed=4)
    whole = client.chat.completions.create(**common, logprobs=True, top_logprobs=2)
    check(whole.choices[0].finish_reason in ("stop", "length"), "finish_reason")
    check(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, "usage adds up")
    check(len(whole.choices[0].logprobs.content[0].top_logprobs) == 2, "top_logprobs")
    text, usage = "", None
    for chunk in client.chat.completions.create(**common, stream=True, stream_options={"include_usage": True}):
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
        usage = chunk.usage or usage
    check(text == whole.choices[0].message.content, "stream equals whole")
    check(usage.completion_tokens == whole.usage.completion_tokens, "usage of the stream")


def the_accumulating_stream_helper_works():
    with client.chat.completions.stream(model=MODEL, messages=MESSAGES, max_completion_tokens=8, seed=1) as stream:
        events = [event.type for event in stream]
        # get_final_completion() raises for answers that end at their length; the snapshot is what it would have parsed.
        final = stream.current_completion_snapshot
    check("content.done" in events and final.choices[0].message.content, "stream helper")


def completions_with_everything():
    answer = client.completions.create(model=MODEL, prompt=["One", "Two"], n=2, max_tokens=4, echo=True, logprobs=2, seed=3)
    check([c.index for c in answer.choices] == [0, 1, 2, 3], "order of choices")
    check(answer.choices[0].text.startswith("One"), "echo")
    check(answer.choices[0].logprobs.token_logprobs[0] is None, "first logprob of an echo")
    pieces = [c.choices[0].text for c in client.completions.create(model=MODEL, prompt="One", max_tokens=4, stream=True) if c.choices]
    check("".join(pieces) != "" or len(pieces) > 0, "streamed completion")


def models_are_listed():
    check(MODEL in [m.id for m in client.models.list().data], "model list")
    check(client.models.retrieve(MODEL).id == MODEL, "one model")


def errors_become_the_right_exceptions():
    for kind, fields in [
        (openai.NotFoundError, dict(model="no-such-model")),
        (openai.BadRequestError, dict(temperature=9)),
        (openai.BadRequestError, dict(tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}])),
        (openai.BadRequestError, dict(extra_body={"no_such_field": 1})),
    ]:
        try:
            client.chat.completions.create(**{"model": MODEL, "messages": MESSAGES, **fields})
        except kind as error:
            check(error.body["message"] and error.type == "invalid_request_error", "error body")
            check(error.request_id, "request id")
            continue
        raise AssertionError(f"{fields} did not raise {kind.__name__}")


def responses_stored_streamed_and_in_the_background():
    common = dict(model=MODEL, input="Hello", max_output_tokens=12, extra_body={"seed": 4})
    whole = client.responses.create(**common, instructions="Be kind.")
    check(whole.status in ("completed", "incomplete") and whole.output_text, "a response")
    check(whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens, "usage adds up")
    with client.responses.stream(**common, instructions="Be kind.") as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
    check(text == whole.output_text, "stream equals whole")
    check(client.responses.retrieve(whole.id).output_text == whole.output_text, "retrieve")
    check(client.responses.create(**{**common, "input": "More"}, previous_response_id=whole.id).previous_response_id == whole.id, "chain")
    check([i.role for i in client.responses.input_items.list(whole.id)] == ["user"], "input_items")
    check(client.responses.input_tokens.count(model=MODEL, input="Hello").input_tokens > 0, "input_tokens")
    client.responses.delete(whole.id)
    later = client.responses.create(**common, background=True)
    for _ in range(1000):
        later = client.responses.retrieve(later.id)
        if later.status not in ("queued", "in_progress"):
            break
        time.sleep(0.01)
    check(later.output_text, "background")
    cancelled = client.responses.create(**{**common, "max_output_tokens": 100}, background=True)
    check(client.responses.cancel(cancelled.id).status in ("cancelled", "incomplete", "completed"), "cancel")
    try:
        client.responses.retrieve(whole.id)
    except openai.NotFoundError:
        return
    raise AssertionError("a deleted response is still there")


def cancelling_a_stream_is_no_harm():
    stream = client.chat.completions.create(model=MODEL, messages=MESSAGES, max_completion_tokens=200, stream=True)
    next(iter(stream))
    stream.close()
    chat_whole_and_streamed_agree()


async def many_at_once():
    async with openai.AsyncOpenAI(base_url=URL, api_key="none", max_retries=0) as async_client:
        async def one(seed):
            answer = await async_client.chat.completions.create(model=MODEL, messages=MESSAGES, max_completion_tokens=8, seed=seed % 3)
            return answer.choices[0].message.content
        answers = await asyncio.gather(*(one(i) for i in range(12)))
    for i, answer in enumerate(answers):
        check(answer == answers[i % 3], "same seed, same answer, also together")


for case in (chat_whole_and_streamed_agree, the_accumulating_stream_helper_works, completions_with_everything, models_are_listed,
             errors_become_the_right_exceptions, responses_stored_streamed_and_in_the_background, cancelling_a_stream_is_no_harm):
    case()
    print("ok", case.__name__)
asyncio.run(many_at_once())
print("ok many_at_once")
