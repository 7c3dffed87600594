# What the parts over NCCL are compiled with: nccl.h, and of the CUDA toolkit the target CUDA::cudart_static. The library itself is
# loaded at run time. Sets with_nccl, NCCL_INCLUDE_DIR. tests/collectives looks by this file, too, for whether a dlaunch had to have it.
find_package(CUDAToolkit QUIET)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
set(with_nccl FALSE)
if(TARGET CUDA::cudart_static AND NCCL_INCLUDE_DIR)
  set(with_nccl TRUE)
endif()
