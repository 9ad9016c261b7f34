// A schema, regex or grammar that was promised is kept to the letter, or refused by name: nothing in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/grammar/json_schema.h"
#include "grammar_fixture.h"

namespace inferens::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* source;
  std::vector<std::string> taken;
  std::vector<std::string> refused;
};

void expect_keeps(const OutputConstraint& constraint, const Case& c) {
  const auto grammar = compile(constraint);
  ASSERT_TRUE(grammar.ok()) << c.source << ": " << grammar.status().message();
  for (const std::string& text : c.taken) EXPECT_TRUE(takes(*grammar, text)) << c.source << " must take " << text;
  for (const std::string& text : c.refused)
    EXPECT_FALSE(takes(*grammar, text)) << c.source << " must not take " << text;
}

class KeptSchema : public ::testing::TestWithParam<Case> {};
TEST_P(KeptSchema, TakesWhatItSaysAndNothingElse) {
  expect_keeps(schema_of(GetParam().source), GetParam());
}

// Many of these are public fault reports of engines that let the wrong text through, or none.
INSTANTIATE_TEST_SUITE_P(
    Strings, KeptSchema,
    ::testing::Values(
        Case{R"({"type":"string"})",
             {R"("")", R"("a\"b")", R"("\u0041")", R"("\ud83d\ude00")", "\"\U0001F600\""},
             {"\"a\nb\"", std::string("\"\x01\"", 3), R"("\ud83d")", R"("\ude00")", "\"\xff\"", R"("\x41")",
              "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc0\xaf\"", "\"\xe2\x82\""}},
        Case{R"({"type":"string","minLength":2,"maxLength":3})",
             {R"("ab")", R"("\"\"")", "\"\\u00e9\u00e9\"", R"("\ud83d\ude00a")", "\"\U0001F600a\""},
             {R"("a")", R"("abcd")", R"("\ud83d\ude00")", R"("\ud83da")", "\"a\tb\""}},
        Case{R"({"type":"string","maxLength":0})", {R"("")"}, {R"("a")"}},
        Case{R"({"type":"string","pattern":"^\\d+$"})", {R"("12")"}, {R"("")", R"("1a")"}},
        Case{R"({"type":"string","pattern":"[0-9]"})", {R"("a1b")", R"("1")"}, {R"("ab")"}},
        Case{R"({"type":"string","pattern":"^(?:A|B)$"})", {R"("A")"}, {R"("C")", R"("AB")"}},
        Case{R"({"type":"string","pattern":"^a|b$"})", {R"("ax")", R"("xb")"}, {R"("xa")"}},
        Case{R"({"type":"string","pattern":"^[\\w-]+\\/\\s$"})", {R"("a-b/ ")"}, {R"("a b/ ")"}},
        Case{R"({"type":"string","pattern":"^\"[^\"]*\"$"})", {R"("\"x\"")"}, {R"(""x"")"}},
        Case{R"({"type":"string","pattern":"^[^a]$"})",
             {R"("b")", R"("\"")", R"("\n")"},
             {R"(""")", R"("a")", "\"\n\""}},
        Case{R"({"type":"string","format":"date"})", {R"("2024-02-28")"}, {R"("2024-02-30")", R"("2024-13-01")"}},
        Case{R"({"type":"string","format":"date-time"})",
             {R"("2024-01-31T23:59:59.5+01:00")"},
             {R"("2024-01-31")", R"("2024-01-31T25:00:00Z")"}},
        Case{R"({"type":"string","format":"ipv4"})", {R"("255.0.10.1")"}, {R"("256.0.0.1")", R"("1.2.3")"}},
        Case{R"({"type":"string","format":"uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"}},
        Case{R"({"type":["string","null"],"minLength":2})", {"null", R"("ab")"}, {R"("a")", "1"}}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, KeptSchema,
    ::testing::Values(
        Case{R"({"type":"integer"})", {"0", "-12", "123456789012345678901234567890"}, {"01", "1.0", "1e3", "-", ""}},
        Case{R"({"type":"integer","minimum":3})", {"3", "10", "39"}, {"2", "01", "-1", "3.0"}},
        Case{
            R"({"type":"integer","minimum":-123,"maximum":42})", {"-123", "0", "42", "-9"}, {"-124", "43", "00", "-0"}},
        Case{R"({"type":"integer","exclusiveMinimum":99,"exclusiveMaximum":101})", {"100"}, {"99", "101"}},
        Case{R"({"type":"integer","minimum":3,"exclusiveMinimum":3})", {"4"}, {"3"}},
        Case{R"({"type":"integer","minimum":0.5,"maximum":2.5})", {"1", "2"}, {"0", "3"}},
        Case{R"({"type":"integer","minimum":-2.5,"maximum":-0.5})", {"-2", "-1"}, {"-3", "0"}},
        Case{R"({"type":"integer","minimum":9223372036854775807})",
             {"9223372036854775807", "9223372036854775808"},
             {"9223372036854775806"}},
        Case{R"({"type":"integer","format":"int32"})",
             {"2147483647", "-2147483648", "0"},
             {"2147483648", "-2147483649"}},
        Case{R"({"type":"integer","format":"int64","minimum":5})",
             {"5", "9223372036854775807"},
             {"4", "9223372036854775808"}},
        Case{R"({"type":"integer","multipleOf":7})", {"0", "14", "-21", "700"}, {"8", "07", "-20"}},
        Case{R"({"type":"integer","multipleOf":7,"minimum":1,"maximum":100})", {"7", "98"}, {"0", "105", "8"}},
        Case{R"({"type":"number"})", {"0", "-0.5", "1e5", "12.5E-3"}, {".5", "1.", "01", "+1", "NaN", "1e999"}},
        Case{R"({"type":"number","minimum":-1.5,"maximum":2.25})",
             {"-1.5", "2.25", "2.250", "0", "-1.49", "0.001"},
             {"2.26", "2.2500001", "-1.51", "-2", "3", "1e5"}},
        Case{R"({"type":"number","exclusiveMinimum":0})", {"0.1", "0.0000001", "7"}, {"0", "0.0", "-1"}},
        Case{R"({"type":"number","exclusiveMaximum":1.5})", {"1.49", "-3", "0"}, {"1.5", "1.50", "1.51", "2"}},
        Case{R"({"type":"number","minimum":9.5,"maximum":10.5})",
             {"9.5", "10", "10.5", "9.99"},
             {"9.4", "10.51", "9", "11"}}));

INSTANTIATE_TEST_SUITE_P(
    Values, KeptSchema,
    ::testing::Values(
        Case{R"({"enum":["\u00e9","a/b",1.5,null,{"a":[1]}]})",
             {"\"\u00e9\"", R"("a/b")", "1.5", "null", R"({"a":[1]})"},
             {R"("?")", "2"}},
        Case{R"({"enum":["a",1],"type":"string"})", {R"("a")"}, {"1"}},
        Case{R"({"const":12345678901234567})", {"12345678901234567"}, {"12345678901234568"}},
        Case{R"({"$ref":"#/$defs/color","$defs":{"color":{"enum":["red","blue"]}}})",
             {R"("red")"},
             {R"("green")", "{}"}},
        Case{R"({"properties":{"list":{"items":{"type":"boolean"}},"one":{"$ref":"#/properties/list/items"}}})",
             {R"({"list":[true],"one":false})"},
             {R"({"one":1})"}},
        Case{R"({"anyOf":[{"type":"integer"},{"type":"null"}],"title":"t","default":null})", {"1", "null"}, {R"("a")"}},
        Case{R"({"allOf":[{"type":"integer"}],"description":"d"})", {"1"}, {"true"}},
        Case{
            R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"},"v":{"type":"integer"}},"required":["k","v"]}]})",
            {R"({"k":"a"})", R"({"k":"b","v":1})"},
            {R"({"k":"b"})"}},
        Case{"true", {"1", R"({"a":[null]})"}, {"tru", ""}}));

INSTANTIATE_TEST_SUITE_P(
    Objects, KeptSchema,
    ::testing::Values(
        Case{R"({"type":"object"})", {"{}", R"({"a":{"b":1}})"}, {"[]", "1"}},
        Case{R"({"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["b"]})",
             {R"({"b":1})", R"({ "a" : 1 , "b" : 2 })", "{\n  \"b\": 1\n}"},
             {"{}", R"({"a":1})", R"({"b":1,"c":2})", R"({"b":1,})", R"({"b":1,"b":2})"}},
        Case{R"({"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"string"}})",
             {"{}", R"({"a":1,"b":"x"})", R"({"ab":"x"})", R"({"":"x"})"},
             {R"({"a":"x"})", R"({"\u0061":"x"})", R"({"b":1})"}},
        Case{
            R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["z"],"additionalProperties":{"type":"integer"}})",
            {R"({"z":1})", R"({"a":1,"z":1})"},
            {"{}", R"({"a":1})"}},
        Case{R"({"type":"object","properties":{"a":true,"b":true,"c":true},"minProperties":2,"maxProperties":2})",
             {R"({"a":1,"c":1})", R"({"b":1,"c":1})"},
             {R"({"a":1})", R"({"a":1,"b":1,"c":1})"}},
        Case{R"({"type":"object","patternProperties":{"^x+$":{"type":"integer"}}})",
             {"{}", R"({"x":1,"xx":2})"},
             {R"({"y":1})", R"({"x":"a"})"}},
        Case{
            R"({"type":"object","propertyNames":{"maxLength":1},"additionalProperties":{"type":"integer"},"maxProperties":2})",
            {"{}", R"({"a":1,"b":2})"},
            {R"({"ab":1})", R"({"a":1,"b":1,"c":1})"}},
        Case{R"({"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#"}},"required":["v"]})",
             {R"({"v":1,"next":{"v":2}})"},
             {R"({"v":1,"next":{}})"}}));

INSTANTIATE_TEST_SUITE_P(
    Arrays, KeptSchema,
    ::testing::Values(Case{R"({"type":"array"})", {"[]", R"([1,"a",[]])"}, {"[1,]", "{}"}},
                      Case{R"({"items":{"type":"integer"},"minItems":2,"maxItems":3})",
                           {"[1,2]", "[ 1, 2 , 3 ]"},
                           {"[1]", "[1,2,3,4]", "[]", R"([1,"a"])"}},
                      Case{R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
                      Case{R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false})",
                           {"[]", "[1]", R"([1,"a"])"},
                           {R"(["a"])", R"([1,"a",2])"}},
                      Case{
                          R"({"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2})",
                          {"[1,null]", "[1,null,null]"},
                          {"[1]", "[1,2]"}},
                      Case{R"({"items":{"type":"number"},"minItems":10,"maxItems":1000})",
                           {"[1,2,3,4,5,6,7,8,9,10]"},
                           {"[1,2,3,4,5,6,7,8,9]"}}));

struct Refused {
  const char* schema;
  const char* pointer;
};
class RefusedSchema : public ::testing::TestWithParam<Refused> {};
TEST_P(RefusedSchema, IsNamedByItsPointer) {
  const auto made = json_schema_to_ebnf(GetParam().schema);
  ASSERT_FALSE(made.ok()) << GetParam().schema;
  EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(made.status().message(), ::testing::StartsWith(std::string(GetParam().pointer) + ": "));
}

INSTANTIATE_TEST_SUITE_P(
    Keywords, RefusedSchema,
    ::testing::Values(
        Refused{R"({"type":"number","multipleOf":0.01})", "#/multipleOf"},
        Refused{R"({"type":"integer","multipleOf":3,"minimum":0})", "#/multipleOf"},
        Refused{R"({"type":"array","uniqueItems":true})", "#/uniqueItems"},
        Refused{R"({"properties":{"a~/b":{"not":{}}}})", "#/properties/a~0~1b/not"},
        Refused{R"({"if":{},"then":{}})", "#/if"}, Refused{R"({"contains":{}})", "#/contains"},
        Refused{R"({"dependentRequired":{}})", "#/dependentRequired"}, Refused{R"({"nullable":true})", "#/nullable"},
        Refused{R"({"type":"string","minlength":3})", "#/minlength"},
        Refused{R"({"type":"string","pattern":"a","minLength":3})", "#/pattern"},
        Refused{R"({"type":"string","pattern":"(?=a)b"})", "#/pattern"},
        Refused{R"({"type":"string","pattern":"\\bx"})", "#/pattern"},
        Refused{R"({"type":"string","pattern":"(a)\\1"})", "#/pattern"},
        Refused{R"({"type":"string","pattern":"(a"})", "#/pattern"},
        Refused{R"({"type":"string","format":"regex"})", "#/format"},
        Refused{R"({"type":"integer","format":"uint8"})", "#/format"},
        Refused{R"({"anyOf":[{"type":"object"}],"properties":{"a":{}}})", "#/properties"},
        Refused{R"({"oneOf":[{"type":"integer"},{"type":"number"}]})", "#/oneOf"},
        Refused{R"({"oneOf":[{"type":"string"},{"properties":{"a":{}}}]})", "#/oneOf"},
        Refused{R"({"allOf":[{"type":"object"},{"type":"object"}]})", "#/allOf"},
        Refused{R"({"$ref":"http://x/y"})", "#/$ref"}, Refused{R"({"$ref":"#/$defs/none"})", "#/$ref"},
        Refused{R"({"$ref":"#/$defs/a","minimum":1,"$defs":{"a":{}}})", "#/minimum"},
        Refused{R"({"properties":{"a":{"type":"object","properties":{"b":{"type":"integre"}}}}})",
                "#/properties/a/properties/b/type"},
        Refused{R"({"properties":{"a":false}})", "#/properties/a"}, Refused{R"({"minLength":2,"minimum":1})", "#"},
        Refused{R"({"type":"integer","minimum":4,"maximum":3})", "#"}, Refused{R"({"enum":[]})", "#/enum"},
        Refused{R"({"type":"integer","enum":["a"]})", "#/enum"},
        Refused{R"({"properties":{},"required":["a"]})", "#/required"},
        Refused{R"({"minProperties":2})", "#/minProperties"}, Refused{R"({"maxItems":1000000})", "#/maxItems"},
        Refused{R"({"type":"array","items":[{}]})", "#/items"},
        Refused{R"({"type":"string","minLength":-1})", "#/minLength"},
        Refused{R"({"type":"string","type":"integer"})", "#/type"},
        Refused{R"({"properties":{"a":{"$ref":"#"}},"required":["a"]})", "#"},
        Refused{R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})", "#"},
        Refused{"[]", "#"}));

TEST(GrammarSchema, WhatIsNoJsonIsRefused) {
  for (const char* text : {"", "{", "{\"type\":\"string\"", "nonsense", "{\"a\":\"\xff\"}"}) {
    EXPECT_THAT(json_schema_to_ebnf(text).status().message(), HasSubstr("not JSON")) << text;
  }
}

TEST(GrammarRegex, IsKeptForTheWholeAnswer) {
  for (const Case& c : {
           Case{"[0-9]{3}-[0-9]{2}", {"123-45"}, {"123-456", "12-45", "x123-45"}},
           Case{"^(yes|no)$", {"yes", "no"}, {"maybe", "yesno", ""}},
           Case{"^hello there indeed\\!$", {"hello there indeed!"}, {"hello there indeed", "hi"}},
           Case{"a{2,}b?", {"aa", "aaab"}, {"a", "ab"}},
           Case{"[^a-c\\]]+", {"xyz", "\U0001F600"}, {"abc", "]", ""}},
           Case{"\\u00e9|\\x41|\\u{1F600}", {"\u00e9", "A", "\U0001F600"}, {"e"}},
           Case{"(a|b|)c*?", {"", "a", "bcc"}, {"ab"}},
           Case{".", {"x", "\u00e9"}, {"\n", "xy"}},
       }) {
    expect_keeps(regex_of(c.source), c);
  }
}

TEST(GrammarRegex, WhatCannotBeKeptIsRefusedWithItsPlace) {
  for (const char* regex :
       {"a(?!b)", "(?<=a)b", "\\bword", "(x)\\1", "\\p{L}", "(?i)a",     "a**",
        "a{3,2}", "[z-a]",   "(",       ")",      "[a",     "a$b",       "a^b",
        "*a",     "a\\",     "\\q",     "a{",     "[]",     "a{200000}", "((a{1000}){1000}){1000}"}) {
    const auto made = compile(regex_of(regex));
    ASSERT_FALSE(made.ok()) << regex;
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(made.status().message(), HasSubstr("regex: at character ")) << regex;
  }
}

TEST(GrammarChoice, OneOfThemAndNothingElse) {
  OutputConstraint constraint;
  constraint.kind = OutputConstraint::Kind::kChoice;
  constraint.choices = {"yes", "no", "say \"hi\"\\\n", "\u00e9", "yes sir"};
  const auto grammar = compile(constraint);
  ASSERT_TRUE(grammar.ok());
  for (const std::string& choice : constraint.choices) EXPECT_TRUE(takes(*grammar, choice)) << choice;
  EXPECT_FALSE(takes(*grammar, "yesno"));
  EXPECT_FALSE(takes(*grammar, ""));
  for (std::vector<std::string> bad : {std::vector<std::string>{}, {""}, {"\xff"}}) {
    constraint.choices = bad;
    EXPECT_FALSE(compile(constraint).ok());
  }
}

TEST(GrammarEbnf, IsKept) {
  expect_keeps(
      grammar_of(
          "root ::= greeting \" \" name  # a comment (\ngreeting ::= \"hi\" | \"hello\"\nname ::= [A-Z] [a-z]{1,3}\n"),
      {"greeting", {"hi Bob", "hello Al"}, {"hi bob", "hi Robert", "Bob"}});
  expect_keeps(grammar_of("root ::= \"(\" root \")\" | \"\"\n"), {"nested", {"", "((()))"}, {"(()", ")("}});
  expect_keeps(grammar_of("root ::= [^\"x]+\n"),
               {"UTF-8",
                {"a\u00e9\uffff\U0001F600"},
                {"x", "\xff", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80", "\xc0\xaf"}});
  expect_keeps(grammar_of("root ::= root \"a\" | \"b\"\n"), {"left recursion", {"b", "baa"}, {"a", "ab"}});
}

TEST(GrammarEbnf, WhatDoesNotParseIsRefusedAndNeverDropped) {
  for (const char* text : {"", "root ::= ", "root ::= (\"a\"", "root ::= missing", "start: \"a\"", "other ::= \"a\"",
                           "root ::= \"a", "root ::= [a", "root ::= \"a\"{20000}", "root ::= \xff", "root ::= Token(5)",
                           "root ::= Regex(\"(a+)+b\")", "root ::= a\na[max_tokens=3] ::= \"b\"*",
                           "root ::= \"a\" (=\"b\")", "root ::= a\na ::= TagDispatch((\"t\", root))"}) {
    const auto made = compile(grammar_of(text));
    EXPECT_FALSE(made.ok()) << text;
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument) << text << made.status().message();
  }
  // What the library would not read to its end, or not as the checks do.
  EXPECT_FALSE(compile(grammar_of(std::string("root ::= \"a\" | \"b\"\0 nonsense", 30))).ok());
  EXPECT_FALSE(
      compile(grammar_of("root ::= \"a\" # \r" + std::string(200, '(') + "\"b\"" + std::string(200, ')'))).ok());
}

}  // namespace
}  // namespace inferens::testing
