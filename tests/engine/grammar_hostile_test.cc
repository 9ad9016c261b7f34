// Schemas, expressions and grammars made to exhaust an engine: each ends in a refusal or a grammar, never in the
// process's end, and within a budget of memory and CPU time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "engine/grammar/grammar_service.h"
#include "grammar_fixture.h"

namespace inferens::testing {
namespace {

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string nested(int depth, const std::string& open, const std::string& inner, const std::string& close) {
  return repeated(open, depth) + inner + repeated(close, depth);
}

void expect_answer(const OutputConstraint& constraint, const char* what) {
  const auto made = compile(constraint);
  if (made.ok()) return;
  EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument) << what << ": " << made.status().to_string();
}

TEST(HostileGrammar, DeepNestingIsRefused) {
  for (const int depth : {1'000, 100'000}) {
    EXPECT_FALSE(compile(schema_of(nested(depth, R"({"items":)", "{}", "}"))).ok());
    EXPECT_FALSE(compile(schema_of(repeated("[", depth))).ok());
    EXPECT_FALSE(compile(regex_of(nested(depth, "(", "a", ")"))).ok());
    EXPECT_FALSE(compile(schema_of(R"({"type":"string","pattern":")" + nested(depth, "(", "a", ")") + "\"}")).ok());
    EXPECT_FALSE(compile(grammar_of("root ::= " + nested(depth, "(", "\"a\"", ")"))).ok());
    EXPECT_FALSE(compile(grammar_of("root ::= " + repeated("(", depth))).ok());
  }
}

TEST(HostileGrammar, AlternativesInAlternativesEnd) {
  std::string schema = R"({"type":"integer"})";
  for (int i = 0; i < 12; ++i) schema = R"({"anyOf":[)" + schema + "," + schema + "]}";
  expect_answer(schema_of(schema), "anyOf nesting");
  schema = R"({"const":"a"})";
  for (int i = 0; i < 60; ++i)
    schema = R"({"oneOf":[{"const":)" + std::to_string(i) + R"(},{"type":"array","items":)" + schema + "}]}";
  expect_answer(schema_of(schema), "oneOf nesting");
}

TEST(HostileGrammar, ReferencesThatMultiplyEnd) {
  std::string definitions;
  for (int i = 0; i < 30; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    definitions += "\"d" + std::to_string(i) + R"(":{"properties":{"a":)" + next + ",\"b\":" + next + "}},";
  }
  expect_answer(schema_of(R"({"$ref":"#/$defs/d0","$defs":{)" + definitions + R"("d30":{"type":"null"}}})"),
                "doubling references");
}

TEST(HostileGrammar, HugeListsEnd) {
  std::string values, properties;
  for (int i = 0; i < 4000; ++i) values += (i == 0 ? "\"" : ",\"") + repeated("v", 20) + std::to_string(i) + "\"";
  expect_answer(schema_of("{\"enum\":[" + values + "]}"), "huge enum");
  for (int i = 0; i < 900; ++i) properties += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + R"(":{"type":"integer"})";
  expect_answer(schema_of("{\"properties\":{" + properties + "}}"), "900 optional properties");
  expect_answer(schema_of("{\"properties\":{" + properties + R"(},"minProperties":20,"maxProperties":40})"),
                "counted properties");
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += (i == 0 ? "" : ",") + std::to_string(i);
  EXPECT_FALSE(compile(schema_of("{\"enum\":[" + many + "]}")).ok());
}

TEST(HostileGrammar, LargeRepetitionsEnd) {
  for (const char* regex : {"a{1000000}", "(a{1000}){1000}", "(a{1,300}){1,300}", "(((a{1,40}){1,40}){1,40})", "(a+)+b",
                            "(a|a)*", "(a*)*", "((a|ab|b)*(c|d)?){1,50}", "(.{0,1000}x){0,50}"}) {
    expect_answer(regex_of(regex), regex);
    expect_answer(schema_of(R"({"type":"string","pattern":")" + std::string(regex) + "\"}"), regex);
  }
  expect_answer(regex_of(repeated("[ab]", 4000)), "64 KB of classes");
  expect_answer(regex_of(repeated("(a|b)?", 2500)), "optional groups");
  for (const char* schema : {R"({"type":"string","minLength":100000})", R"({"type":"array","minItems":100000})",
                             R"({"type":"array","maxItems":99999,"items":{"type":"array","maxItems":99999}})"}) {
    expect_answer(schema_of(schema), schema);
  }
}

TEST(HostileGrammar, AmbiguousGrammarsEnd) {
  for (const char* text : {"root ::= (\"a\"*)*", "root ::= (\"\")*", "root ::= root root | \"a\" | \"\"",
                           "root ::= a\na ::= b\nb ::= a", "root ::= root", "root ::= (root? root?)* \"x\""}) {
    expect_answer(grammar_of(text), text);
  }
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 5000; ++i) chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  EXPECT_FALSE(compile(grammar_of(chain + "r5000 ::= \"a\"\n")).ok());
  chain = "root ::= r0\n";
  for (int i = 0; i < 900; ++i)
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " | \"x\" r" + std::to_string(i + 1) + "\n";
  expect_answer(grammar_of(chain + "r900 ::= \"a\"\n"), "a chain of 900 rules");
}

// Ten thousand tokens of the worst grammar: each costs a bounded amount, or the request ends with an error.
TEST(HostileGrammar, AnAmbiguousOutputEndsWithItsRequestNotWithTheEngine) {
  const auto grammar = compile(grammar_of("root ::= root root | \"a\" | \"b\" root \"b\" | \"\""));
  if (!grammar.ok()) return;
  auto state = GrammarState::make(*grammar, {256});
  ASSERT_TRUE(state.ok());
  std::vector<uint32_t> mask(9);
  for (int i = 0; i < 300; ++i) {
    Status status = (*state)->fill(mask);
    if (status.ok()) status = (*state)->accept('a');
    if (status.ok()) continue;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
    EXPECT_FALSE((*state)->fill(mask).ok()) << "a state that was lost must not come back";
    return;
  }
}

TEST(HostileGrammar, ABudgetThatIsTooSmallIsToldAndTheNextCompileWorks) {
  const auto source = check_constraint(schema_of(R"({"type":"object"})"));
  ASSERT_TRUE(source.ok());
  for (const WorkBudget::Limits& limits :
       {WorkBudget::Limits{.bytes = 10'000}, WorkBudget::Limits{.allocations = 500}}) {
    const auto made = Grammar::compile(byte_vocabulary(), *source, limits);
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.status().message(), ::testing::HasSubstr("than is granted"));
  }
  EXPECT_TRUE(Grammar::compile(byte_vocabulary(), *source, test_budget()).ok());
}

// Wherever an allocation fails, the compile ends in an error and nothing else.
TEST(HostileGrammar, NoAllocationThatFailsEndsTheProcess) {
  const auto source = check_constraint(
      schema_of(R"({"properties":{"a":{"type":"integer","minimum":3},"b":{"items":{"type":"string"}}}})"));
  const auto vocabulary = byte_vocabulary();
  for (int64_t allowed = 1; allowed < 200'000; allowed += 1 + allowed / 9) {
    const auto made = Grammar::compile(vocabulary, *source, {.allocations = allowed});
    if (made.ok()) return;
    EXPECT_THAT(made.status().message(), ::testing::HasSubstr("than is granted"));
  }
  FAIL() << "never compiled";
}

class ServiceTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Tokenizer> tokenizer_ = std::make_shared<FakeTokenizer>(byte_tokenizer());
};

TEST_F(ServiceTest, TheCacheStaysBelowItsLimitWhateverComes) {
  GrammarOptions options;
  options.cache_bytes = 300'000;
  GrammarService service(tokenizer_, tokenizer_->vocab_size(), options);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(service.compile(schema_of(R"({"type":"integer","minimum":)" + std::to_string(i) + "}")).ok());
    EXPECT_LE(service.cached_bytes(), options.cache_bytes);
  }
  EXPECT_GT(service.cached_bytes(), 0U);
}

TEST_F(ServiceTest, TheSameConstraintIsCompiledOnceAndABadOneHurtsNoGoodOne) {
  GrammarService service(tokenizer_, tokenizer_->vocab_size());
  const auto first = service.compile(schema_of(R"({"type":"integer"})"));
  EXPECT_FALSE(service.compile(grammar_of("root ::= missing")).ok());
  const auto second = service.compile(schema_of(R"( {"type": "integer"} )"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->get(), second->get());
}

TEST_F(ServiceTest, WhatWaitsAtTheEndIsToldSo) {
  std::mutex mutex;
  int told = 0;
  constexpr int kAll = 50;
  {
    GrammarService service(tokenizer_, tokenizer_->vocab_size());
    for (int i = 0; i < kAll; ++i) {
      service.compile(schema_of(R"({"type":"integer","minimum":)" + std::to_string(i) + "}"),
                      [&](const GrammarService::Result&) {
                        const std::lock_guard lock(mutex);
                        ++told;
                      });
    }
  }
  EXPECT_EQ(told, kAll);
}

TEST_F(ServiceTest, MoreThanMayWaitAreRefused) {
  GrammarOptions options;
  options.most_waiting = 0;
  GrammarService service(tokenizer_, tokenizer_->vocab_size(), options);
  EXPECT_EQ(service.compile(schema_of("{}")).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace inferens::testing
