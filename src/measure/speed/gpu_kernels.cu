// Matrix products without a library: cuBLAS is faster, but is not on every node that has a driver, and
// versions differ between nodes.
#include "measure/speed/gpu_kernels.h"

#include <cuda_fp16.h>
#include <mma.h>

namespace dlaunch::speed::gpu {

// An unnamed namespace would put a hash of this file's path into the names of the kernels, and builds
// in two folders would differ.
inline namespace kernels {

// Whole numbers that repeat every kPeriodA rows of a, every kPeriodB columns of b.
constexpr int kPeriodA = 7;
constexpr int kPeriodB = 5;

__host__ __device__ int element_of_a(int row, int column) {
  return (row * 3 + column * 5) % kPeriodA - 3;
}
__host__ __device__ int element_of_b(int row, int column) {
  return (row * 3 + column * 2) % kPeriodB - 2;
}

template <class Element>
__global__ void fill(Element* a, Element* b, int size) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y);
  if (column >= size) return;
  const std::size_t at = static_cast<std::size_t>(row) * size + column;
  a[at] = static_cast<Element>(static_cast<float>(element_of_a(row, column)));
  b[at] = static_cast<Element>(static_cast<float>(element_of_b(row, column)));
}

// Every thread computes 8 x 8 elements of a tile of kTile x kTile, from strips of a and b that lie in
// shared memory, 8 columns (rows) at a time.
constexpr int kDepth = 8;
constexpr int kEach = 8;
constexpr int kThreads = (kTile / kEach) * (kTile / kEach);

__global__ void __launch_bounds__(kThreads)
    product_float32(const float* __restrict__ a, const float* __restrict__ b, float* c, int size) {
  __shared__ float strip_a[kDepth][kTile + 4];  // transposed; 4 more columns avoid bank conflicts
  __shared__ float strip_b[kDepth][kTile];
  const int row0 = static_cast<int>(blockIdx.y) * kTile;
  const int column0 = static_cast<int>(blockIdx.x) * kTile;
  const int thread = static_cast<int>(threadIdx.x);
  const int my_row = thread / (kTile / kEach) * kEach;
  const int my_column = thread % (kTile / kEach) * kEach;
  float sum[kEach][kEach] = {};
  for (int k0 = 0; k0 < size; k0 += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kThreads) {
      strip_a[i % kDepth][i / kDepth] =
          a[static_cast<std::size_t>(row0 + i / kDepth) * size + k0 + i % kDepth];
      strip_b[i / kTile][i % kTile] =
          b[static_cast<std::size_t>(k0 + i / kTile) * size + column0 + i % kTile];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float of_a[kEach];
      float of_b[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        of_a[i] = strip_a[k][my_row + i];
        of_b[i] = strip_b[k][my_column + i];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] += of_a[i] * of_b[j];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      c[static_cast<std::size_t>(row0 + my_row + i) * size + column0 + my_column + j] = sum[i][j];
  }
}

// Every warp computes 32 x 64 elements of a tile of kTile x kTile with tensor cores: 2 x 4 pieces of
// 16 x 16.
constexpr int kPiece = 16;
constexpr int kWarpSize = 32;
constexpr int kWarps = 8;
constexpr int kPiecesDown = 2;
constexpr int kPiecesAcross = 4;
constexpr int kDepth16 = 32;
constexpr int kPad = 8;  // avoids bank conflicts and keeps rows at multiples of 16 bytes

__global__ void __launch_bounds__(kWarps* kWarpSize)
    product_float16(const __half* __restrict__ a, const __half* __restrict__ b, float* c,
                    int size) {
#if __CUDA_ARCH__ >= 700
  namespace wmma = nvcuda::wmma;
  // load_matrix_sync() needs multiples of 32 bytes.
  __shared__ __align__(32) __half strip_a[kTile][kDepth16 + kPad];
  __shared__ __align__(32) __half strip_b[kDepth16][kTile + kPad];
  const int row0 = static_cast<int>(blockIdx.y) * kTile;
  const int column0 = static_cast<int>(blockIdx.x) * kTile;
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarpSize;
  const int warp_row = warp / 2 * kPiecesDown * kPiece;
  const int warp_column = warp % 2 * kPiecesAcross * kPiece;
  wmma::fragment<wmma::accumulator, kPiece, kPiece, kPiece, float> sum[kPiecesDown][kPiecesAcross];
#pragma unroll
  for (int i = 0; i < kPiecesDown; ++i) {
#pragma unroll
    for (int j = 0; j < kPiecesAcross; ++j) wmma::fill_fragment(sum[i][j], 0.0F);
  }
  constexpr int kOnce = 8;  // halves of a 16-byte load
  for (int k0 = 0; k0 < size; k0 += kDepth16) {
    for (int i = thread; i < kTile * kDepth16 / kOnce; i += kWarps * kWarpSize) {
      const int row_a = i / (kDepth16 / kOnce);
      const int column_a = i % (kDepth16 / kOnce) * kOnce;
      *reinterpret_cast<uint4*>(&strip_a[row_a][column_a]) = *reinterpret_cast<const uint4*>(
          a + static_cast<std::size_t>(row0 + row_a) * size + k0 + column_a);
      const int row_b = i / (kTile / kOnce);
      const int column_b = i % (kTile / kOnce) * kOnce;
      *reinterpret_cast<uint4*>(&strip_b[row_b][column_b]) = *reinterpret_cast<const uint4*>(
          b + static_cast<std::size_t>(k0 + row_b) * size + column0 + column_b);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth16; k += kPiece) {
      wmma::fragment<wmma::matrix_a, kPiece, kPiece, kPiece, __half, wmma::row_major>
          of_a[kPiecesDown];
      wmma::fragment<wmma::matrix_b, kPiece, kPiece, kPiece, __half, wmma::row_major>
          of_b[kPiecesAcross];
#pragma unroll
      for (int i = 0; i < kPiecesDown; ++i)
        wmma::load_matrix_sync(of_a[i], &strip_a[warp_row + i * kPiece][k], kDepth16 + kPad);
#pragma unroll
      for (int j = 0; j < kPiecesAcross; ++j)
        wmma::load_matrix_sync(of_b[j], &strip_b[k][warp_column + j * kPiece], kTile + kPad);
#pragma unroll
      for (int i = 0; i < kPiecesDown; ++i) {
#pragma unroll
        for (int j = 0; j < kPiecesAcross; ++j)
          wmma::mma_sync(sum[i][j], of_a[i], of_b[j], sum[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPiecesDown; ++i) {
#pragma unroll
    for (int j = 0; j < kPiecesAcross; ++j) {
      wmma::store_matrix_sync(c + static_cast<std::size_t>(row0 + warp_row + i * kPiece) * size +
                                  column0 + warp_column + j * kPiece,
                              sum[i][j], size, wmma::mem_row_major);
    }
  }
#endif
}

struct Expected {
  int element[kPeriodA][kPeriodB];
};

__global__ void compare(const float* c, int size, Expected expected, unsigned* wrong) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y);
  if (column >= size) return;
  const float is = c[static_cast<std::size_t>(row) * size + column];
  const auto should = static_cast<float>(expected.element[row % kPeriodA][column % kPeriodB]);
  if (!(is == should)) atomicAdd(wrong, 1U);
}

dim3 rows_of(int size, int threads) {
  return {static_cast<unsigned>((size + threads - 1) / threads), static_cast<unsigned>(size)};
}

dim3 tiles_of(int size) {
  const auto tiles = static_cast<unsigned>(size / kTile);
  return {tiles, tiles};
}

constexpr int kPlain = 256;  // threads of a block of the plain kernels

}  // namespace kernels

cudaError_t fill_float32(float* a, float* b, int size, cudaStream_t stream) {
  fill<<<rows_of(size, kPlain), kPlain, 0, stream>>>(a, b, size);
  return cudaGetLastError();
}

cudaError_t fill_float16(std::uint16_t* a, std::uint16_t* b, int size, cudaStream_t stream) {
  fill<<<rows_of(size, kPlain), kPlain, 0, stream>>>(reinterpret_cast<__half*>(a),
                                                     reinterpret_cast<__half*>(b), size);
  return cudaGetLastError();
}

cudaError_t multiply_float32(const float* a, const float* b, float* c, int size,
                             cudaStream_t stream) {
  product_float32<<<tiles_of(size), kThreads, 0, stream>>>(a, b, c, size);
  return cudaGetLastError();
}

cudaError_t multiply_float16(const std::uint16_t* a, const std::uint16_t* b, float* c, int size,
                             cudaStream_t stream) {
  product_float16<<<tiles_of(size), kWarps * kWarpSize, 0, stream>>>(
      reinterpret_cast<const __half*>(a), reinterpret_cast<const __half*>(b), c, size);
  return cudaGetLastError();
}

cudaError_t count_wrong(const float* c, int size, unsigned* wrong, cudaStream_t stream) {
  Expected expected{};
  for (int i = 0; i < kPeriodA; ++i) {
    for (int j = 0; j < kPeriodB; ++j) {
      for (int k = 0; k < size; ++k)
        expected.element[i][j] += element_of_a(i, k) * element_of_b(k, j);
    }
  }
  compare<<<rows_of(size, kPlain), kPlain, 0, stream>>>(c, size, expected, wrong);
  return cudaGetLastError();
}

}  // namespace dlaunch::speed::gpu
