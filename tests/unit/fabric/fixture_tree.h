// A temporary folder in place of a machine's "/", removed with the object.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fabric/node_facts.h"
#include "text/strings.h"

namespace dlaunch::fabric {

class FixtureTree {
 public:
  FixtureTree() {
    std::string name = (std::filesystem::temp_directory_path() / "dlaunch-tree-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~FixtureTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FixtureTree(const FixtureTree&) = delete;
  FixtureTree& operator=(const FixtureTree&) = delete;

  [[nodiscard]] const std::string& root() const { return root_; }

  void file(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  void remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }

  void cpu(int number, const std::string& siblings, const char* name = "core_cpus_list") {
    file("/sys/devices/system/cpu/cpu" + std::to_string(number) + "/topology/" + name,
         siblings + "\n");
  }
  void online(const std::string& list) { file("/sys/devices/system/cpu/online", list + "\n"); }
  void numa(int node, const std::string& list) {
    file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist", list + "\n");
  }

 private:
  std::string root_;
};

/// sockets x cores x 2 threads. Interleaved, as many firmwares number it: the first threads of all
/// cores alternate between the sockets (0, 2, 4, .. on socket 0), then the second threads follow.
inline void interleaved_machine(FixtureTree& tree, int sockets, int cores) {
  const int half = sockets * cores;
  std::vector<std::vector<int>> of_node(static_cast<std::size_t>(sockets));
  for (int cpu = 0; cpu < 2 * half; ++cpu) {
    const int first = cpu % half;
    tree.cpu(cpu, std::to_string(first) + ',' + std::to_string(first + half));
    of_node[static_cast<std::size_t>(first % sockets)].push_back(cpu);
  }
  for (int node = 0; node < sockets; ++node) {
    tree.numa(node, joined(of_node[static_cast<std::size_t>(node)], ",",
                           [](int cpu) { return std::to_string(cpu); }));
  }
  tree.online("0-" + std::to_string(2 * half - 1));
  tree.file("/sys/devices/system/node/online", "0-" + std::to_string(sockets - 1) + "\n");
  tree.file("/sys/devices/system/node/possible", "0-31\n");
}

}  // namespace dlaunch::fabric
