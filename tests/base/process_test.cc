// What the process takes from outside: environment, log level, clock.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"

namespace inferens {
namespace {

// Sets one variable for a test and puts back what was there.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }
  ~ScopedVariable() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Environment, ModelsLiveWhereTheUserSaidElseAtHome) {
  ScopedVariable home("HOME", "/home/ada");
  {
    ScopedVariable own("INFERENS_HOME", "/data/models");
    EXPECT_EQ(home_directory(), "/data/models");
  }
  ScopedVariable unset("INFERENS_HOME", nullptr);
  EXPECT_EQ(home_directory(), "/home/ada/.inferens");
  ScopedVariable homeless("HOME", nullptr);
  EXPECT_EQ(home_directory(), ".inferens");
}

TEST(Environment, AnEmptyVariableIsNoAnswer) {
  ScopedVariable home("HOME", "/home/ada");
  ScopedVariable empty("INFERENS_HOME", "");
  EXPECT_EQ(home_directory(), "/home/ada/.inferens");
  ScopedVariable isa("INFERENS_ISA", "");
  EXPECT_FALSE(forced_isa().has_value());
  ScopedVariable flag("INFERENS_THREADS", "");
  EXPECT_FALSE(environment_flag("THREADS").has_value());
}

TEST(Environment, AFlagIsReadUnderOurPrefixOnly) {
  ScopedVariable plain("THREADS", "7");
  ScopedVariable ours("INFERENS_THREADS", nullptr);
  EXPECT_FALSE(environment_flag("THREADS").has_value());
  ScopedVariable set("INFERENS_THREADS", "3");
  EXPECT_EQ(environment_flag("THREADS"), "3");
}

TEST(Log, AnUnknownLevelIsRefusedByName) {
  Status s = set_up_logging("loud");
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("loud"), std::string::npos) << s.message();
  EXPECT_NE(s.message().find("debug"), std::string::npos) << "the message should name what is allowed: " << s.message();
}

TEST(Log, LinesGoToStandardErrorSoThatAnswersCanBePiped) {
  ASSERT_TRUE(set_up_logging("info").ok());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  spdlog::info("loaded {} tensors", 272);
  spdlog::debug("not at this level");
  spdlog::default_logger()->flush();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  std::string error = testing::internal::GetCapturedStderr();
  EXPECT_NE(error.find("loaded 272 tensors"), std::string::npos) << error;
  EXPECT_EQ(error.find("not at this level"), std::string::npos) << error;
  ASSERT_TRUE(set_up_logging("warn").ok());
}

TEST(Log, EveryNamedLevelIsTaken) {
  for (const char* level : {"trace", "debug", "info", "warn", "error", "off"}) EXPECT_TRUE(set_up_logging(level).ok()) << level;
  ASSERT_TRUE(set_up_logging("warn").ok());
}

TEST(ClockTest, TheMachinesClockNeverGoesBackAndIsNotTheWallClock) {
  const Clock& clock = system_clock();
  Nanos before = clock.now();
  for (int i = 0; i < 1000; ++i) {
    Nanos after = clock.now();
    ASSERT_GE(after, before);
    before = after;
  }
  EXPECT_GT(clock.unix_seconds(), 1'700'000'000) << "the wall clock counts from 1970";
}

TEST(ClockTest, ATestsOwnClockMovesOnlyWhenTold) {
  FakeClock clock;
  EXPECT_EQ(clock.now(), 0);
  clock.advance(from_ms(1.5));
  EXPECT_EQ(clock.now(), 1'500'000);
  EXPECT_EQ(to_ms(clock.now()), 1.5);
  EXPECT_EQ(to_seconds(from_ms(2500)), 2.5);
}

}  // namespace
}  // namespace inferens
