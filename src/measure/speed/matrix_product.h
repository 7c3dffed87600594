// The product of two small float32 matrices, to measure the speed of a CPU.
#pragma once

#include <vector>

namespace dlaunch::speed {

/// Not thread-safe.
class MatrixProduct {
 public:
  static constexpr int kSize = 240;  // rows and columns; three matrices fit into a core's L2 cache
  static constexpr double kOperations = 2.0 * kSize * kSize * kSize;  // of one multiply()

  MatrixProduct();
  /// C = A * B.
  void multiply();
  /// Whether C is exactly A * B; the elements are small whole numbers.
  [[nodiscard]] bool is_right() const;
  /// C, row by row.
  [[nodiscard]] std::vector<float>& result() { return c_; }

 private:
  // In the order in which multiply() reads them: A in strips of kRows rows, column by column; B in
  // strips of kColumns columns, row by row.
  std::vector<float> a_, b_, c_;
  std::vector<float> expected_;
};

}  // namespace dlaunch::speed
