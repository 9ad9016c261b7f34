// The figures of reports against those of numpy, and the forms they are printed in.
#include "bench/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/text_table.h"

namespace inferens {
namespace {

// numpy 2.x: numpy.percentile([3.1, 0.2, 9.7, 4.4, 4.4, 1.5], [0, 10, 25, 50, 90, 99, 100])
TEST(Statistics, PercentilesAreThoseOfNumpy) {
  const std::vector<double> samples = {3.1, 0.2, 9.7, 4.4, 4.4, 1.5};
  const std::vector<std::pair<double, double>> expected = {{0, 0.2},    {0.1, 0.85},  {0.25, 1.9}, {0.5, 3.75},
                                                           {0.9, 7.05}, {0.99, 9.435}, {1, 9.7}};
  for (auto [share, value] : expected) EXPECT_NEAR(percentile(samples, share), value, 1e-12) << share;
  EXPECT_EQ(percentile(std::vector<double>{7}, 0.99), 7);
}

// numpy.mean, numpy.std(ddof=1) of the same
TEST(Statistics, MeanAndDeviationAreThoseOfNumpy) {
  const Summary s = summarize({3.1, 0.2, 9.7, 4.4, 4.4, 1.5});
  EXPECT_NEAR(s.mean, 3.8833333333333333, 1e-12);
  EXPECT_NEAR(s.stddev, 3.293275977908117, 1e-12);
  EXPECT_EQ(s.min, 0.2);
  EXPECT_EQ(s.max, 9.7);
  EXPECT_NEAR(s.median, 3.75, 1e-12);
  EXPECT_THAT(s.samples, testing::ElementsAre(3.1, 0.2, 9.7, 4.4, 4.4, 1.5)) << "the order of measurement shows drift";
  EXPECT_EQ(summarize({5}).stddev, 0);
}

TEST(TextTable, ColumnsLineUpAlsoBehindLettersOfSeveralBytes) {
  TextTable table({{"name", TextTable::Align::kLeft}, {"n"}});
  table.add_row({"größe", "1"});
  table.add_row({"x", "1234"});
  EXPECT_EQ(table.to_text(), "name      n\ngröße     1\nx      1234\n");
}

TEST(TextTable, CsvSurvivesCommasQuotesAndLineBreaksInAName) {
  EXPECT_EQ(csv_line({"a", "b,c", "d\"e", "f\ng", ""}), "a,\"b,c\",\"d\"\"e\",\"f\ng\",\r\n");
}

TEST(TextTable, NumbersAreWrittenTheSameInEveryLocale) {
  EXPECT_EQ(fixed(1234.5678, 2), "1234.57");
  EXPECT_EQ(fixed(0, 1), "0.0");
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(fixed(1e300, 0).size(), 301u);
}

}  // namespace
}  // namespace inferens
