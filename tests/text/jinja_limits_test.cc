// A hostile or broken template costs an error, never the process, the machine's memory or a second.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "text/chat_template.h"

namespace inferens {
namespace {

std::string repeat(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

Status run(const std::string& source) {
  auto parsed = ChatTemplate::parse(source, "<s>", "</s>");
  if (!parsed.ok()) return parsed.status();
  ChatPrompt prompt;
  ChatMessage message;
  message.role = "user";
  message.content = "hello";
  prompt.messages = {message};
  return (*parsed)->render(prompt, system_clock()).status();
}

TEST(JinjaLimitsTest, DeepNestingIsAnError) {
  for (const std::string& source : {
           "{{ " + repeat("(", 6000) + "1" + repeat(")", 6000) + " }}",
           repeat("{% if true %}", 5500) + repeat("{% endif %}", 5500),
           repeat("{% for x in [1] %}", 5500) + repeat("{% endfor %}", 5500),
           "{{ " + repeat("[", 6000) + repeat("]", 6000) + " }}",
           "{{ " + repeat("{1:", 6000) + "1" + repeat("}", 6000) + " }}",
           "{{ " + repeat("not ", 50000) + "1 }}",
           "{{ " + repeat("-", 50000) + "1 }}",
           "{{ 1" + repeat(" + 1", 50000) + " }}",
           "{{ 1" + repeat(" and 1", 50000) + " }}",
           "{{ x" + repeat(".y", 50000) + " }}",
           "{{ x" + repeat("[0]", 50000) + " }}",
           "{{ x" + repeat("()", 50000) + " }}",
           "{{ x" + repeat("|trim", 50000) + " }}",
           "{{ x" + repeat(" is defined", 50000) + " }}",
           "{{ 1" + repeat(" if 1 else 1", 50000) + " }}",
           "{{ 1" + repeat(" if 1", 50000) + " }}",
           "{% set " + repeat("(", 50000) + "a" + repeat(")", 50000) + " = 1 %}",
           repeat("{% macro m() %}", 5500) + repeat("{% endmacro %}", 5500),
           "{{ x" + repeat("[(", 6000),
       }) {
    EXPECT_FALSE(run(source).ok()) << source.substr(0, 40);
  }
}

TEST(JinjaLimitsTest, WideTemplatesOfRealSizeAreNotDeep) {
  std::string many_elifs = "{% if false %}";
  for (int i = 0; i < 1000; ++i) many_elifs += "{% elif messages[0].role == 'r" + std::to_string(i) + "' %}x";
  EXPECT_TRUE(run(many_elifs + "{% endif %}").ok());
  EXPECT_TRUE(run("{{ 'a'" + repeat(" ~ 'a'", 5000) + " }}").ok());
  EXPECT_TRUE(run("{{ 'a'" + repeat(" + 'a'", 150) + " }}").ok());
  EXPECT_TRUE(run(repeat("{% if true %}{{ 1 }}{% endif %}", 5000)).ok());
  EXPECT_TRUE(run(repeat("{% if true %}", 30) + "x" + repeat("{% endif %}", 30)).ok());
}

TEST(JinjaLimitsTest, EndlessWorkIsCutByTheStepBudget) {
  for (const std::string source : {
           "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
           "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
           "{% macro a() %}{{ b() }}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{{ a() }}{% endmacro %}{{ a() }}",
           "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(50) }}",
           "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
           "{% for x in [1] recursive %}{% for y in [1, 2, 3] %}{{ loop([1]) }}{% endfor %}{{ loop([1, 2, 3]) }}{% "
           "endfor %}",
           "{% set ns = namespace(l=[1]) %}{% for x in range(64) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
           "{% set ns = namespace(l=[1]) %}{% for x in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}",
           "{% set ns = namespace(l=[1]) %}{% for x in range(99999) %}{% set ns.l = ns.l|map('string') %}{% endfor "
           "%}{{ ns.l|list }}",
           "{% for a in range(99999) %}{% for b in range(99999) %}{{ a.conjugate }}{% endfor %}{% endfor %}",
           "{{ range(99999)|map('string')|list|sort|unique|batch(1)|map('join')|map('list')|list|length }}{% for a in "
           "range(999) %}{{ range(99999)|list|length }}{% endfor %}",
       }) {
    EXPECT_FALSE(run(source).ok()) << source;
  }
}

TEST(JinjaLimitsTest, HugeTextsAndListsAreRefusedBeforeTheyAreMade) {
  for (const std::string source : {
           "{{ 'a' * 10**9 }}",
           "{{ 'a' * 2**62 }}",
           "{{ 10**9 * 'a' }}",
           "{{ [1] * 10**9 }}",
           "{{ (1,) * 2**62 }}",
           "{{ range(10**12) }}",
           "{{ range(-(2**62), 2**62) }}",
           "{{ range(100001)|length }}",
           "{{ 'a'.center(10**9) }}",
           "{{ 'a'|center(10**9) }}",
           "{{ 'a'.ljust(2**62) }}",
           "{{ 'a'.zfill(10**12) }}",
           "{{ '\t'.expandtabs(10**9) }}",
           "{{ 'a\nb'|indent(10**9) }}",
           "{{ [1]|tojson(indent=10**9) }}",
           "{{ '%1000000000d' % 1 }}",
           "{{ '%.1000000000f' % 1.5 }}",
           "{{ '{:1000000000}'.format(1) }}",
           "{{ '{:.1000000000f}'.format(1.5) }}",
           "{{ '%*d' % (10**12, 1) }}",
           "{{ [1]|batch(10**9, 'x')|list }}",
           "{{ [1]|slice(10**9)|list }}",
           "{{ ('a' * 8000000) ~ ('a' * 8000000) }}",
           "{{ 'a' * 8000000 }}{{ 'a' * 8000000 }}",
           "{% set ns = namespace(s='a') %}{% for x in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
           "{{ 10**400 }}",
           "{{ 2**64 }}",
           "{{ 9223372036854775807 + 1 }}",
           "{{ 123456789012345678901234567890 }}",
           "{{ 'x'.replace('', 'a' * 8000000).replace('', 'b') }}",
           "{% for i in range(99999) %}{{ 'a' * 8000000 and '' }}{% endfor %}",
           "{{ ('a' * 100000).split('')|length }}",
           "{{ ('ab' * 1000000).replace('a', 'x' * 1000000) }}",
           "{{ ('a' * 4000000)|list|length }}{{ ('a' * 4000000)|list|length }}{{ ('a' * 8000000)|list|length }}",
       }) {
    EXPECT_FALSE(run(source).ok()) << source;
  }
}

TEST(JinjaLimitsTest, NoOperationIsQuadraticForFree) {
  // Each takes milliseconds, or seconds until the budget ends it; a slip to quadratic time would be hours.
  for (const std::string source : {
           "{% set s = '\xCE\xA3' * 200000 %}{{ s.lower()|length }}",
           "{{ ('b' * 400000).strip('a' * 300000 ~ 'b')|length }}",
           "{{ ('a' * 8000000).find('a' * 4000000 ~ 'b') }}",
           "{{ ('a' * 4000000 ~ 'b') in ('a' * 8000000) }}",
           "{{ ('a ' * 300000).rsplit()|length }}",
           "{{ ('a,' * 300000).rsplit(',')|length }}",
           "{{ ('&' * 200000)|striptags|length }}",
           "{{ ('<' * 4000000)|striptags|length }}",
       }) {
    EXPECT_TRUE(run(source).ok()) << source << "\n" << run(source).message();
  }
  std::string branches = "{% if x %}";
  for (int i = 0; i < 20000; ++i) {
    const std::string number = std::to_string(i);
    branches += "{% elif a" + number + " %}{% set b" + number + " = 1 %}";
  }
  for (const std::string& source : {
           std::string("{{ ('a' * 8000000).rfind('b' ~ 'a' * 4000000) }}"),
           std::string("{{ ('-' * 2000000)|wordwrap(10)|length }}"),
           std::string(
               "{% set s = '\xC3\xA5' * 2000000 %}{% for i in range(99999) %}{{ s[i:i + 1] and '' }}{% endfor %}"),
           std::string("{% set s = 'a' * 4000000 %}{% set t = 'a' * 4000000 %}{% for i in range(99999) %}{{ s == t and "
                       "'' }}{% endfor %}"),
           std::string("{% set d = dict.fromkeys(range(99999)) %}{% for i in range(99999) %}{{ d[i] }}{% endfor %}"),
           std::string("{% set s = 'a' * 8000000 %}{% for i in range(99999) %}{{ s is upper }}{{ s.isalpha() and '' "
                       "}}{% endfor %}"),
           std::string("{% set s = ' ' * 8000000 %}{% for i in range(99999) %}{{ s|trim }}{% endfor %}"),
           std::string("{{ ([{}] * 1000)|map(attribute='a.' * 100000, default={})|list|length }}"),
           branches + "{% endif %}",
       }) {
    EXPECT_EQ(run(source).code(), StatusCode::kResourceExhausted) << source.substr(0, 100) << "\n"
                                                                  << run(source).message();
  }
}

TEST(JinjaLimitsTest, ALongConversationIsFarBelowTheLimits) {
  auto parsed = ChatTemplate::parse(
      "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']|trim + "
      "'<|im_end|>' + '\n' }}{% endfor %}",
      "", "");
  ASSERT_TRUE(parsed.ok());
  ChatPrompt prompt;
  ChatMessage message;
  message.role = "user";
  message.content = repeat("word ", 200);
  prompt.messages.assign(5000, message);
  const auto pieces = (*parsed)->render(prompt, system_clock());
  EXPECT_TRUE(pieces.ok()) << pieces.status().message();
}

TEST(JinjaLimitsTest, EscapesFromTheSandboxFindNothing) {
  for (const std::string source : {
           "{{ ''.__class__.__mro__[1].__subclasses__() }}",
           "{{ messages.__class__.__base__.__subclasses__() }}",
           "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
           "{{ self.__init__.__globals__ }}",
           "{{ joiner.__init__.__globals__['os'] }}",
           "{{ namespace.__init__.__globals__ }}",
           "{{ lipsum.__globals__['os'].popen('id') }}",
           "{{ ''|attr('__class__')|attr('__mro__')|list }}",
           "{{ [].append.__self__ }}",
           "{{ messages.append(1) }}",
           "{{ messages[0].update({'role': 'x'}) }}",
           "{{ '{0.__class__.__mro__}'.format('')[0]() }}",
           "{% for c in [].__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}",
           "{{ dict.__base__.__subclasses__() }}",
           "{{ range.__self__.open('/etc/passwd') }}",
           "{% import 'os' as os %}",
           "{% include '/etc/passwd' %}",
           "{% extends '/etc/passwd' %}",
           "{{ open('/etc/passwd').read() }}",
           "{{ config.items() }}",
           "{{ request.application.__globals__ }}",
           "{% set x = namespace(__class__=1) %}",
           "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
       }) {
    EXPECT_FALSE(run(source).ok()) << source;
  }
}

TEST(JinjaLimitsTest, NoErrorShowsAnAddress) {
  for (const std::string source :
       {"{{ raise_exception(cycler) }}", "{{ raise_exception(messages|map('trim')) }}",
        "{{ raise_exception(''.strip) }}", "{{ 1 + cycler }}", "{{ raise_exception(namespace) }}"}) {
    EXPECT_EQ(run(source).message().find("0x"), std::string::npos) << run(source).message();
  }
}

TEST(JinjaLimitsTest, CyclesThroughNamespacesAndMacrosAreFreed) {
  // Found by the leak checker of the sanitizer build.
  EXPECT_TRUE(
      run("{% set ns = namespace() %}{% set ns.self_ = ns %}{% macro m() %}{{ ns }}{% endmacro %}{% set ns.m = m %}"
          "{% for x in [1] %}{% set ns.loop = loop %}{{ loop.changed(loop) }}{% endfor %}ok")
          .ok());
}

TEST(JinjaLimitsTest, ErrorsNameTheLineAndTheReason) {
  EXPECT_EQ(run("a\n\n{% if %}").message().find("chat template line 3: "), 0u);
  EXPECT_EQ(run("a\n{{ 'x' + 1 }}").message(),
            "chat template line 2: unsupported operand type(s) for +: 'str' and 'int'");
  EXPECT_NE(run("{% for x in y %}").message().find("{% for %} is not closed"), std::string::npos);
  EXPECT_NE(run("{{ x|nosuch }}").message().find("no filter named 'nosuch'"), std::string::npos);
  EXPECT_NE(run("{% include 'x' %}").message().find("include"), std::string::npos);
  EXPECT_EQ(run("{% include 'x' %}").code(), StatusCode::kUnsupported);
  EXPECT_EQ(run("{{ [1]|random }}").code(), StatusCode::kUnsupported);
  EXPECT_EQ(run("{{ range(10**12) }}").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(run("{{ 'a' * 10**9 }}").code(), StatusCode::kResourceExhausted);
}

TEST(JinjaLimitsTest, ManyThreadsRenderOneTemplateAlike) {
  auto parsed = ChatTemplate::parse(
      "{% macro m(x) %}{{ x|upper }}{% endmacro %}{% set ns = namespace(n=0) %}{% for c in messages[0].content %}{% "
      "set ns.n = ns.n + 1 %}{{ m(c) }}{{ ns.n }}{% endfor %}",
      "", "");
  ASSERT_TRUE(parsed.ok());
  std::vector<std::string> results(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      ChatPrompt prompt;
      ChatMessage message;
      message.content = "thread " + std::to_string(i) + " text";
      prompt.messages = {message};
      for (int round = 0; round < 50; ++round) {
        std::string joined;
        const auto pieces = (*parsed)->render(prompt, system_clock());
        for (const PromptPiece& piece : *pieces) joined += piece.text;
        if (round > 0 && joined != results[i]) joined = "differs between rounds";
        results[i] = joined;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i], "T1H2R3E4A5D6 7" + std::to_string(i) + "8 9T10E11X12T13");
}

}  // namespace
}  // namespace inferens
