// Figures of kernels: one for everything that was asked, counted right, and nothing measured of a format we do not know.
#include "bench/kernel_speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/kernel_report.h"

namespace inferens {
namespace {

KernelOptions quick() {
  KernelOptions o;
  o.formats = {"Q4_0", "Q6_K", "F16"};
  o.rows = {1, 5};
  o.depths = {70};
  o.seconds = 1e-6;
  o.working_set = 1 << 20;
  return o;
}

TEST(Kernels, EveryFormatRowCountAndDepthHasAFigureOnEveryInstructionSet) {
  WorkerPool pool(2);
  for (Isa isa : available_isas()) {
    auto kernels = kernels_for(isa);
    ASSERT_TRUE(kernels.ok());
    KernelOptions options = quick();
    if (isa == Isa::kPortable) options.formats = {"Q4_0"};  // plain loops take seconds for each
    auto measured = measure_kernels(**kernels, pool, options);
    ASSERT_TRUE(measured.ok()) << isa_name(isa) << ": " << measured.status().to_string();
    std::map<std::string, int> count;
    for (const KernelSpeed& k : *measured) {
      ++count[k.kernel];
      EXPECT_GT(k.seconds.median, 0) << k.kernel;
      EXPECT_GT(k.operations, 0) << k.kernel;
    }
    for (const std::string& format : options.formats) EXPECT_EQ(count["matmul " + format], 3 * 2) << "three shapes, two row counts";
    EXPECT_EQ(count["attention f16"], 2 * 2);
    EXPECT_EQ(count["rms_norm"], 1);
    EXPECT_EQ(measured->front().operations, 2.0 * 4864 * 896) << "a multiplication and an addition per weight";
    EXPECT_EQ(measured->front().bytes, 4864.0 * 896 / 32 * 18) << "Q4_0 takes 18 bytes for 32 weights";
  }
}

TEST(Kernels, AnUnknownFormatIsRefusedByName) {
  WorkerPool pool(1);
  KernelOptions o = quick();
  o.formats = {"Q9_Z"};
  auto measured = measure_kernels(**kernels_for(Isa::kPortable), pool, o);
  ASSERT_EQ(measured.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(measured.status().message(), testing::HasSubstr("Q9_Z"));
}

TEST(KernelReport, SharesAreOfTheLimitThatTheKernelMeets) {
  KernelReport r;
  r.program = "inferens 0";
  r.limits.int8 = {1e9, 2e9};
  r.limits.f32 = {1e8, 2e8};
  r.limits.read = {{1 << 20, {1e9, 4e9}}, {1 << 30, {1e9, 1e9}}};
  KernelSpeed k;
  k.kernel = "matmul Q4_0";
  k.shape = "8x8";
  k.rows = 1;
  k.operations = 1e6;
  k.bytes = 1e6;
  k.integer = true;
  k.working_set = 1 << 29;
  k.seconds = summarize({1e-3, 2e-3, 4e-3});
  r.kernels = {k};
  EXPECT_DOUBLE_EQ(compute_share(k, r.limits), 0.25);
  EXPECT_DOUBLE_EQ(read_share(k, r.limits), 0.5) << "the limit of the nearest working set";
  auto json = nlohmann::json::parse(kernel_json(r));
  EXPECT_EQ(json["kernels"][0]["share_of_compute_limit"], 0.25);
  EXPECT_THAT(kernel_table(r), testing::HasSubstr("25.0 %"));
  EXPECT_THAT(kernel_table(r), testing::HasSubstr("read\n"));
  EXPECT_THAT(kernel_csv(r), testing::HasSubstr("matmul Q4_0,8x8,1,0.002,"));
}

}  // namespace
}  // namespace inferens
