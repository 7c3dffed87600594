# Finds what the NCCL parts are compiled with: nccl.h, and CUDA::cudart_static of the CUDA toolkit. The library itself is loaded at
# run time. Sets with_nccl, NCCL_INCLUDE_DIR. tests/collectives includes this file, too, to decide whether dlaunch must have been built with NCCL.
find_package(CUDAToolkit QUIET)
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
set(with_nccl FALSE)
if(TARGET CUDA::cudart_static AND NCCL_INCLUDE_DIR)
  set(with_nccl TRUE)
endif()
