// What tests and the generator of docs/reference/job-file.md ask the reader of job files.
//
//   spec_tool verdicts < list   for each file that the list names, a line of JSON: accepted, error
//   spec_tool fields            the field table and the rules, as JSON
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "jobfile/expectation.h"
#include "jobfile/field_table.h"
#include "jobfile/job_reader.h"
#include "jobfile/job_rules.h"
#include "jobfile/json_schema.h"

namespace {

using namespace dlaunch;
using namespace dlaunch::jobfile;

void print_verdict(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto job = read_job({text, "job.yaml", {}, {}});
  JsonObject verdict;
  verdict.put_string("file", path).put("accepted", job ? "true" : "false");
  if (!job) verdict.put_string("error", job.error().message);
  std::cout << verdict.text() << '\n';
}

std::string row_of(const Field& field) {
  JsonObject row;
  row.put_string("key", field.key)
      .put_string("type", expectation(field))
      .put_string("default", field.fallback)
      .put_string("example", field.example)
      .put_string("help", field.help)
      .put("required", field.required ? "true" : "false");
  const bool has_record = !field.record.empty();
  return row.put("record", has_record ? json_string(field.record) : "null").text();
}

void print_fields() {
  std::vector<std::string> rows;
  for (const Field& field : fields()) rows.push_back(row_of(field));
  std::vector<std::string> rules;
  for (const JobRule& rule : job_rules()) rules.push_back(json_string(rule.text));
  JsonObject all;
  all.put("fields", json_array(rows)).put("rules", json_array(rules));
  std::cout << indented_json(all.text()) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "fields") {
    print_fields();
    return 0;
  }
  if (what != "verdicts") {
    std::fputs("usage: spec_tool verdicts|fields\n", stderr);
    return 64;
  }
  for (std::string path; std::getline(std::cin, path);) print_verdict(path);
  return 0;
}
