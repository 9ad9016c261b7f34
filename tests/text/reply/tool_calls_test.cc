// Calls in the words of models that do not keep to their notation, and text that only looks like a call.
#include "base/random.h"
#include "reply_cases.h"

namespace inferens::testing {
namespace {

constexpr const char* kAllFormats[] = {"none",     "hermes", "llama3", "pythonic", "mistral",
                                       "deepseek", "kimi",   "gemma",  "harmony",  "json"};

void expect_call(const char* format, std::string_view text, std::string_view content = "",
                 std::string_view arguments = R"({"city": "Oslo"})") {
  SCOPED_TRACE(std::string(format) + ": " + std::string(text));
  const ReadReply read = read_reply(format_named(format), text);
  ASSERT_EQ(read.calls.size(), 1u) << ::testing::PrintToString(read);
  EXPECT_EQ(read.calls[0].name, "get_weather");
  EXPECT_EQ(read.calls[0].arguments, arguments);
  EXPECT_EQ(read.content, content);
  EXPECT_EQ(read.calls_ended, 1);
}

void expect_text(const char* format, std::string_view text) {
  const ReadReply read = read_reply(format_named(format), text);
  EXPECT_TRUE(read.calls.empty()) << format << ": " << text;
  EXPECT_EQ(read.content, text) << format;
}

TEST(ToolCallsTest, SmallModelsForgetTheirMarkersAndTheirCallsAreFoundAllTheSame) {
  for (const char* format : {"hermes", "json", "gemma", "llama3"}) {
    expect_call(format, "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```");
    expect_call(format, R"({"name": "get_weather", "arguments": {"city": "Oslo"}})");
    expect_call(format, R"(  {"arguments": {"city": "Oslo"}, "name": "get_weather"}  )");
    expect_call(format, "Sure:\n```json\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\"}}\n```\nDone.",
                "Sure:Done.");
  }
  expect_call("hermes", R"(<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}})");
  expect_call("hermes", R"(<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}</tool_call>)");
  expect_call("hermes", R"(<tool_call>{"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}</tool_call>)");
  expect_call("hermes", R"(<tools>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tools>)");
  expect_call("hermes", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>");
  expect_call("hermes", "<function=get_weather><parameter=city>Oslo</parameter></function>\n</tool_call>");
  expect_call("llama3", R"(<|python_tag|>{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}})");
  expect_call("json", R"([{"name": "get_weather", "arguments": {"city": "Oslo"}}])");
  expect_call("mistral", R"([TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}}])");
  expect_call("gemma", "```tool_code\nget_weather(city=\"Oslo\")\n```");
  expect_call("gemma", "```tool_code\nprint(get_weather(city='Oslo'))\n```");
  expect_call("gemma", "[get_weather(city='Oslo')]");
  expect_call("pythonic", "[get_weather(city='Oslo')]");
  expect_call("harmony",
              R"(<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"})");
}

TEST(ToolCallsTest, ACallWithoutArgumentsHasAnEmptyObject) {
  EXPECT_EQ(read_reply(format_named("hermes"), R"(<tool_call>{"name": "now"}</tool_call>)").calls[0].arguments, "{}");
  EXPECT_EQ(read_reply(format_named("hermes"), R"(<tool_call>{"name": "now", "arguments": null}</tool_call>)")
                .calls[0]
                .arguments,
            "{}");
  EXPECT_EQ(read_reply(format_named("hermes"), "<tool_call><function=now></function></tool_call>").calls[0].arguments,
            "{}");
  EXPECT_EQ(read_reply(format_named("pythonic"), "[now()]").calls[0].arguments, "{}");
}

TEST(ToolCallsTest, SeveralCallsKeepTheirOrderAndTheBlanksBetweenThemAreNotSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"hermes",
       "Two.\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"name\": "
       "\"get_weather\", \"arguments\": {\"days\": 2}}\n</tool_call>\n"},
      {"llama3", "{\"name\": \"now\", \"parameters\": {}}; {\"name\": \"get_weather\", \"parameters\": {\"days\": 2}}"},
      {"llama3", "{\"name\": \"now\", \"parameters\": {}}\n{\"name\": \"get_weather\", \"parameters\": {\"days\": 2}}"},
      {"pythonic", "[now(), get_weather(days=2)]"},
      {"gemma", "```tool_code\nnow()\nget_weather(days=2)\n```"},
      {"mistral", "[TOOL_CALLS]now[ARGS]{}[TOOL_CALLS]get_weather[ARGS]{\"days\": 2}"},
      {"json",
       "```json\n[{\"name\": \"now\", \"arguments\": {}}, {\"name\": \"get_weather\", \"arguments\": {\"days\": "
       "2}}]\n```"},
      {"json",
       "```json\n{\"name\": \"now\", \"arguments\": {}}\n```\n\n```json\n{\"name\": \"get_weather\", \"arguments\": "
       "{\"days\": 2}}\n```"},
  };
  for (const auto& [format, text] : cases) {
    SCOPED_TRACE(text);
    const ReadReply read = read_reply(format_named(format), text);
    ASSERT_EQ(read.calls.size(), 2u) << ::testing::PrintToString(read);
    EXPECT_EQ(read.calls[0].name, "now");
    EXPECT_EQ(read.calls[1], (ReadReply::Call{"get_weather", R"({"days": 2})", ""}));
    EXPECT_EQ(read.content, std::string_view(text).starts_with("Two") ? "Two." : "");
  }
}

TEST(ToolCallsTest, TextThatOnlyLooksLikeACallIsText) {
  for (const char* format : kAllFormats) {
    for (const char* text : {
             "",
             " ",
             "\n\n",
             "Hello",
             "{",
             "[",
             "<",
             "```",
             "```json",
             "```json\n",
             "{}",
             "[1, 2]\n",
             "<tool",
             "a < b\n",
             R"({"name": "Alice", "age": 3})",
             R"({"name": "unknown_tool", "arguments": {}})",
             R"({"arguments": {"city": "Oslo"}})",
             R"({"name": "get_weather", "color": 1})",
             R"({"name": "get_weather"})",
             "```json\n{\"city\": \"Oslo\"}\n```",
             "```json\n[1,\n 2]\n``` and more",
             "[get_weather]",
             "[open_door(a=1)]",
             "[x(1)](http://example.org) is a link",
             "{{{{",
             "[[[[",
             "if (a) { return [1]; }",
             "```\n{\"name\": \"Bob\"}\n```",
             "get_weather(city='Oslo') is how it is called",
         }) {
      expect_text(format, text);
    }
  }
  expect_text("hermes", "<tool_call>");
  expect_text("hermes", "<tool_call>\nno json\n</tool_call>");
  expect_text("hermes", R"(<tool_call>{"name": 5, "arguments": {}}</tool_call>)");
  expect_text("hermes", R"(<tool_call>{"name": "", "arguments": {}}</tool_call>)");
  expect_text("hermes", R"(<tool_call>{"name": "get_weather", "arguments": [1]}</tool_call>)");
  expect_text("hermes", R"(<tool_call>{"name": "get_weather", "arguments": "no json"}</tool_call>)");
  expect_text("hermes", "Say <tool_call> to call");
  expect_text("pythonic", "[get_weather('Oslo')]");
  expect_text("mistral", "[TOOL_CALLS]");
  expect_text("deepseek", "<｜tool▁call▁begin｜>function");
}

TEST(ToolCallsTest, ACallAfterOneThatFailedIsFound) {
  const ReadReply read =
      read_reply(format_named("hermes"),
                 R"(<tool_call><tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>)");
  ASSERT_EQ(read.calls.size(), 1u);
  EXPECT_EQ(read.content, "<tool_call>");
}

// The client gets what the model wrote and can tell it so.
TEST(ToolCallsTest, ArgumentsThatAreNoJsonArePassedOnUpToTheClosingMarker) {
  expect_call("hermes", R"(<tool_call>{"name": "get_weather", "arguments": {"city": Oslo}}</tool_call>)", "",
              R"({"city": Oslo}})");
  expect_call("mistral", R"([TOOL_CALLS]get_weather[ARGS]{"city": 'Oslo'})", "", R"({"city": 'Oslo'})");
  expect_call("deepseek", "<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": Oslo}<｜tool▁call▁end｜>", "",
              "{\"city\": Oslo}");
}

TEST(ToolCallsTest, AMarkerInsideAnArgumentDoesNotEndTheCall) {
  expect_call("hermes", R"(<tool_call>{"name": "get_weather", "arguments": {"city": "</tool_call>{"}}</tool_call>)", "",
              R"({"city": "</tool_call>{"})");
}

TEST(ToolCallsTest, PythonsLiteralsBecomeJson) {
  expect_call(
      "pythonic",
      R"([get_weather(city='it\'s "x"\n\u00e9', days=-1_000, a=[1, .5, 2., (3,)], b={'k': None, "l": True,}, c=False,)])",
      "",
      R"({"city": "it's \"x\"\né", "days": -1000, "a": [1, 0.5, 2.0, [3]], "b": {"k": null, "l": true}, "c": false})");
  for (const char* text : {"[get_weather(a=b)]", "[get_weather(a=1 b=2)]", "[get_weather(a=)]", "[get_weather(=1)]",
                           "[get_weather(a='x)]", "[get_weather(a=__import__('os').system('x'))]",
                           "[get_weather(a=1+1)]", "[get_weather(**{'a': 1})]", "[get_weather(a=[1)]"}) {
    expect_text("pythonic", text);
  }
  const std::string deep = "[get_weather(a=" + std::string(10'000, '[') + std::string(10'000, ']') + ")]";
  expect_text("pythonic", deep);
}

TEST(ToolCallsTest, ValuesBetweenTagsTakeTheirTypeFromTheSchema) {
  expect_call("hermes",
              "<tool_call><function=get_weather><parameter=city>5</parameter><parameter=days>5</"
              "parameter><parameter=x>[1]</parameter><parameter=y>a \"b\"\n</parameter></function></tool_call>",
              "", R"({"city": "5", "days": 5, "x": [1], "y": "a \"b\""})");
}

TEST(ToolCallsTest, WithoutToolsNothingIsTakenForACall) {
  const std::string text = R"(<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>)";
  EXPECT_EQ(read_reply(format_named("hermes"), text, false, nullptr).content, text);
}

// Hostile output must neither crash, hang nor vanish; and where it was cut must not show.
TEST(ToolCallsTest, AnythingAtAllIsReadTheSameHoweverItIsCut) {
  const char* const pieces[] = {"<tool_call>",
                                "</tool_call>",
                                "{",
                                "}",
                                "[",
                                "]",
                                "\"",
                                ":",
                                ",",
                                "\\",
                                "\"name\"",
                                "\"arguments\"",
                                "\"get_weather\"",
                                "{\"name\": \"get_weather\", \"arguments\": {",
                                "\"id\"",
                                "1",
                                "-",
                                "e5",
                                "true",
                                "null",
                                "```json\n",
                                "```",
                                "```tool_code\n",
                                "get_weather(",
                                "city='Oslo'",
                                ")",
                                "\n",
                                " ",
                                "x",
                                "é",
                                "😀",
                                "[TOOL_CALLS]",
                                "[ARGS]",
                                "<function=get_weather>",
                                "<parameter=city>",
                                "</parameter>",
                                "</function>",
                                "<think>",
                                "</think>",
                                "<|python_tag|>",
                                ";",
                                "<｜tool▁call▁begin｜>",
                                "<｜tool▁sep｜>",
                                "<｜tool▁call▁end｜>",
                                "<|tool_call_begin|>functions.get_weather:0",
                                "<|tool_call_argument_begin|>",
                                "<|channel|>",
                                "analysis",
                                "final",
                                "<|message|>",
                                "<|end|>",
                                "<|start|>",
                                " to=functions.get_weather",
                                "<|tool_call_start|>"};
  RandomSequence random(11);
  for (int i = 0; i < 4000; ++i) {
    const ReplyFormat format =
        format_named(kAllFormats[random.below(std::size(kAllFormats))], random.below(2) == 0 ? "none" : "think");
    std::string text;
    for (int64_t n = random.between(0, 25); n > 0; --n) text += pieces[random.below(std::size(pieces))];
    const bool open = random.below(4) == 0;
    const ReadReply whole = read_reply(format, text, open);
    std::vector<size_t> all;
    for (size_t at = 1; at < text.size(); ++at) all.push_back(at);
    ASSERT_EQ(read_in_pieces(format, text, all, open, weather_tools()), whole) << text;
    std::vector<size_t> some;
    for (size_t at = 0; at < text.size(); at += static_cast<size_t>(random.between(1, 12))) some.push_back(at);
    ASSERT_EQ(read_in_pieces(format, text, some, open, weather_tools()), whole) << text;
    for (const ReadReply::Call& call : whole.calls) ASSERT_FALSE(call.name.empty());
    const bool drops_markers = format.tools == ToolFormat::kHarmony || format.reasoning != nullptr;
    if (!drops_markers && whole.calls.empty()) {
      ASSERT_EQ(whole.content, text);
    }
  }
}

TEST(ToolCallsTest, TextThatNeverDecidesIsGivenBackWithoutGrowingForEver) {
  const size_t kLong = size_t{1} << 20;
  for (const std::string& opening :
       {std::string("<tool_call>"), std::string("<tool_call>{\"arguments\": {\"a\": \""),
        std::string("<tool_call>{\"name\": \""), std::string("<tool_call><function="), std::string("{\"id\": \"")}) {
    ReplyParser parser(format_named("hermes"), false, weather_tools());
    ReadReply read;
    read.take(parser.push(opening));
    for (size_t i = 0; i < kLong; i += 64) read.take(parser.push(std::string(64, 'a')));
    EXPECT_GT(read.content.size(), kLong - (size_t{128} << 10)) << opening;
    read.take(parser.finish());
    EXPECT_EQ(read.content.size(), opening.size() + kLong);
  }
  ReplyParser blanks(format_named("hermes", "think"), false, weather_tools());
  ReadReply read;
  for (int i = 0; i < 1000; ++i) read.take(blanks.push("\n\n"));
  EXPECT_GT(read.content.size(), 1000u);
}

TEST(JsonScannerTest, AgreesWithAParserOnWhatIsJson) {
  const char* const pieces[] = {"{", "}",  "[",   "]",    "\"",  "\"a\"", ":", ",",       "1",  "-",
                                "0", ".5", "e+1", "true", "nul", "null",  " ", "\\u00e9", "\\", "x"};
  RandomSequence random(3);
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random.below(2) == 0 ? "{\"a\":" : "[";
    const bool object = text[0] == '{';
    for (int64_t n = random.between(0, 6); n > 0; --n) text += pieces[random.below(std::size(pieces))];
    text += object ? "}" : "]";
    JsonScanner scanner;
    JsonScanner::State state = JsonScanner::State::kMore;
    size_t taken = 0;
    while (taken < text.size() && state == JsonScanner::State::kMore) state = scanner.push(text[taken++]);
    const bool done = state == JsonScanner::State::kDone && taken == text.size();
    const bool accepted = nlohmann::json::accept(text);
    const bool blanks_behind = state == JsonScanner::State::kDone && nlohmann::json::accept(text.substr(0, taken));
    EXPECT_TRUE(done == accepted || blanks_behind) << text;
    valid += accepted ? 1 : 0;
  }
  EXPECT_GT(valid, 500);
  std::string deep(200, '[');
  JsonScanner scanner;
  JsonScanner::State state = JsonScanner::State::kMore;
  for (size_t i = 0; i < deep.size() && state == JsonScanner::State::kMore; ++i) state = scanner.push(deep[i]);
  EXPECT_EQ(state, JsonScanner::State::kBad);
}

}  // namespace
}  // namespace inferens::testing
