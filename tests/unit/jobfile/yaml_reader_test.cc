#include "jobfile/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Case {
  std::string text;
  const char* error;  // behind "job.yaml"
};

class BadYaml : public testing::TestWithParam<Case> {};

TEST_P(BadYaml, IsOneClearError) {
  const auto errors = errors_of(read_text(GetParam().text));
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0], "job.yaml" + std::string(GetParam().error));
}

const Case kCases[] = {
    {"", ": error: the file is empty"},
    {"# nothing\n", ": error: the file is empty"},
    {"~\n", ": error: the file is empty"},
    {"---\n", ": error: the file is empty"},
    {"\xef\xbb\xbf", ": error: the file is empty"},
    {"\xef\xbb\xbf"
     "commnd: x\n",
     ":1:1: error: unknown key \"commnd\", did you mean \"command\"?"},
    {"command: x\n\xef\xbb\xbf",
     ":2:1: error: the control character U+FEFF, which YAML does not allow; remove it"},
    {"\xff\xfe"
     "c",
     ": error: the file is UTF-16; save it as UTF-8"},
    {std::string("c\0o\0m\0", 6), ": error: the file is UTF-16; save it as UTF-8"},
    {std::string("\0c\0o\0m", 6), ": error: the file is UTF-16; save it as UTF-8"},
    {std::string("\xff\xfe\0\0c\0\0\0", 8), ": error: the file is UTF-32; save it as UTF-8"},
    {"command: \xe9t\xe9\n", ":1:10: error: the byte 0xe9 is not UTF-8; save the file as UTF-8"},
    {"name: \xc3\xa9 \xc0\x80\n",
     ":1:9: error: the byte 0xc0 is not UTF-8; save the file as UTF-8"},
    {"name: x\ncommand: echo \x93hello\x94\n",
     ":2:15: error: the byte 0x93 is not UTF-8 (a curly quote of Windows-1252?); write \" or ' "
     "instead"},
    {"\x1f\x8b\x08\x02\x01\x04\x03\x05", ": error: this is not a text file; is it the right one?"},
    {"command: \xe2\x80\x9cpython train.py\xe2\x80\x9d\n",
     ":1:10: error: a curly quote is an ordinary letter to YAML; write \" or '"},
    {"command: x\n\xc2\xa0 name: y\n",
     ":2:1: error: a no-break space (U+00A0), which YAML takes for text; write an ordinary one"},
    {"command:\xc2\xa0x\n",
     ":1:9: error: a no-break space (U+00A0), which YAML takes for text; write an ordinary one"},
    {"command: x\nname = y\n",
     ":2:1: error: unknown key \"name = y\"; write \"name: ...\", with a colon"},
    {"command: x\n  name: y\n",
     ":2:7: error: not valid YAML: this line is indented further than the keys above; if it is a "
     "key, indent it like them"},
    {"command: x\nnodes:2\nname: y\n",
     ":2:6: error: not valid YAML: a space is missing after this colon: nodes: 2"},
    {"command: x\nnodes:2\n", ":2:6: error: a space is missing after this colon: nodes: 2"},
    {"command: x\nrestart: {max:2}\n", ":2:14: error: a space is missing after this colon: max: 2"},
    {"command:x\n", ":1:8: error: a space is missing after this colon: command: x"},
    {"command:python train.py\nnodes: 2\n",
     ":1:8: error: not valid YAML: a space is missing after this colon: command: python"},
    {"restart:\n  max:2\n  backoff: 1s\n",
     ":2:6: error: not valid YAML: a space is missing after this colon: max: 2"},
    {"hosts:\n  - name:a\n    slots: 2\n",
     ":2:9: error: not valid YAML: a space is missing after this colon: name: a"},
    {"command: x\nrestart\n  max: 2\n",
     ":2:1: error: not valid YAML: a colon is missing after this key: restart:"},
    {"command: x\nrestart  # often\n\n  max: 2\n",
     ":2:1: error: not valid YAML: a colon is missing after this key: restart:"},
    {"restart\n  max: 2\n",
     ":1:1: error: not valid YAML: a colon is missing after this key: restart:"},
    {"framework pytorch\nnodes: 2\n",
     ":1:1: error: not valid YAML: a colon is missing after this key: framework:"},
    {"name: a text\n  at http://x\n  which: goes on\n",
     ":3:8: error: not valid YAML: this line is indented further than the keys above; if it is a "
     "key, indent it like them"},
    {std::string("command: x\0y", 12), ":1:11: error: a NUL byte; is this a text file?"},
    {"command: \x04\n",
     ":1:10: error: the control character U+0004, which YAML does not allow; remove it"},
    {"a: 1\rb: 2\n",
     ":1:5: error: a carriage return without a line feed; save the file with Unix line endings"},
    {"command: " + std::string(256 * 1024, 'x'),
     ": error: the file is larger than 256 KiB; is this a job file?"},
    {"command: \"a\\0b\"\n", ":1:10: error: a NUL character cannot be part of a text"},
    {"- a\n",
     ":1:1: error: a job file is made of keys and values, such as \"command: python train.py\""},
    {"python train.py\n",
     ":1:1: error: a job file is made of keys and values, such as \"command: python train.py\""},
    {"command: x\n---\nname: y\n",
     ":2:1: error: a job file holds one YAML document, but a second one starts here"},
    {"command: [a\n",
     ":1:12: error: not valid YAML: a '[' is not closed with ']', or a comma is missing"},
    {"env: {A: b\n",
     ":1:11: error: not valid YAML: a '{' is not closed with '}', or a comma is missing"},
    {"command: a: b\n",
     ":1:11: error: not valid YAML: a ':' is not allowed here; put text that contains \": \" in "
     "quotes"},
    {"command: \"a\nname: b\n", ":1:10: error: not valid YAML: the closing quote is missing"},
    {"command: 'it''s\n", ":1:10: error: not valid YAML: the closing quote is missing"},
    {"env:\n\tA: b\n", ":2:1: error: not valid YAML: indent with spaces, not with tabs"},
    {"command: x\n}\n", ":2:1: error: not valid YAML: this bracket has no opening bracket"},
    {"command: *x\n",
     ":1:10: error: not valid YAML: this alias (*) names an anchor (&) that is not defined above"},
    {"command: x\nenv: &e {A: *e}\n",
     ":2:13: error: this alias is inside the value that it refers to"},
    {"command: x\nenv: {<<: {A: b}}\n",
     ":2:7: error: merge keys (<<) are not supported; repeat the keys, or use an alias for a "
     "whole value"},
    {"command: x\nhosts: [node1, node[2-3]]\n",
     ":2:16: error: not valid YAML: a name with brackets must be quoted here: \"node[2-3]\""},
    {"command: x\nhosts: [gpu[02-04]:8]\n",
     ":2:9: error: not valid YAML: a name with brackets must be quoted here: \"gpu[02-04]:8\""},
    {"command: x\nhosts:\n  - {name: node[4-5], slots: 2}\n",
     ":3:12: error: not valid YAML: a name with brackets must be quoted here: \"node[4-5]\""},
    {"command: !run x\n", ":1:15: error: tags (!name) are not supported here; remove the tag"},
    {"command: x\n? [a]\n: b\n", ":2:3: error: a key must be plain text, not a list or a mapping"},
    {"command: x\n: b\n", ":2:1: error: a key is missing here, or it needs quotes"},
    {"name: a\ncommand: x\n\nname: b\n",
     ":4:1: error: duplicate key \"name\", already given in line 1"},
    {"command: x\nenv: {A: 1, B: 2, A: 3}\n",
     ":2:19: error: duplicate key \"A\", already given in line 2"},
};

INSTANTIATE_TEST_SUITE_P(All, BadYaml, testing::ValuesIn(kCases));

TEST(YamlReader, AnchorsAndAliasesWork) {
  const auto job = read_text("name: &n abc\ncommand: [*n, &o one, *o]\nenv: {A: *n}\n");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->command.argv, (std::vector<std::string>{"abc", "one", "one"}));
  EXPECT_EQ(job->env.at("A"), "abc");
}

TEST(YamlReader, AnErrorInAnAliasedValueIsSaidOnce) {
  EXPECT_THAT(
      errors_of(read_text("command: x\nnodes: &n two\nenv_pass: [&v 'a b', *v]\n")),
      ElementsAre(HasSubstr("2:11: error: nodes must be"), HasSubstr("3:15: error: env_pass[0]"),
                  HasSubstr("3:15: error: env_pass[1]")));
}

TEST(YamlReader, AnExpansionBombIsRefused) {
  std::string text = "command: x\na: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    std::string list = alias;
    for (int k = 1; k < 10; ++k) list += ", " + alias;
    text += "b" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  EXPECT_THAT(message_of(read_text(text)),
              HasSubstr("aliases expand to more than 10,000 values here"));
}

TEST(YamlReader, DeepNestingIsRefusedInEveryForm) {
  const auto repeated = [](const std::string& part, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += part;
    return out;
  };
  const std::string deep = "nested deeper than 64 levels";
  EXPECT_THAT(message_of(read_text("command: " + repeated("[", 50'000))), HasSubstr(deep));
  EXPECT_THAT(message_of(read_text("command: " + repeated("{a: ", 50'000))), HasSubstr(deep));
  EXPECT_THAT(message_of(read_text(repeated("- ", 50'000))), HasSubstr(deep));
  EXPECT_THAT(message_of(read_text(repeated("? ", 50'000))), HasSubstr(deep));
  EXPECT_THAT(message_of(read_text("x: &a " + repeated("[", 40) + repeated("]", 40) +
                                   "\ny: " + repeated("[", 40) + "*a" + repeated("]", 40))),
              HasSubstr(deep));
}

TEST(YamlReader, TooManyValuesAreRefused) {
  std::string text = "command: [a";
  for (int i = 0; i < 20'000; ++i) text += ",a";
  EXPECT_THAT(errors_of(read_text(text + "]")),
              ElementsAre(HasSubstr(":1:40005: error: a job file holds at most 20,000 values")));
}

TEST(YamlReader, CurlyQuotesAndNoBreakSpacesInsideATextAreFine) {
  const auto job =
      read_text("command: echo \xe2\x80\x9chello\xe2\x80\x9d\nname: \"\xe2\x80\x98x\xc2\xa0y\"\n");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->name, "\xe2\x80\x98x\xc2\xa0y");
}

TEST(YamlReader, SixtyLevelsAreFine) {
  std::string text = "command: x\nx: " + std::string(60, '[') + std::string(60, ']') + "\n";
  EXPECT_THAT(errors_of(read_text(text)), ElementsAre("job.yaml:2:1: error: unknown key \"x\""));
}

TEST(YamlReader, WindowsLineEndsAndAStringTagAreFine) {
  const auto job = read_text("command: x\r\nname: !!str 3\r\n");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->name, "3");
  EXPECT_THAT(errors_of(read_text("command: x\r\nnodes: y\r\n")),
              ElementsAre(HasSubstr("job.yaml:2:8: ")));
}

TEST(YamlReader, PlacesCoverWhatAPersonWouldMark) {
  const Sources sources{{"f", "a: &x  'it''s'  # c\nb: {c: d e, f: \"g\"}\n", false}};
  Diagnostics diagnostics(sources);
  Document document;
  ASSERT_TRUE(read_yaml(sources, 0, document, diagnostics));
  std::vector<std::string> marked;
  for (const Node& node : document.nodes) {
    marked.push_back(sources[0].text.substr(node.range.offset, node.range.length));
  }
  EXPECT_THAT(marked, testing::UnorderedElementsAre("a", "a", "'it''s'", "b", "{", "c", "d e", "f",
                                                    "\"g\""));
}

/// The one node of a text: its kind, its text, and its position.
std::string node_of(const std::string& text) {
  const Sources sources{{"f", text, false}};
  Diagnostics diagnostics(sources);
  Document document;
  const auto root = read_yaml(sources, 0, document, diagnostics);
  if (!root) return "none";
  const Node& node = document[*root];
  return std::to_string(static_cast<int>(node.kind)) + (node.plain ? " plain " : " quoted ") +
         node.text + ' ' + std::to_string(node.range.offset) + '+' +
         std::to_string(node.range.length);
}

// A single word does not go through the parser; with a line feed it does.
TEST(YamlReader, AWordByItselfIsWhatTheParserMakesOfIt) {
  for (const std::string word : {"4", "0", "007", "auto", "x", "true", "y", "1e3", "0x1f", "null",
                                 "Null", "NULL", "nUll", "nullable"})
    EXPECT_EQ(node_of(word), node_of(word + '\n')) << word;
}

}  // namespace
}  // namespace dlaunch::jobfile
