// An error keeps its kind and gains context on the way up, so that one line can say what, where and what to do.
#include "inferens/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace inferens {
namespace {

TEST(StatusTest, ContextIsPutInFrontAndTheKindStays) {
  Status s = data_loss("tensor 3 ends beyond the file").with_context("'a.gguf'");
  EXPECT_EQ(s.code(), StatusCode::kDataLoss);
  EXPECT_EQ(s.message(), "'a.gguf': tensor 3 ends beyond the file");
  EXPECT_NE(s.to_string().find("data"), std::string::npos);
  EXPECT_NE(s.to_string().find(s.message()), std::string::npos);
  EXPECT_TRUE(ok_status().with_context("x").ok()) << "context makes no error";
}

TEST(StatusTest, EveryCodeHasItsOwnName) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    names.insert(std::string(status_code_name(static_cast<StatusCode>(code))));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(StatusCode::kInternal) + 1);
  EXPECT_EQ(names.count(""), 0u);
}

TEST(StatusOrTest, AValueThatCanOnlyMoveIsHandedOut) {
  auto make = [](bool good) -> StatusOr<std::unique_ptr<int>> {
    if (!good) return not_found("no number");
    return std::make_unique<int>(7);
  };
  auto good = make(true);
  ASSERT_TRUE(good.ok());
  EXPECT_TRUE(good.status().ok());
  std::unique_ptr<int> taken = *std::move(good);
  EXPECT_EQ(*taken, 7);
  auto bad = make(false);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace inferens
