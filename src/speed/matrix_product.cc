#include "speed/matrix_product.h"

#include <cstring>

// The compiler makes one version for each width of the vector units, and the right one is chosen
// when the program starts; that is before a sanitizer is ready.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DLAUNCH_FOR_EVERY_CPU \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define DLAUNCH_FOR_EVERY_CPU
#endif

namespace dlaunch::speed {

namespace {

constexpr int kSize = MatrixProduct::kSize;
constexpr int kRows = 6;  // with kColumns: 12 vectors of eight, or 6 of sixteen, stay in registers
constexpr int kColumns = 16;
constexpr int kStrips = kSize / kColumns;
static_assert(kSize % kRows == 0 && kSize % kColumns == 0);

using Vector = float __attribute__((vector_size(kColumns * sizeof(float))));

/// kRows x kColumns elements of C from a strip of A and a strip of B.
DLAUNCH_FOR_EVERY_CPU
void multiply_strips(const float* a, const float* b, float* c) {
  Vector sum[kRows] = {};
  for (int k = 0; k < kSize; ++k) {
    Vector row;
    std::memcpy(&row, b + static_cast<std::ptrdiff_t>(k) * kColumns, sizeof row);
    const float* const column = a + static_cast<std::ptrdiff_t>(k) * kRows;
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) sum[r] += column[r] * row;
  }
  for (int r = 0; r < kRows; ++r)
    std::memcpy(c + static_cast<std::ptrdiff_t>(r) * kSize, &sum[r], sizeof sum[r]);
}

/// Whole numbers whose products and sums float32 holds exactly.
int element_of_a(int row, int column) {
  return (row * 3 + column * 5) % 7 - 3;
}
int element_of_b(int row, int column) {
  return (row * 2 + column * 7) % 11 - 5;
}

}  // namespace

MatrixProduct::MatrixProduct()
    : a_(std::size_t{kSize} * kSize),
      b_(std::size_t{kSize} * kSize),
      c_(std::size_t{kSize} * kSize),
      expected_(std::size_t{kSize} * kSize) {
  for (int i = 0; i < kSize; ++i) {
    for (int k = 0; k < kSize; ++k) {
      a_[static_cast<std::size_t>((i / kRows * kSize + k) * kRows + i % kRows)] =
          static_cast<float>(element_of_a(i, k));
      b_[static_cast<std::size_t>((k / kColumns * kSize + i) * kColumns + k % kColumns)] =
          static_cast<float>(element_of_b(i, k));
    }
  }
  // Elements repeat every 7 rows of A and every 11 columns of B.
  constexpr int kPeriodA = 7;
  constexpr int kPeriodB = 11;
  int once[kPeriodA][kPeriodB] = {};
  for (int i = 0; i < kPeriodA; ++i) {
    for (int j = 0; j < kPeriodB; ++j) {
      for (int k = 0; k < kSize; ++k) once[i][j] += element_of_a(i, k) * element_of_b(k, j);
    }
  }
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j)
      expected_[static_cast<std::size_t>(i * kSize + j)] =
          static_cast<float>(once[i % kPeriodA][j % kPeriodB]);
  }
}

void MatrixProduct::multiply() {
  constexpr std::ptrdiff_t kStripOfA = std::ptrdiff_t{kSize} * kRows;
  constexpr std::ptrdiff_t kStripOfB = std::ptrdiff_t{kSize} * kColumns;
  for (int j = 0; j < kStrips; ++j) {
    for (int i = 0; i < kSize / kRows; ++i) {
      multiply_strips(a_.data() + i * kStripOfA, b_.data() + j * kStripOfB,
                      c_.data() + i * kStripOfA + std::ptrdiff_t{j} * kColumns);
    }
  }
}

bool MatrixProduct::is_right() const {
  return c_ == expected_;
}

}  // namespace dlaunch::speed
