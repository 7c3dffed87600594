// For builds without the CUDA toolkit (nvcc).
#include "measure/speed/gpu_speed.h"

namespace dlaunch::speed {

GpuCount count_gpus() {
  return {0, "this dlaunch was built without the CUDA toolkit and cannot measure GPUs", true};
}

GpuSpeed measure_gpu(int /*device*/) {
  GpuSpeed speed;
  speed.problem = count_gpus().none_because;
  return speed;
}

std::vector<GpuSpeed> measure_gpus(int /*count*/) {
  return {};
}

}  // namespace dlaunch::speed
