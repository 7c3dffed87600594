#include "fabric/nvlink.h"

#include <gmock/gmock.h>

namespace dlaunch::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = NvLinks::State;

std::vector<GpuHealth> gpus(std::initializer_list<const char*> uuids,
                            const std::string& model = "NVIDIA H100 80GB HBM3") {
  std::vector<GpuHealth> list;
  for (const char* uuid : uuids) {
    GpuHealth gpu;
    gpu.uuid = uuid;
    gpu.model = model;
    list.push_back(gpu);
  }
  return list;
}

std::string heading(int index, const std::string& uuid) {
  return "GPU " + std::to_string(index) + ": NVIDIA H100 80GB HBM3 (UUID: " + uuid + ")\n";
}

std::string links(int count, const std::string& what = "26.562 GB/s") {
  std::string text;
  for (int i = 0; i < count; ++i) text += "\t Link " + std::to_string(i) + ": " + what + "\n";
  return text;
}

// The text of an NVSwitch machine (H100), as shown in NVIDIA/k8s-test-infra issue 371.
TEST(Nvlink, AllAreActive) {
  auto list = gpus({"GPU-a", "GPU-b"});
  add_nvlinks(heading(0, "GPU-a") + links(18) + heading(1, "GPU-b") + links(18), list);
  for (const GpuHealth& gpu : list) {
    EXPECT_EQ(gpu.nvlinks.state, State::listed);
    EXPECT_EQ(gpu.nvlinks.active(), 18);
    EXPECT_EQ(gpu.nvlinks.links.back(), (NvLink{17, true, 26562}));
  }
  EXPECT_THAT(nvlink_findings(list, 4), ElementsAre(IsEmpty(), IsEmpty()));
}

// Azure/azhpc-diagnostics issue 73: links 3 and 5 of one V100.
TEST(Nvlink, SomeAreDownOnOneGpu) {
  auto list = gpus({"GPU-a", "GPU-b"}, "Tesla V100-SXM2-32GB");
  add_nvlinks(
      "GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-a)\n"
      "         Link 0: 25.781 GB/s\n         Link 1: 25.781 GB/s\n"
      "         Link 2: 25.781 GB/s\n         Link 3: <inactive>\n"
      "         Link 4: 25.781 GB/s\n         Link 5: <inactive>\n"
      "GPU 1: Tesla V100-SXM2-32GB (UUID: GPU-b)\n" +
          links(6, "25.781 GB/s"),
      list);
  EXPECT_EQ(list[0].nvlinks.active(), 4);
  EXPECT_EQ(list[0].nvlinks.links[3], (NvLink{3, false, std::nullopt}));
  EXPECT_THAT(
      nvlink_findings(list, 0),
      ElementsAre(
          ElementsAre("only 4 of its NVLinks are active (down: 3 and 5), other GPUs have 6"),
          IsEmpty()));
}

// An H100 PCIe with a bridge for three of its links has the others inactive, which is not a fault.
TEST(Nvlink, LinksThatNoBridgeUses) {
  auto list = gpus({"GPU-a", "GPU-b"});
  const std::string some = links(4) + "\t Link 4: <inactive>\n\t Link 5: <inactive>\n";
  add_nvlinks(heading(0, "GPU-a") + some + heading(1, "GPU-b") + some, list);
  EXPECT_EQ(list[1].nvlinks.active(), 4);
  EXPECT_THAT(nvlink_findings(list, 0), ElementsAre(IsEmpty(), IsEmpty()));
  // Two models in one machine are not compared.
  list[1].model = "NVIDIA A100 80GB PCIe";
  list[1].nvlinks.links.resize(1);
  EXPECT_THAT(nvlink_findings(list, 0), ElementsAre(IsEmpty(), IsEmpty()));
}

// leptonai/gpud issue 1085; both spellings occur.
TEST(Nvlink, NoneIsActive) {
  for (const char* words :
       {"NVML: Unable to retrieve NVLink information as all links are inActive\n",
        "\t NVML: Unable to retrieve Nvlink information as all links are inactive\n"}) {
    auto list = gpus({"GPU-a", "GPU-b", "GPU-c"});
    add_nvlinks(heading(0, "GPU-a") + links(18) + heading(1, "GPU-b") + words +
                    heading(2, "GPU-c") + links(18),
                list);
    EXPECT_EQ(list[1].nvlinks.state, State::all_inactive);
    EXPECT_THAT(
        nvlink_findings(list, 4),
        ElementsAre(IsEmpty(), ElementsAre("none of its NVLinks is active, other GPUs have 18"),
                    IsEmpty()));
    // PCIe cards without a bridge say the same, all of them.
    for (GpuHealth& gpu : list) gpu.nvlinks = {State::all_inactive, {}};
    EXPECT_THAT(nvlink_findings(list, 0), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
    const std::string why =
        "no NVLink is active, although there are NVSwitches: is nvidia-fabricmanager running?";
    EXPECT_THAT(nvlink_findings(list, 4),
                ElementsAre(ElementsAre(why), ElementsAre(why), ElementsAre(why)));
  }
}

TEST(Nvlink, GpusWithoutNvlink) {
  auto list = gpus({"GPU-a", "GPU-b"}, "NVIDIA L4");
  add_nvlinks(heading(0, "GPU-a") + heading(1, "GPU-b") +
                  "\t NVML: Unable to retrieve NVLink information: Not Supported\n",
              list);
  EXPECT_EQ(list[0].nvlinks.state, State::none);
  EXPECT_EQ(list[1].nvlinks.state, State::none);
  EXPECT_THAT(nvlink_findings(list, 0), ElementsAre(IsEmpty(), IsEmpty()));
}

// The state is unknown, so there is no finding.
TEST(Nvlink, Errors) {
  for (const char* text :
       {"", "\n\n", "No devices were found\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        "Unable to determine the device handle for GPU0000:83:00.0: Unknown Error\n",
        "Option nvlink is not recognized.\n", "Link 0: 25.781 GB/s\n", "GPU 0: x (UUID: GPU-z)\n",
        "GPU 0: x UUID: GPU-a\n", "GPU 0: (UUID: )\n", "GPU 0: )(UUID: \n"}) {
    auto list = gpus({"GPU-a", ""});
    add_nvlinks(text, list);
    EXPECT_EQ(list[0].nvlinks.state, State::not_asked) << text;
    EXPECT_EQ(list[1].nvlinks.state, State::not_asked) << text;
  }
  auto list = gpus({"GPU-a", "GPU-b"});
  add_nvlinks(heading(0, "GPU-a") + "NVML: Unable to retrieve NVLink information: Unknown Error\n" +
                  heading(1, "GPU-b") + links(2),
              list);
  EXPECT_EQ(list[0].nvlinks.state, State::not_asked);
  EXPECT_THAT(nvlink_findings(list, 4), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(Nvlink, OddStatesAreNotActive) {
  auto list = gpus({"GPU-a"});
  add_nvlinks(heading(0, "GPU-a") +
                  "\t Link 0: 0 GB/s\n\t Link 1: some state\n\t Link 2: 1e999 GB/s\n"
                  "\t Link 3: -5 GB/s\n\t Link 3: 26.562 GB/s\n\t Link 4: 26.562 GB/s\r\n"
                  "\t Link 64: 26.562 GB/s\n\t Link x: 26.562 GB/s\n\t Link 5\n",
              list);
  EXPECT_EQ(list[0].nvlinks.active(), 1);
  EXPECT_EQ(list[0].nvlinks.links.size(), 5U);
}

}  // namespace
}  // namespace dlaunch::fabric
