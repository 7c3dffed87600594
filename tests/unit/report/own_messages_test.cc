#include "report/own_messages.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using testing::ElementsAre;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The string literals of our sources; those of an expression without anything between them.
std::string literals_of_sources() {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DLAUNCH_DOCS "/../src")) {
    if (entry.path().extension() != ".cc" || entry.path().filename() == "own_messages.cc") continue;
    bool is_inside = false;
    const std::string source = text_of(entry.path());
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::string_view rest = std::string_view(source).substr(i);
      if (rest.starts_with("R\"sh(")) {  // a shell script
        const std::size_t end = source.find(")sh\"", i);
        all += source.substr(i, end - i);
        i = end + 3;
      } else if (is_inside && source[i] == '\\') {
        all += source[++i];
      } else if (!is_inside && rest.starts_with("//")) {
        i = source.find('\n', i);
      } else if (!is_inside && (rest.starts_with("'\"'") || rest.starts_with("'\\\"'"))) {
        i = source.find('\'', i + 1);
        all += '"';
      } else if (source[i] == '"') {
        is_inside = !is_inside;
      } else if (is_inside) {
        all += source[i];
      } else if (source[i] == ',' || source[i] == ';') {
        all += '\n';
      }
    }
  }
  return all;
}

TEST(OwnMessages, AWordInCapitalsStandsForWhatDiffers) {
  EXPECT_THAT(fixed_parts("no run \"NAME\" in DIR"), ElementsAre("no run \"", "\" in "));
  EXPECT_THAT(fixed_parts("HOST has called MPI_Init"), ElementsAre(" has called MPI_Init"));
  EXPECT_THAT(fixed_parts("the same"), ElementsAre("the same"));
}

TEST(OwnMessages, ARowIsFoundWithAnyWordsInTheirPlaces) {
  for (const OwnMessage& row : own_messages()) {
    std::string said = "dlaunch: FAILED: ";
    for (const std::string_view part : fixed_parts(row.text)) said += "gpu1" + std::string(part);
    EXPECT_EQ(find_own_message(said), &row) << said;
  }
  EXPECT_EQ(find_own_message(" in runs no run"), nullptr) << "not in this order";
  EXPECT_EQ(find_own_message(""), nullptr);
}

TEST(OwnMessages, AdviceNamesTheHost) {
  const OwnMessage* row = find_own_message("Host key for gpu04 has changed and you have");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(advice_for(*row, "gpu04"), "ssh-keygen -R gpu04, if it was installed anew");
}

// A message that dlaunch no longer says would stay in the table.
TEST(OwnMessages, TheSourcesSayEachOfThem) {
  const std::string sources = literals_of_sources();
  for (const OwnMessage& row : own_messages()) {
    if (row.of_ssh) continue;
    for (std::string_view part : fixed_parts(row.text)) {
      if (part.starts_with('"')) part.remove_prefix(1);  // often put around by a function
      if (part.ends_with('"')) part.remove_suffix(1);
      EXPECT_NE(sources.find(part), std::string::npos) << row.text << ": " << part;
    }
  }
}

TEST(OwnMessages, TheReferenceHasEachRow) {
  const std::string reference = text_of(DLAUNCH_DOCS "/reference/messages.md");
  for (const OwnMessage& row : own_messages()) {
    const std::string line = "| `" + std::string(row.text) + "` | " + std::string(row.meaning) +
                             " | " + std::string(row.advice);
    EXPECT_NE(reference.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace dlaunch
