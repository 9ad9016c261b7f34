#!/usr/bin/env python3
"""Ollama's official Python SDK against a running server.

usage: ollama_sdk.py URL MODEL      (needs the package `ollama`; exits 77 when it is not installed)
"""
import asyncio
import sys

try:
    import ollama
except ImportError:
    print("the package 'ollama' is not installed")
    sys.exit(77)

URL, MODEL = sys.argv[1], sys.argv[2]
client = ollama.Client(host=URL)
MESSAGES = [{"role": "user", "content": "Hello"}]
OPTIONS = {"num_predict": 12, "seed": 4, "temperature": 1.0}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def chat_whole_and_streamed_agree():
    whole = client.chat(MODEL, MESSAGES, options=OPTIONS)
    check(whole.done and whole.done_reason in ("stop", "length"), "done_reason")
    check(whole.eval_count and whole.total_duration > 0 and whole.eval_duration > 0, "counts and durations")
    chunks = list(client.chat(MODEL, MESSAGES, options=OPTIONS, stream=True))
    check("".join(c.message.content for c in chunks) == whole.message.content, "stream equals whole")
    check([c.done for c in chunks] == [False] * (len(chunks) - 1) + [True], "done comes last")


def generate_and_its_context():
    first = client.generate(MODEL, "Hello", system="Be kind.", options=OPTIONS)
    check(len(first.context) == first.prompt_eval_count + first.eval_count, "context")
    second = client.generate(MODEL, "More", context=first.context, options=OPTIONS)
    check(second.prompt_eval_count > len(first.context), "the context is part of the prompt")
    check(client.generate(MODEL, "1, 2, 3", raw=True, options=OPTIONS).response is not None, "raw")
    logprobs = client.generate(MODEL, "Hello", options=OPTIONS, logprobs=True, top_logprobs=2).logprobs
    check(len(logprobs[0].top_logprobs) == 2, "logprobs")


def models_are_listed_and_shown():
    check(MODEL in [m.model for m in client.list().models], "list")
    shown = client.show(MODEL)
    check(shown.details.format == "gguf" and shown.modelinfo["general.architecture"], "show")
    client.generate(MODEL, keep_alive="1h")
    check(MODEL in [m.model for m in client.ps().models], "ps")


def texts_are_embedded():
    both = client.embed(MODEL, ["Hello there", "Other"]).embeddings
    check(len(both) == 2 and abs(sum(x * x for x in both[0]) - 1) < 1e-4, "embed")
    check(list(client.embeddings(MODEL, "Hello there").embedding) == list(both[0]), "embeddings")


def errors_become_the_right_exceptions():
    for status, call in [
        (404, lambda: client.chat("no-such-model", MESSAGES)),
        (400, lambda: client.chat(MODEL, MESSAGES, options={"temperature": -1})),
        (400, lambda: client.chat(MODEL, MESSAGES, options={"no_such_option": 1})),
        (400, lambda: client.chat(MODEL, MESSAGES, think=True)),
        (400, lambda: list(client.generate(MODEL, "x", options={"num_ctx": 1}, stream=True))),
    ]:
        try:
            call()
        except ollama.ResponseError as error:
            check(error.status_code == status and error.error, f"{error.status_code} {error.error}")
            continue
        raise AssertionError(f"no ResponseError of status {status}")


def cancelling_a_stream_is_no_harm():
    stream = client.chat(MODEL, MESSAGES, options={"num_predict": 100}, stream=True)
    next(iter(stream))
    del stream
    chat_whole_and_streamed_agree()


async def many_at_once():
    many = ollama.AsyncClient(host=URL)

    async def one(seed):
        answer = await many.chat(MODEL, MESSAGES, options={**OPTIONS, "seed": seed % 3})
        return answer.message.content

    answers = await asyncio.gather(*(one(i) for i in range(12)))
    for i, answer in enumerate(answers):
        check(answer == answers[i % 3], "same seed, same answer, also together")
    streamed = "".join([c.message.content async for c in await many.chat(MODEL, MESSAGES, options={**OPTIONS, "seed": 0}, stream=True)])
    check(streamed == answers[0], "asynchronous stream")


for case in (chat_whole_and_streamed_agree, generate_and_its_context, models_are_listed_and_shown, texts_are_embedded, errors_become_the_right_exceptions,
             cancelling_a_stream_is_no_harm):
    case()
    print("ok", case.__name__)
asyncio.run(many_at_once())
print("ok many_at_once")
