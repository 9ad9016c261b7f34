// The official JavaScript SDKs of OpenAI, Anthropic, Google and Ollama against a running server: whole answers, streams,
// errors, and a stream that is left in its middle.
// usage: node sdks.mjs URL MODEL      (needs the packages of package.json beside it; exits 77 without them)
const [url, model] = process.argv.slice(2);
let OpenAI, Anthropic, GoogleGenAI, Ollama;
try {
  OpenAI = (await import("openai")).default;
  Anthropic = (await import("@anthropic-ai/sdk")).default;
  ({ GoogleGenAI } = await import("@google/genai"));
  ({ Ollama } = await import("ollama"));
} catch (error) {
  console.log(`an SDK is not installed: ${error.message}`);
  process.exit(77);
}

const messages = [{ role: "user", content: "Hello" }];
const seed = 4;

function check(condition, what) {
  if (!condition) throw new Error(what);
}

async function refused(status, call) {
  try {
    await call();
  } catch (error) {
    check((error.status ?? error.status_code) === status, `status ${error.status ?? error.status_code} instead of ${status}: ${error.message}`);
    return;
  }
  throw new Error("nothing was thrown");
}

async function openai() {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const ask = { model, messages, max_completion_tokens: 12, seed };
  const whole = await client.chat.completions.create(ask);
  let text = "";
  for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) text += chunk.choices[0]?.delta?.content ?? "";
  check(text === whole.choices[0].message.content, "stream equals whole");
  await refused(404, () => client.chat.completions.create({ ...ask, model: "no-such-model" }));
  await refused(400, () => client.chat.completions.create({ ...ask, no_such_field: 1 }));
  for await (const _ of await client.chat.completions.create({ ...ask, max_completion_tokens: 100, stream: true })) break;
  return text;
}

async function anthropic() {
  const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
  const ask = { model, messages, max_tokens: 12, seed };
  const whole = await client.messages.create(ask);
  const final = await client.messages.stream(ask).finalMessage();
  check(final.content[0].text === whole.content[0].text && final.usage.output_tokens === 12, "stream equals whole");
  check((await client.messages.countTokens({ model, messages })).input_tokens > 0, "count");
  await refused(404, () => client.messages.create({ ...ask, model: "no-such-model" }));
  await refused(400, () => client.messages.create({ ...ask, no_such_field: 1 }));
  for await (const _ of await client.messages.create({ ...ask, max_tokens: 100, stream: true })) break;
  return whole.content[0].text;
}

async function gemini() {
  const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: url } });
  const ask = { model, contents: "Hello", config: { maxOutputTokens: 12, seed } };
  const whole = await client.models.generateContent(ask);
  let text = "";
  for await (const chunk of await client.models.generateContentStream(ask)) text += chunk.text ?? "";
  check(text === whole.text, "stream equals whole");
  check((await client.models.countTokens({ model, contents: "Hello" })).totalTokens > 0, "count");
  await refused(404, () => client.models.generateContent({ ...ask, model: "no-such-model" }));
  await refused(400, () => client.models.generateContent({ ...ask, config: { temperature: 9 } }));
  for await (const _ of await client.models.generateContentStream({ ...ask, config: { maxOutputTokens: 100 } })) break;
  return text;
}

async function ollama() {
  const client = new Ollama({ host: url });
  const ask = { model, messages, options: { num_predict: 12, seed, temperature: 1, top_k: 0, top_p: 1, repeat_penalty: 1 } };
  const whole = await client.chat(ask);
  let text = "";
  for await (const part of await client.chat({ ...ask, stream: true })) text += part.message.content;
  check(text === whole.message.content, "stream equals whole");
  check((await client.list()).models.some((m) => m.name === model), "list");
  await refused(404, () => client.chat({ ...ask, model: "no-such-model" }));
  await refused(400, () => client.chat({ ...ask, options: { no_such_option: 1 } }));
  const left = await client.chat({ ...ask, stream: true });
  for await (const _ of left) {
    left.abort();
    break;
  }
  return text;
}

const texts = {};
for (const sdk of [openai, anthropic, gemini, ollama]) {
  texts[sdk.name] = await sdk();
  console.log("ok", sdk.name);
}
check(new Set(Object.values(texts)).size === 1, `one seed, one text: ${JSON.stringify(texts)}`);
console.log("ok one seed gives one text");
