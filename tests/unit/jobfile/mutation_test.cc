// Whatever a file contains, read_job gives a job or an error with exit code 65.
#include <gtest/gtest.h>

#include <random>

#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

constexpr int kRounds = 2'000;
constexpr std::uint32_t kSeed = 20'261;

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (std::size_t n = 1 + below(6); n > 0; --n) change(text);
    return text;
  }

 private:
  // Pieces with a meaning to YAML or to the reader.
  static constexpr const char* kPieces[] = {"\n",
                                            " ",
                                            "  ",
                                            "\t",
                                            ":",
                                            ": ",
                                            "-",
                                            "- ",
                                            "[",
                                            "]",
                                            "{",
                                            "}",
                                            ",",
                                            "\"",
                                            "'",
                                            "#",
                                            "&a ",
                                            "*a",
                                            "!!str ",
                                            "!x ",
                                            "|\n",
                                            ">\n",
                                            "---\n",
                                            "...",
                                            "? ",
                                            "<<: *a",
                                            "~",
                                            "null",
                                            "true",
                                            "-1",
                                            "1e999",
                                            "0x",
                                            "\r\n",
                                            "\\",
                                            "%",
                                            "@",
                                            "`",
                                            "\x01",
                                            "\xff",
                                            "\xc3",
                                            "none",
                                            "auto",
                                            "99999999999999999999",
                                            "RANK",
                                            "\"\\0\"",
                                            "\xf0\x9f\x98\x80"};

  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  void change(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = std::min(below(20), text.size() - at);
    switch (below(6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 2:
        text.replace(at, length, kPieces[below(std::size(kPieces))]);
        break;
      case 3:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 4:
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      default:
        text.resize(at);
        break;
    }
  }

  std::mt19937 random_;
};

void read_mutations_of(const std::string& file) {
  const std::string original = test_data(file);
  ASSERT_FALSE(original.empty());
  Mutator mutator(kSeed);
  int jobs = 0;
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = mutator.mutate(original);
    const auto job = read_text(text);
    if (job) {
      ++jobs;
      EXPECT_TRUE(job->command.is_shell || !job->command.argv.empty());
    } else {
      EXPECT_EQ(job.error().exit_code, exit_code::kJobFile);
      EXPECT_FALSE(job.error().message.empty());
    }
  }
  EXPECT_LT(jobs, kRounds);
}

TEST(Mutation, OfAUsualFileIsAJobOrAnError) {
  read_mutations_of("quickstart.yaml");
}
TEST(Mutation, OfEveryKeyIsAJobOrAnError) {
  read_mutations_of("every-available-key.yaml");
}

TEST(Mutation, OfAnOverrideIsAJobOrAnError) {
  Mutator mutator(kSeed);
  for (int i = 0; i < kRounds; ++i) {
    const std::string key = mutator.mutate("timeouts.stop");
    const std::string value = mutator.mutate("{stop: 5s, run: [1, \"2\"]}");
    const auto job = read_text("command: x\n", {set(key, value), set("roles.worker.env.A", value)});
    if (!job) {
      EXPECT_EQ(job.error().exit_code, exit_code::kJobFile);
    }
  }
}

}  // namespace
}  // namespace dlaunch::jobfile
