// Whatever the files of a machine contain, reading them ends, and the result can be shown and sent:
// replaces files of a good machine, one or a few at a time, by content that no kernel writes.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "fixture_tree.h"
#include "shapes.h"

namespace dlaunch::fabric {
namespace {

namespace fs = std::filesystem;

void expect_plain(const std::string& text) {
  EXPECT_LE(text.size(), 1100U);
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
}

/// The invariants that the wire and the plan rely on (wire/fields.h).
void expect_usable(const FabricFacts& facts) {
  EXPECT_LE(facts.rdma.size(), 64U);
  EXPECT_LE(facts.nics.size(), 64U);
  EXPECT_LE(facts.oddities.size(), 16U);
  EXPECT_EQ(facts.rdma.empty(), !facts.no_rdma.empty());
  for (const std::string& oddity : facts.oddities) expect_plain(oddity);
  for (const RdmaDevice& device : facts.rdma) {
    for (const std::string* text :
         {&device.name, &device.type, &device.guid, &device.firmware, &device.card, &device.driver,
          &device.pci_address, &device.pci_path})
      expect_plain(*text);
    EXPECT_FALSE(device.name.empty());
    EXPECT_TRUE(device.numa >= -1 && device.numa <= 65535) << device.numa;
    EXPECT_LE(device.ports.size(), 16U);
    for (const RdmaPort& port : device.ports) {
      for (const std::string* text : {&port.physical_state, &port.speed, &port.netdev})
        expect_plain(*text);
      EXPECT_TRUE(port.number >= 0 && port.number <= 255);
      EXPECT_TRUE(port.lanes >= 0 && port.lanes <= 255);
      EXPECT_LE(port.gids.size(), 64U);
      for (const RdmaGid& gid : port.gids) {
        expect_plain(gid.gid);
        expect_plain(gid.netdev);
      }
    }
  }
  for (const NicFact& nic : facts.nics) {
    for (const std::string* text :
         {&nic.name, &nic.driver, &nic.pci_address, &nic.pci_path, &nic.master})
      expect_plain(*text);
  }
  for (const auto& [name, value] : facts.nccl_settings) {
    expect_plain(name);
    expect_plain(value);
  }
}

class Vandal {
 public:
  explicit Vandal(const std::string& root) : root_(root) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file() && !entry.is_symlink()) files_.push_back(entry.path());
    }
    std::sort(files_.begin(), files_.end());  // the same in every run
  }

  /// Spoils one file; undo() brings it back.
  void spoil() {
    const fs::path& file = files_[below(files_.size())];
    std::ostringstream before;
    before << std::ifstream(file, std::ios::binary).rdbuf();
    undo_.emplace_back(file, before.str());
    fs::remove_all(file);
    switch (below(9)) {
      case 0:
        return;  // missing
      case 1:
        return write(file, "");
      case 2:
        return write(file, random_bytes(below(200)));
      case 3:
        return write(
            file, std::string(std::size_t{1} << 20, before.str().empty() ? 'x' : before.str()[0]));
      case 4:
        return write(file, before.str().substr(0, before.str().size() / 2));
      case 5:
        return write(file, before.str() + before.str());
      case 6:
        fs::create_directory(file);
        return;
      case 7:
        fs::create_symlink(file.filename(), file);
        return;  // to itself
      default:
        EXPECT_EQ(::mkfifo(file.c_str(), 0600), 0);
    }
  }
  /// Replaces one byte of one file.
  void flip() {
    const fs::path& file = files_[below(files_.size())];
    std::ostringstream before;
    before << std::ifstream(file, std::ios::binary).rdbuf();
    std::string text = before.str();
    if (text.empty() || fs::is_directory(file)) return;
    undo_.emplace_back(file, text);
    text[below(text.size())] = static_cast<char>(below(256));
    write(file, text);
  }
  void undo() {
    for (auto each = undo_.rbegin(); each != undo_.rend(); ++each) {
      fs::remove_all(each->first);
      write(each->first, each->second);
    }
    undo_.clear();
  }
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

 private:
  std::string random_bytes(std::size_t n) {
    std::string bytes(n, '\0');
    for (char& c : bytes) c = static_cast<char>(below(256));
    return bytes;
  }
  static void write(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }

  std::string root_;
  std::vector<fs::path> files_;
  std::vector<std::pair<fs::path, std::string>> undo_;
  std::mt19937 random_{20261122};  // NOLINT: the same in every run
};

void spoil_machine(const std::string& name, int rounds) {
  FixtureTree copy;
  fs::copy(shape(name), copy.root(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const FabricFacts whole = read_fabric(copy.root(), read_gpus(copy.root()), "");
  ASSERT_EQ(whole, facts_of(name));
  Vandal vandal(copy.root());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t n = 1 + vandal.below(4); n > 0; --n) {
      // The file may have been in a folder that was spoiled before.
      vandal.below(3) == 0 ? vandal.flip() : vandal.spoil();
    }
    expect_usable(read_fabric(copy.root(), read_gpus(copy.root()), ""));
    vandal.undo();
    if (testing::Test::HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_EQ(read_fabric(copy.root(), read_gpus(copy.root()), ""), whole);
}

TEST(Garbage, InFilesOfInfiniband) {
  spoil_machine("half-rate", 200);
}

TEST(Garbage, InFilesOfAVirtualMachine) {
  spoil_machine("azure-nc24rs-v3", 100);
}

}  // namespace
}  // namespace dlaunch::fabric
