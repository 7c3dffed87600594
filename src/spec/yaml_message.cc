#include "spec/yaml_message.h"

#include <array>

namespace dlaunch::spec {

namespace {

struct Wording {
  std::string_view begins;  // of yaml-cpp's message (its exceptions.h)
  std::string_view plain;
};

constexpr std::array<Wording, 18> kWordings{{
    {"end of map flow not found", "a '{' is not closed with '}', or a comma is missing"},
    {"end of map not found", "expected \"key: value\" here; check the indentation"},
    {"end of sequence flow not found", "a '[' is not closed with ']', or a comma is missing"},
    {"end of sequence not found", "expected \"- item\" here; check the indentation"},
    {"illegal flow end", "this bracket was not opened"},
    {"illegal block entry", "a list item (-) cannot start here"},
    {"illegal map key", "a key cannot start here"},
    {"illegal map value", "a ':' cannot stand here; put text that contains \": \" in quotes"},
    {"illegal tab when looking", "indent with spaces, not with tabs"},
    {"illegal EOF in scalar", "the closing quote is missing"},
    {"illegal document indicator", "the closing quote is missing"},
    {"illegal character in scalar",
     "this text cannot be continued here; check quotes and indentation"},
    {"unknown escape character",
     "\"\\\" starts an escape in double quotes; use single quotes to take text as it is"},
    {"unknown token", "this character cannot start a value; put the text in quotes"},
    {"the referenced anchor is not defined",
     "this alias (*) names an anchor (&) that is not defined above"},
    {"alias not found after *", "a '*' starts an alias; put the text in quotes"},
    {"anchor not found after &", "a '&' starts an anchor; put the text in quotes"},
    {"bad file", "nested too deep"},
}};

}  // namespace

std::string plain_yaml_message(std::string_view message) {
  for (const Wording& wording : kWordings) {
    if (message.substr(0, wording.begins.size()) == wording.begins)
      return std::string(wording.plain);
  }
  return std::string(message);
}

}  // namespace dlaunch::spec
