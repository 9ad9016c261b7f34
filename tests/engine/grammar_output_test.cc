// Outputs under a grammar, from a model that would say anything: each one that ends is valid, the bytes depend on
// nothing but the request, and what goes wrong ends one request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <set>

#include "engine/generator.h"
#include "grammar_fixture.h"
#include "harness.h"

namespace inferens::testing {
namespace {

using simdjson::dom::element;

FakeModelOptions byte_model() {
  FakeModelOptions model;
  model.vocab = 258;
  return model;
}

TokenizedRequest constrained(RequestId id, const OutputConstraint& constraint, int32_t max_tokens, uint64_t seed) {
  RandomSequence random(seed + 1);
  TokenizedRequest r = make_request(id, random_prompt(random, random.between(1, 90), 256), max_tokens);
  r.params.sampling.temperature = 1;
  r.params.sampling.seed = seed;
  const auto grammar = compile(constraint);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  r.grammar = *grammar;
  return r;
}

// A random schema and, written apart from it, what its values must be.
struct Drawn {
  std::string schema;
  std::function<bool(element)> valid;
};

Drawn draw(RandomSequence& random, int depth) {
  switch (random.below(depth > 0 ? 9 : 6)) {
    case 0: {
      const int64_t low = random.between(-1000, 1000), high = low + random.between(0, 500);
      return {R"({"type":"integer","minimum":)" + std::to_string(low) + ",\"maximum\":" + std::to_string(high) + "}",
              [=](element v) { return v.is_int64() && v.get_int64().value() >= low && v.get_int64().value() <= high; }};
    }
    case 1: {
      const double low = static_cast<double>(random.between(-9000, 9000)) / 8,
                   high = low + static_cast<double>(random.between(1, 900)) / 4;
      const bool open = random.below(2) == 0;
      const auto text = [](double d) { return std::to_string(d); };  // eighths have three digits
      return {R"({"type":"number",")" + std::string(open ? "exclusiveMinimum" : "minimum") + "\":" + text(low) +
                  ",\"maximum\":" + text(high) + "}",
              [=](element v) {
                const double d = v.is_number() ? v.get_double().value() : 1e300;
                return (open ? d > low : d >= low) && d <= high;
              }};
    }
    case 2: {
      const int64_t least = random.between(0, 4), most = least + random.between(0, 5);
      return {
          R"({"type":"string","minLength":)" + std::to_string(least) + ",\"maxLength\":" + std::to_string(most) + "}",
          [=](element v) {
            if (!v.is_string()) return false;
            const std::string_view s = v.get_string().value();
            const auto points = std::count_if(s.begin(), s.end(),
                                              [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
            return points >= least && points <= most;
          }};
    }
    case 3:
      return {R"({"type":"string","pattern":"^[a-f]{2,5}-[0-9]+$"})", [](element v) {
                if (!v.is_string()) return false;
                const std::string_view s = v.get_string().value();
                const size_t dash = s.find('-');
                return dash != std::string_view::npos && dash >= 2 && dash <= 5 && s.size() > dash + 1 &&
                       s.substr(0, dash).find_first_not_of("abcdef") == std::string_view::npos &&
                       s.substr(dash + 1).find_first_not_of("0123456789") == std::string_view::npos;
              }};
    case 4:
      return {R"({"enum":["red",7,null,"a\"b"]})", [](element v) {
                return v.is_null() || (v.is_int64() && v.get_int64().value() == 7) ||
                       (v.is_string() && (v.get_string().value() == "red" || v.get_string().value() == "a\"b"));
              }};
    case 5:
      return {R"({"type":["boolean","null"]})", [](element v) { return v.is_bool() || v.is_null(); }};
    case 6: {
      const Drawn item = draw(random, depth - 1);
      const int64_t least = random.between(0, 2), most = least + random.between(0, 3);
      return {R"({"type":"array","items":)" + item.schema + ",\"minItems\":" + std::to_string(least) +
                  ",\"maxItems\":" + std::to_string(most) + "}",
              [=](element v) {
                if (!v.is_array()) return false;
                const auto list = v.get_array().value();
                const auto n = static_cast<int64_t>(list.size());
                return n >= least && n <= most && std::all_of(list.begin(), list.end(), item.valid);
              }};
    }
    case 7: {
      const Drawn a = draw(random, depth - 1), b = draw(random, depth - 1);
      return {"{\"anyOf\":[" + a.schema + "," + b.schema + "]}", [=](element v) { return a.valid(v) || b.valid(v); }};
    }
    default: {
      std::vector<Drawn> parts;
      std::vector<bool> required;
      std::string properties, names;
      for (int64_t i = random.between(1, 4); i > 0; --i) {
        const std::string name = "p" + std::to_string(parts.size());
        parts.push_back(draw(random, depth - 1));
        required.push_back(random.below(2) == 0);
        properties += (properties.empty() ? "\"" : ",\"") + name + "\":" + parts.back().schema;
        if (required.back()) names += (names.empty() ? "\"" : ",\"") + name + "\"";
      }
      return {R"({"type":"object","properties":{)" + properties + "},\"required\":[" + names +
                  "],\"additionalProperties\":false}",
              [=](element v) {
                if (!v.is_object()) return false;
                const auto object = v.get_object().value();
                size_t found = 0;
                for (size_t i = 0; i < parts.size(); ++i) {
                  element member;
                  const bool there = object.at_key("p" + std::to_string(i)).get(member) == simdjson::SUCCESS;
                  if (!there && required[i]) return false;
                  if (there && (++found, !parts[i].valid(member))) return false;
                }
                return found == object.size();
              }};
    }
  }
}

TEST(GrammarOutput, EveryOutputOfRandomSchemasIsValid) {
  RandomSequence random(20261201);
  FakeTokenizer tokenizer = byte_tokenizer();
  int ended = 0;
  for (int s = 0; s < 40; ++s) {
    const Drawn drawn = draw(random, 3);
    Harness h(byte_model(), with_pages({400}), &tokenizer);
    const TokenizedRequest first = constrained(1, schema_of(drawn.schema), 600, random.next());
    for (RequestId id = 1; id <= 5; ++id) {
      TokenizedRequest r = first;
      r.id = id;
      r.params.sampling.seed = random.next();
      ASSERT_TRUE(h.submit(r).ok());
    }
    h.finish();
    for (const auto& [id, outcome] : h.outcomes) {
      ASSERT_TRUE(outcome.error.ok()) << drawn.schema << ": " << outcome.error.message();
      if (outcome.choices[0].finish != FinishReason::kStop) continue;
      ++ended;
      simdjson::dom::parser parser;
      element value;
      const std::string& text = outcome.choices[0].text;
      ASSERT_EQ(parser.parse(text).get(value), simdjson::SUCCESS) << text;
      EXPECT_TRUE(drawn.valid(value)) << drawn.schema << "\n" << text;
    }
  }
  EXPECT_GT(ended, 150) << "too few outputs ended for this to say anything";
}

// Contract 1 with grammars: together, preempted, in chunks and with several choices as alone.
TEST(GrammarOutput, TheBytesDependOnTheRequestOnly) {
  const FakeModelOptions model = byte_model();
  FakeTokenizer tokenizer = byte_tokenizer();
  std::vector<TokenizedRequest> list;
  for (RequestId id = 1; id <= 12; ++id) {
    TokenizedRequest r = constrained(id,
                                     schema_of(id % 2 == 0 ? R"({"items":{"type":"object"},"minItems":30})"
                                                           : R"({"items":{"type":"number"},"minItems":40})"),
                                     150, static_cast<uint64_t>(id));
    r.params.n = id % 3 == 0 ? 3 : 1;
    r.params.min_tokens = id % 4 == 0 ? 20 : 0;
    r.params.sampling.logit_bias = {{'1', 2.0}};
    list.push_back(std::move(r));
  }
  EngineOptions tight = with_pages({14});
  tight.scheduler.output_reserve = 1;
  Harness crowded(model, tight, &tokenizer);
  for (const auto& r : list) ASSERT_TRUE(crowded.submit(r).ok());
  crowded.finish();
  EXPECT_GT(crowded.stats().scheduler.preemptions, 0);
  for (const auto& r : list) EXPECT_EQ(fingerprint(crowded.outcomes[r.id]), alone(model, r, &tokenizer)) << r.id;
}

TEST(GrammarOutput, ChoicesOfOneRequestEachKeepTheGrammar) {
  FakeTokenizer tokenizer = byte_tokenizer();
  Harness h(byte_model(), with_pages({200}), &tokenizer);
  TokenizedRequest r = constrained(1, regex_of("(ab|cd){3,6}"), 50, 3);
  r.params.n = 8;
  ASSERT_TRUE(h.submit(r).ok());
  h.finish();
  std::set<std::string> texts;
  for (const auto& choice : h.outcomes[1].choices) {
    EXPECT_EQ(choice.finish, FinishReason::kStop);
    EXPECT_TRUE(takes(r.grammar, choice.text)) << choice.text;
    texts.insert(choice.text);
  }
  EXPECT_GT(texts.size(), 1U);
}

TEST(GrammarOutput, EndsAtTheEndWhateverMinTokensSays) {
  FakeTokenizer tokenizer = byte_tokenizer();
  Harness h(byte_model(), with_pages({100}), &tokenizer);
  TokenizedRequest r = constrained(1, regex_of("abc?"), 50, 3);
  r.params.min_tokens = 3;
  ASSERT_TRUE(h.submit(r).ok());
  r.id = 2;
  r.params.min_tokens = 40;
  ASSERT_TRUE(h.submit(r).ok());
  h.finish();
  EXPECT_EQ(h.outcomes[1].choices[0].text, "abc") << "min_tokens keeps the end away where the grammar can go on";
  EXPECT_EQ(h.outcomes[2].choices[0].text, "abc");
  EXPECT_EQ(h.outcomes[2].choices[0].finish, FinishReason::kStop);
  EXPECT_EQ(h.outcomes[2].choices[0].stop_token, std::vector<TokenId>{256});
}

TEST(GrammarOutput, LogprobsStayThoseOfTheModel) {
  FakeTokenizer tokenizer = byte_tokenizer();
  Harness h(byte_model(), with_pages({100}), &tokenizer);
  TokenizedRequest r = constrained(1, regex_of("x"), 5, 3);
  r.params.sampling.temperature = 0;
  ASSERT_TRUE(h.submit(r).ok());
  h.finish();
  const auto& logprobs = h.outcomes[1].choices[0].logprobs;
  ASSERT_EQ(logprobs.size(), 1U);
  EXPECT_LT(logprobs[0].chosen.logprob, -1e-3) << "the true distribution, not the masked one";
  EXPECT_EQ(logprobs[0].top.size(), 2U);
}

TEST(GrammarOutput, AnOutputThatCannotGoOnEndsItsRequestAndNoOther) {
  FakeTokenizer tokenizer = FakeTokenizer::letters(40);  // no digits
  FakeModelOptions model;
  const auto vocabulary = *GrammarVocabulary::make(tokenizer, model.vocab);
  Harness h(model, with_pages({100}), &tokenizer);
  TokenizedRequest stuck = make_request(1, {1, 2}, 20);
  stuck.grammar = *Grammar::compile(vocabulary, "root ::= \"a\" [0-9]\n", test_budget());
  ASSERT_TRUE(h.submit(stuck).ok());
  ASSERT_TRUE(h.submit(make_request(2, {1, 2, 3}, 20)).ok());
  h.finish();
  EXPECT_THAT(h.outcomes[1].error.message(), ::testing::HasSubstr("leads nowhere"));
  EXPECT_TRUE(h.outcomes[2].error.ok());
}

TEST(GrammarOutput, ABannedTokenIsNotTakenThoughTheGrammarLeavesNoOther) {
  FakeTokenizer tokenizer = byte_tokenizer();
  Harness h(byte_model(), with_pages({100}), &tokenizer);
  TokenizedRequest r = constrained(1, regex_of("abc"), 5, 3);
  r.params.sampling.logit_bias = {{'b', -100.0}};
  ASSERT_TRUE(h.submit(r).ok());
  h.finish();
  EXPECT_THAT(h.outcomes[1].error.message(), ::testing::HasSubstr("no token may be chosen"));
}

TEST(GrammarOutput, TheFrontRefusesBeforeAnythingQueues) {
  Generator::Parts parts;
  parts.model = std::make_unique<FakeModel>(byte_model());
  parts.tokenizer = std::make_shared<FakeTokenizer>(byte_tokenizer());
  auto generator = Generator::make(std::move(parts), with_pages({100}));
  ASSERT_TRUE(generator.ok());
  GenerationRequest request;
  request.prompt = std::string("x");
  request.max_tokens = 20;
  request.constraint = schema_of(R"({"properties":{"age":{"type":"number","multipleOf":0.5}}})");
  const auto refused = (*generator)->generate(request, [](GenerationEvent&&) { FAIL(); });
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("#/properties/age/multipleOf"));
  request.constraint = regex_of("(yes|no)");
  request.ignore_eos = true;
  EXPECT_FALSE((*generator)->generate(request, [](GenerationEvent&&) { FAIL(); }).ok());
  request.ignore_eos = false;
  Outcome outcome;
  ASSERT_TRUE((*generator)->generate_and_wait(request, [&](GenerationEvent&& e) { outcome.take(std::move(e)); }).ok());
  EXPECT_THAT(outcome.choices[0].text, ::testing::AnyOf("yes", "no"));
}

}  // namespace
}  // namespace inferens::testing
