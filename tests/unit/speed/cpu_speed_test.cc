#include "measure/speed/cpu_speed.h"

#include <gtest/gtest.h>

#include "measure/speed/gpu_speed.h"
#include "measure/speed/matrix_product.h"

namespace dlaunch::speed {
namespace {

TEST(MatrixProduct, IsRight) {
  MatrixProduct product;
  EXPECT_FALSE(product.is_right());
  product.multiply();
  EXPECT_TRUE(product.is_right());
  // Not a matrix of zeros, or of one number: rows and columns differ.
  std::vector<float>& c = product.result();
  EXPECT_NE(c[0], c[1]);
  EXPECT_NE(c[0], c[MatrixProduct::kSize]);
  product.multiply();
  EXPECT_TRUE(product.is_right());
}

TEST(MatrixProduct, FindsOneWrongElement) {
  MatrixProduct product;
  product.multiply();
  product.result()[12'345] += 1;
  EXPECT_FALSE(product.is_right());
}

TEST(MatrixProduct, EqualsThatOfAPlainLoop) {
  MatrixProduct product;
  product.multiply();
  constexpr int kSize = MatrixProduct::kSize;
  for (const auto& [row, column] : {std::pair{0, 0}, {5, 15}, {6, 16}, {239, 239}, {100, 7}}) {
    float sum = 0;
    for (int k = 0; k < kSize; ++k) {
      sum += static_cast<float>((row * 3 + k * 5) % 7 - 3) *
             static_cast<float>((k * 2 + column * 7) % 11 - 5);
    }
    EXPECT_EQ(product.result()[static_cast<std::size_t>(row * kSize + column)], sum);
  }
}

TEST(CpuSpeed, HasFigures) {
  const CpuSpeed speed = measure_cpu(std::chrono::milliseconds(2));
  EXPECT_GE(speed.threads, 1);
  EXPECT_GT(speed.one_gflop_s, 0);
  EXPECT_GT(speed.all_gflop_s, 0);
  EXPECT_GT(speed.memory_gbyte_s, 0);
  EXPECT_GT(speed.memory_bytes, 0U);
  EXPECT_TRUE(speed.is_right);
}

// The unit tests are built without CUDA.
TEST(GpuSpeed, IsNotAvailableWithoutCuda) {
  EXPECT_EQ(count_gpus().count, 0);
  EXPECT_NE(count_gpus().none_because, "");
  EXPECT_EQ(measure_gpu(0).problem, count_gpus().none_because);
}

}  // namespace
}  // namespace dlaunch::speed
