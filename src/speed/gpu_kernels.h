// The kernels by which a GPU is measured; gpu_kernels.cu is the only file for nvcc.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace dlaunch::speed::gpu {

inline constexpr int kTile = 128;  // sizes of matrices are multiples of it

/// All begin work on the stream and return what CUDA says of that. Matrices are `size` x `size`,
/// row by row, in the GPU's memory; the elements of a and b are whole numbers from -3 to 3, which
/// both types hold exactly, and sums of fewer than 2^21 products are exact, in any order.
cudaError_t fill_float32(float* a, float* b, int size, cudaStream_t stream);
/// float16 as 16 bits.
cudaError_t fill_float16(std::uint16_t* a, std::uint16_t* b, int size, cudaStream_t stream);
/// c = a * b
cudaError_t multiply_float32(const float* a, const float* b, float* c, int size,
                             cudaStream_t stream);
/// On tensor cores (compute capability 7.0 and newer).
cudaError_t multiply_float16(const std::uint16_t* a, const std::uint16_t* b, float* c, int size,
                             cudaStream_t stream);
/// Adds the number of elements of c that are not what fill_... makes them to *wrong.
cudaError_t count_wrong(const float* c, int size, unsigned* wrong, cudaStream_t stream);

}  // namespace dlaunch::speed::gpu
