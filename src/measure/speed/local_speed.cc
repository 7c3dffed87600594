#include "measure/speed/local_speed.h"

namespace dlaunch::speed {

LocalSpeed measure_local() {
  LocalSpeed speed;
  speed.cpu = measure_cpu();
  const GpuCount gpus = count_gpus();
  speed.no_gpus = gpus.none_because;
  speed.gpus_not_tried = gpus.not_tried;
  speed.gpus = measure_gpus(gpus.count);
  return speed;
}

void write_figures(JsonText& json, const GpuSpeed& gpu) {
  json.key("uuid").string(gpu.uuid).key("model").string(gpu.model);
  json.key("to_device_gbyte_s").real(gpu.to_device_gbyte_s);
  json.key("to_host_gbyte_s").real(gpu.to_host_gbyte_s);
  json.key("within_gbyte_s").real(gpu.within_gbyte_s);
  json.key("float32_tflop_s").real(gpu.float32_tflop_s);
  json.key("float16_tflop_s").real(gpu.float16_tflop_s);
  json.key("is_right").boolean(gpu.is_right).key("problem").string(gpu.problem);
}

std::string to_json(const LocalSpeed& speed) {
  std::string out;
  JsonText json(out);
  json.begin_object().key("record").string("local").key("threads").number(speed.cpu.threads);
  json.key("one_gflop_s").real(speed.cpu.one_gflop_s);
  json.key("all_gflop_s").real(speed.cpu.all_gflop_s);
  json.key("memory_gbyte_s").real(speed.cpu.memory_gbyte_s);
  json.key("memory_bytes").number(static_cast<std::int64_t>(speed.cpu.memory_bytes));
  json.key("is_right").boolean(speed.cpu.is_right);
  json.key("no_gpus").string(speed.no_gpus);
  json.key("gpus_not_tried").boolean(speed.gpus_not_tried).key("gpus").begin_array();
  for (const GpuSpeed& gpu : speed.gpus) {
    json.begin_object();
    write_figures(json, gpu);
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

}  // namespace dlaunch::speed
