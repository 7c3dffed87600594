#include "measure/check/local_check.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

speed::GpuSpeed gpu(const std::string& model = "NVIDIA H100 80GB HBM3") {
  speed::GpuSpeed one;
  one.model = model;
  one.to_device_gbyte_s = 55;
  one.to_host_gbyte_s = 54;
  one.within_gbyte_s = 2600;
  one.float32_tflop_s = 30;
  one.float16_tflop_s = 250;
  return one;
}

LocalCheck machine(std::size_t gpus) {
  LocalCheck check;
  check.info.facts.hostname = "gpu01";
  check.info.facts.kernel = "6.1.0";
  check.info.facts.architecture = "x86_64";
  check.info.facts.gpus.resize(gpus);
  for (std::size_t i = 0; i < gpus; ++i) {
    check.info.facts.gpus[i].index = static_cast<int>(i);
    check.info.facts.gpus[i].uuid = "GPU-" + std::to_string(i);
  }
  if (gpus == 0) check.info.facts.fabric.no_gpus = "no NVIDIA GPU on the PCI bus, and no driver";
  check.info.facts.fabric.no_rdma = "no such device";
  check.speed.emplace();
  check.speed->cpu = {2, 150, 188.4, 16.12, 1U << 28U, true};
  check.speed->gpus.assign(gpus, gpu());
  for (std::size_t i = 0; i < gpus; ++i) check.speed->gpus[i].uuid = "GPU-" + std::to_string(i);
  if (gpus == 0) check.speed->no_gpus = "there is no NVIDIA driver";
  check.seconds = 1.23;
  return check;
}

TEST(LocalCheck, AMachineWithoutAGpuIsGood) {
  const LocalCheck check = machine(0);
  EXPECT_THAT(local_findings(check), IsEmpty());
  const std::string text = local_check_text(check);
  EXPECT_THAT(text, HasSubstr("gpus      none: no NVIDIA GPU on the PCI bus, and no driver\n"));
  EXPECT_THAT(text, HasSubstr("cpu       188 GFLOP/s float32 on 2 threads, 150 on one; memory 16.1 "
                              "GB/s\n"));
  EXPECT_THAT(text, HasSubstr("gpu speed not measured: there is no NVIDIA driver\n"));
  EXPECT_TRUE(text.ends_with("verdict   ok (1.2 s)\n")) << text;
}

TEST(LocalCheck, GpusThatAreExpected) {
  LocalCheck check = machine(0);
  check.expected_gpus = 8;
  EXPECT_THAT(local_findings(check),
              ElementsAre("0 GPUs found, 8 expected: no NVIDIA GPU on the PCI bus, and no "
                          "driver"));
  EXPECT_THAT(local_check_text(check), HasSubstr("verdict   BAD, 1 finding (1.2 s)\n"));
  check = machine(8);
  check.expected_gpus = 8;
  EXPECT_THAT(local_findings(check), IsEmpty());
}

TEST(LocalCheck, ASlowGpuAmongOthers) {
  LocalCheck check = machine(4);
  check.speed->gpus[2].to_device_gbyte_s = 12.5;
  check.speed->gpus[3].float32_tflop_s = 22;  // GPUs of one model may differ as much
  EXPECT_THAT(local_findings(check),
              ElementsAre("gpu 2: copies to it reach 12.5 GB/s, other GPUs 55.0"));
  // GPUs of another model are not compared.
  check.speed->gpus[2] = gpu("NVIDIA L4");
  check.speed->gpus[2].float16_tflop_s = 30;
  EXPECT_THAT(local_findings(check), IsEmpty());
}

TEST(LocalCheck, Faults) {
  LocalCheck check = machine(2);
  check.speed->cpu.is_right = false;
  check.speed->gpus[0].is_right = false;
  check.speed->gpus[1] = {};
  check.speed->gpus[1].uuid = "GPU-1";
  check.speed->gpus[1].problem = "cudaMalloc: out of memory";
  check.info.health.resize(2);
  check.info.health[1].index = 1;
  check.info.findings = {{}, {"slowed down by heat (92 C)"}};
  check.info.faults = {{"0000:83:00.0", 79, 12, "GPU has fallen off the bus."},
                       {"0000:83:00.0", 31, 12, "MMU fault"}};  // an error of a program
  EXPECT_THAT(local_findings(check),
              ElementsAre("gpu 1: slowed down by heat (92 C)",
                          "Xid 79 on 0000:83:00.0: GPU has fallen off the bus.",
                          "the CPU computed a wrong matrix product: a CPU or its memory is broken",
                          "gpu 0: it computed or copied wrong numbers",
                          "gpu 1: cudaMalloc: out of memory"));
}

// CUDA numbers the fastest GPU first, nvidia-smi numbers by bus address.
TEST(LocalCheck, NumbersGpusAsNvidiaSmi) {
  LocalCheck check = machine(2);
  check.speed->gpus[0].uuid = "GPU-1";
  check.speed->gpus[1].uuid = "GPU-0";
  check.speed->gpus[0].problem = "cudaMalloc: out of memory";
  EXPECT_THAT(local_findings(check), ElementsAre("gpu 1: cudaMalloc: out of memory"));
  EXPECT_EQ(nlohmann::json::parse(local_check_json(check))["gpus"][0]["index"], 1);
  check.info.health.resize(1);
  check.info.findings.resize(1);
  check.info.health[0].index = 5;
  check.info.health[0].uuid = "GPU-1";
  EXPECT_THAT(local_findings(check), ElementsAre("gpu 5: cudaMalloc: out of memory"));
  check.speed->gpus[0].uuid = "";  // CUDA could not tell it
  EXPECT_THAT(local_findings(check), ElementsAre("CUDA's gpu 0: cudaMalloc: out of memory"));
  EXPECT_THAT(local_check_text(check), HasSubstr("CUDA 0"));
  EXPECT_TRUE(nlohmann::json::parse(local_check_json(check))["gpus"][0]["index"].is_null());
}

TEST(LocalCheck, GpusThatCudaCannotUse) {
  LocalCheck check = machine(4);
  check.speed->gpus.pop_back();
  EXPECT_THAT(local_findings(check), ElementsAre("CUDA can use 3 of 4 GPUs"));
  check.speed->gpus.clear();
  check.speed->no_gpus = "CUDA: system not yet initialized";
  EXPECT_THAT(local_findings(check),
              ElementsAre("CUDA can use 0 of 4 GPUs: CUDA: system not yet initialized"));
  // That is not a fault of the machine.
  check.speed->gpus_not_tried = true;
  EXPECT_THAT(local_findings(check), IsEmpty());
}

TEST(LocalCheck, CudaMayBeRestrictedToSomeGpus) {
  LocalCheck check = machine(4);
  check.info.facts.cuda_visible_devices = "2,GPU-3";
  check.speed->gpus.resize(2);
  EXPECT_THAT(local_findings(check), IsEmpty());
  check.speed->gpus.resize(1);
  EXPECT_THAT(local_findings(check), ElementsAre("CUDA can use 1 of 2 GPUs"));
  check.info.facts.cuda_visible_devices = "MIG-GPU-3/1/0,MIG-GPU-3/2/0";
  EXPECT_THAT(local_findings(check), IsEmpty());
  check.info.facts.cuda_visible_devices = "";
  check.speed->gpus.clear();
  EXPECT_THAT(local_findings(check), IsEmpty());
}

TEST(LocalCheck, NvidiaSmiThatFails) {
  LocalCheck check = machine(1);
  check.info.health_fails = true;
  check.info.no_health = "nvidia-smi printed: No devices were found";
  EXPECT_THAT(local_findings(check), ElementsAre("nvidia-smi printed: No devices were found"));
}

TEST(LocalCheck, ADriverThatHangs) {
  LocalCheck check = machine(1);
  check.info.no_health = "\"nvidia-smi\" cannot be executed";
  EXPECT_THAT(local_findings(check), IsEmpty());
  check.info.health_hangs = true;
  check.info.no_health = "\"nvidia-smi\" did not end within 3 s";
  EXPECT_THAT(local_findings(check),
              ElementsAre("the GPU driver does not answer: \"nvidia-smi\" did not end within 3 s"));
}

TEST(LocalCheck, NoSpeed) {
  LocalCheck check = machine(0);
  check.speed.reset();
  check.no_speed = "\"dlaunch\" did not end within 6 s";
  EXPECT_THAT(
      local_findings(check),
      ElementsAre(
          "the speed of this machine could not be measured: \"dlaunch\" did not end within 6 s"));
  EXPECT_EQ(nlohmann::json::parse(local_check_json(check))["verdict"], "bad");
  // A busy machine is not bad; the output says that nothing was measured.
  check.speed_is_late = true;
  check.no_speed = "no time was left";
  EXPECT_THAT(local_findings(check), IsEmpty());
  EXPECT_THAT(local_check_text(check), HasSubstr("speed     not measured: no time was left\n"));
  EXPECT_EQ(nlohmann::json::parse(local_check_json(check))["no_speed"], "no time was left");
}

TEST(LocalCheck, Json) {
  LocalCheck check = machine(2);
  check.parts = {{"nccl", "2.28.9"}};
  const auto json = nlohmann::json::parse(local_check_json(check));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["verdict"], "ok");
  EXPECT_EQ(json["cpu"]["all_gflop_s"], 188.4);
  EXPECT_EQ(json["gpus"].size(), 2U);
  EXPECT_EQ(json["gpus"][1]["float16_tflop_s"], 250);
  EXPECT_EQ(json["parts"]["nccl"], "2.28.9");
  EXPECT_EQ(json["machine"]["facts"]["hostname"], "gpu01");
  check.expected_gpus = 1;
  EXPECT_EQ(nlohmann::json::parse(local_check_json(check))["verdict"], "bad");
}

TEST(LocalSpeedRecord, RoundTrip) {
  speed::LocalSpeed speed = *machine(2).speed;
  speed.gpus[1].problem = "a \"problem\"";
  speed.gpus[1].is_right = false;
  speed.gpus_not_tried = true;
  const auto back = speed::read_local_speed(speed::to_json(speed));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(speed::to_json(*back), speed::to_json(speed));
  for (const char* text : {"", "{}", "[1]", "{\"record\": 1}", "dlaunch: error"})
    EXPECT_FALSE(speed::read_local_speed(text)) << text;
  const auto odd = speed::read_local_speed(
      R"({"record": "local", "threads": -1e300, "memory_bytes": -1, "gpus": [7, {}]})");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->cpu.threads, 0);
  EXPECT_EQ(odd->gpus.size(), 1U);
}

}  // namespace
}  // namespace dlaunch
