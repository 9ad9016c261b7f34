#!/usr/bin/env python3
"""Google's official Python SDK for Gemini against a running server, on both bases.

usage: gemini_sdk.py URL MODEL      (needs the package `google-genai`; exits 77 when it is not installed)
"""
import asyncio
import sys

try:
    from google import genai
    from google.genai import errors, types
except ImportError:
    print("the package 'google-genai' is not installed")
    sys.exit(77)

URL, MODEL = sys.argv[1], sys.argv[2]
CONFIG = dict(max_output_tokens=12, seed=4, temperature=1.0)


def connect(version):
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=URL, api_version=version))


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def whole_and_streamed_agree(client):
    whole = client.models.generate_content(model=MODEL, contents="Hello", config=CONFIG)
    check(whole.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS, "finish_reason")
    check(whole.usage_metadata.candidates_token_count == 12, "usage")
    chunks = list(client.models.generate_content_stream(model=MODEL, contents="Hello", config=CONFIG))
    check("".join(c.text or "" for c in chunks) == whole.text, "stream equals whole")
    check(chunks[-1].usage_metadata.total_token_count == whole.usage_metadata.total_token_count, "usage of the stream")


def turns_system_and_logprobs(client):
    contents = [types.Content(role="user", parts=[types.Part(text="Hello")]), types.Content(role="model", parts=[types.Part(text="Hi")]),
                types.Content(role="user", parts=[types.Part(text="More")])]
    answer = client.models.generate_content(model=MODEL, contents=contents, config=types.GenerateContentConfig(
        **CONFIG, system_instruction="Be kind.", response_logprobs=True, logprobs=2, stop_sequences=["zzzz"], candidate_count=2))
    check(len(answer.candidates) == 2, "candidates")
    check(len(answer.candidates[0].logprobs_result.chosen_candidates) == 12, "logprobs")
    chat = client.chats.create(model=MODEL, config=CONFIG)
    chat.send_message("Hello")
    check(chat.send_message("More").text is not None and len(chat.get_history()) == 4, "chat helper")


def tokens_and_models(client):
    used = client.models.generate_content(model=MODEL, contents="Hello", config=CONFIG).usage_metadata.prompt_token_count
    check(client.models.count_tokens(model=MODEL, contents="Hello").total_tokens == used, "count_tokens")
    check(f"models/{MODEL}" in [m.name for m in client.models.list()], "model list")
    check(client.models.get(model=MODEL).input_token_limit > 0, "one model")


def texts_are_embedded(client):
    answer = client.models.embed_content(model=MODEL, contents=["Hello there", "Other"], config=dict(output_dimensionality=4))
    check(len(answer.embeddings) == 2 and len(answer.embeddings[0].values) == 4, "embed_content")


def contents_are_cached(client):
    cache = client.caches.create(model=MODEL, config=types.CreateCachedContentConfig(contents="k" * 140, system_instruction="Be kind.", ttl="300s"))
    answer = client.models.generate_content(model=MODEL, contents="Hello", config=types.GenerateContentConfig(**CONFIG, cached_content=cache.name))
    check(answer.usage_metadata.cached_content_token_count >= 128, "cached tokens")
    check(client.caches.get(name=cache.name).usage_metadata.total_token_count > 140, "one cache")
    client.caches.update(name=cache.name, config=types.UpdateCachedContentConfig(ttl="600s"))
    check(cache.name in [c.name for c in client.caches.list()], "cache list")
    client.caches.delete(name=cache.name)


def errors_become_the_right_exceptions(client):
    for code, fields in [
        (404, dict(model="no-such-model")),
        (400, dict(config=dict(temperature=9.0))),
        (400, dict(config=dict(response_mime_type="image/png"))),
    ]:
        try:
            client.models.generate_content(**{"model": MODEL, "contents": "Hello", **fields})
        except errors.ClientError as error:
            check(error.code == code and error.status and error.message, f"{error}")
            continue
        raise AssertionError(f"{fields} did not raise")


def cancelling_a_stream_is_no_harm(client):
    stream = client.models.generate_content_stream(model=MODEL, contents="Hello", config=dict(max_output_tokens=100))
    next(iter(stream))
    stream.close()
    whole_and_streamed_agree(client)


async def many_at_once(client):
    async def one(seed):
        return (await client.aio.models.generate_content(model=MODEL, contents="Hello", config={**CONFIG, "seed": seed % 3})).text
    answers = await asyncio.gather(*(one(i) for i in range(12)))
    for i, answer in enumerate(answers):
        check(answer == answers[i % 3], "same seed, same answer, also together")
    text = ""
    async for chunk in await client.aio.models.generate_content_stream(model=MODEL, contents="Hello", config={**CONFIG, "seed": 0}):
        text += chunk.text or ""
    check(text == answers[0], "asynchronous stream")


for version in ("v1", "v1beta"):
    client = connect(version)
    for case in (whole_and_streamed_agree, turns_system_and_logprobs, tokens_and_models, texts_are_embedded, contents_are_cached, errors_become_the_right_exceptions, cancelling_a_stream_is_no_harm):
        case(client)
        print("ok", version, case.__name__)
    asyncio.run(many_at_once(connect(version)))
    print("ok", version, "many_at_once")
