#include "measure/speed/matrix_product.h"

#include <cstring>

// clang++ cannot compile this header of glibc.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define DLAUNCH_KNOWS_CPU 1
#include <sys/platform/x86.h>
#else
#define DLAUNCH_KNOWS_CPU 0
#endif

namespace dlaunch::speed {

namespace {

constexpr int kSize = MatrixProduct::kSize;
constexpr int kRows = 6;  // with kColumns: 12 vectors of eight, or 6 of sixteen, stay in registers
constexpr int kColumns = 16;
constexpr int kStrips = kSize / kColumns;
static_assert(kSize % kRows == 0 && kSize % kColumns == 0);

using Vector = float __attribute__((vector_size(kColumns * sizeof(float))));

/// Computes kRows x kColumns elements of C from a strip of A and a strip of B.
[[gnu::always_inline]] inline void multiply_strips(const float* a, const float* b, float* c) {
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

using Multiply = void (*)(const float* a, const float* b, float* c);

void for_any_cpu(const float* a, const float* b, float* c) {
  multiply_strips(a, b, c);
}

#if DLAUNCH_KNOWS_CPU

__attribute__((target("arch=x86-64-v3"))) void for_256_bits(const float* a, const float* b,
                                                            float* c) {
  multiply_strips(a, b, c);
}

__attribute__((target("arch=x86-64-v4"))) void for_512_bits(const float* a, const float* b,
                                                            float* c) {
  multiply_strips(a, b, c);
}

/// The version for the width of this CPU's vector units. Not by target_clones, which queries the
/// CPU at every start of the program and takes 25 us in a virtual machine.
Multiply best_for_this_cpu() {
  const bool has_256 = CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(FMA) &&
                       CPU_FEATURE_ACTIVE(BMI2) && CPU_FEATURE_ACTIVE(F16C);
  const bool has_512 = CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) &&
                       CPU_FEATURE_ACTIVE(AVX512CD) && CPU_FEATURE_ACTIVE(AVX512DQ) &&
                       CPU_FEATURE_ACTIVE(AVX512VL);
  return has_256 && has_512 ? for_512_bits : has_256 ? for_256_bits : for_any_cpu;
}

#else

Multiply best_for_this_cpu() {
  return for_any_cpu;
}

#endif

/// Whole numbers whose products and sums are exact in float32.
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
  static const Multiply product_of_strips = best_for_this_cpu();
  constexpr std::ptrdiff_t kStripOfA = std::ptrdiff_t{kSize} * kRows;
  constexpr std::ptrdiff_t kStripOfB = std::ptrdiff_t{kSize} * kColumns;
  for (int j = 0; j < kStrips; ++j) {
    for (int i = 0; i < kSize / kRows; ++i) {
      product_of_strips(a_.data() + i * kStripOfA, b_.data() + j * kStripOfB,
                        c_.data() + i * kStripOfA + std::ptrdiff_t{j} * kColumns);
    }
  }
}

bool MatrixProduct::is_right() const {
  return c_ == expected_;
}

}  // namespace dlaunch::speed
