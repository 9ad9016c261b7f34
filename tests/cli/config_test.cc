#include "cli/config.h"

#include <gmock/gmock.h>

namespace inferens {
namespace {

using ::testing::HasSubstr;

TEST(ConfigFile, SettingsOfAVerbComeBeforeThoseOfAll) {
  auto config = Config::parse("# mine\r\ntemperature = 0.5 # warm\n\n[run]\nsystem = \"Say \\\"hi\\\" \\u00e9\"\ntemperature=0\nstop = 'a\\b#c'\nverbose = true\n", "c.toml");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->find("run", "temperature")->value, "0");
  EXPECT_EQ(config->find("serve", "temperature")->value, "0.5");
  EXPECT_EQ(config->find("run", "system")->value, "Say \"hi\" \xC3\xA9");
  EXPECT_EQ(config->find("run", "stop")->value, "a\\b#c");
  EXPECT_EQ(config->find("run", "verbose")->value, "true");
  EXPECT_EQ(config->find("run", "seed"), nullptr);
  EXPECT_EQ(config->place(*config->find("run", "verbose")), "c.toml:8");
}

TEST(ConfigFile, EveryMistakeIsNamedWithItsLine) {
  for (const char* bad : {"x", "x =", "= 1", "x = y", "x = \"open", "x = \"a\" b", "x = \"\\q\"", "x = \"\\ud800\"", "x = \"\"\"a\"\"\"", "x = [1]", "x = {a=1}", "x = 1,5", "x.y = 1", "[run", "[a.b]", "[]", "x = 1 2", "x = 0x",
                          "\"x\" = 1", "x = \"\xff\"", "x = 2024-01-01", "ok = 2"}) {
    auto config = Config::parse(std::string("ok = 1\n") + bad + "\n", "/h/config.toml");
    ASSERT_FALSE(config.ok()) << bad;
    EXPECT_THAT(config.status().message(), HasSubstr("/h/config.toml:2: ")) << bad;
  }
}

TEST(ConfigFile, NoFileIsNoSettings) { EXPECT_TRUE(Config::load("/no/such/config.toml").value().entries().empty()); }

}  // namespace
}  // namespace inferens
