#include <nlohmann/json.hpp>

#include "measure/speed/local_speed.h"

namespace dlaunch::speed {

namespace {

using Json = nlohmann::json;

double real(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_true(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

GpuSpeed read_gpu(const Json& object) {
  GpuSpeed gpu;
  gpu.uuid = text(object, "uuid");
  gpu.model = text(object, "model");
  gpu.to_device_gbyte_s = real(object, "to_device_gbyte_s");
  gpu.to_host_gbyte_s = real(object, "to_host_gbyte_s");
  gpu.within_gbyte_s = real(object, "within_gbyte_s");
  gpu.float32_tflop_s = real(object, "float32_tflop_s");
  gpu.float16_tflop_s = real(object, "float16_tflop_s");
  gpu.is_right = is_true(object, "is_right");
  gpu.problem = text(object, "problem");
  return gpu;
}

}  // namespace

std::optional<LocalSpeed> read_local_speed(std::string_view line) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || text(object, "record") != "local") return std::nullopt;
  constexpr double kMost = 1e6;
  LocalSpeed speed;
  const double threads = real(object, "threads");
  speed.cpu.threads = threads > 0 && threads < kMost ? static_cast<int>(threads) : 0;
  speed.cpu.one_gflop_s = real(object, "one_gflop_s");
  speed.cpu.all_gflop_s = real(object, "all_gflop_s");
  speed.cpu.memory_gbyte_s = real(object, "memory_gbyte_s");
  const auto bytes = object.find("memory_bytes");
  if (bytes != object.end() && bytes->is_number_unsigned())
    speed.cpu.memory_bytes = bytes->get<std::uint64_t>();
  speed.cpu.is_right = is_true(object, "is_right");
  speed.no_gpus = text(object, "no_gpus");
  speed.gpus_not_tried = is_true(object, "gpus_not_tried");
  const auto gpus = object.find("gpus");
  if (gpus == object.end() || !gpus->is_array()) return speed;
  for (const Json& gpu : *gpus) {
    if (gpu.is_object()) speed.gpus.push_back(read_gpu(gpu));
  }
  return speed;
}

}  // namespace dlaunch::speed
