// The kernels that measure a GPU; gpu_kernels.cu is the only file for nvcc.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace dlaunch::speed::gpu {

inline constexpr int kTile = 128;  // sizes of matrices are multiples of it

/// All functions launch work on the stream and return CUDA's result. Matrices are `size` x `size`,
/// row-major, in GPU memory; the elements of a and b are whole numbers from -3 to 3, which both
/// types hold exactly, and sums of fewer than 2^21 products are exact in any order.
cudaError_t fill_float32(float* a, float* b, int size, cudaStream_t stream);
/// float16 as 16 bits.
cudaError_t fill_float16(std::uint16_t* a, std::uint16_t* b, int size, cudaStream_t stream);
/// c = a * b
cudaError_t multiply_float32(const float* a, const float* b, float* c, int size,
                             cudaStream_t stream);
/// On tensor cores (compute capability 7.0 and newer).
cudaError_t multiply_float16(const std::uint16_t* a, const std::uint16_t* b, float* c, int size,
                             cudaStream_t stream);
/// Adds the number of wrong elements of c, for a and b from fill_..., to *wrong.
cudaError_t count_wrong(const float* c, int size, unsigned* wrong, cudaStream_t stream);

}  // namespace dlaunch::speed::gpu
