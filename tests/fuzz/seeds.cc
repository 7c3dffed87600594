// seeds FOLDER: writes the seeds of the fuzz targets, so that new keys and messages are reached
// from the start: FOLDER/<target>.dict, a small job file for every key in FOLDER/job_file/, and one
// frame of every message in FOLDER/wire/. Dictionary syntax: libFuzzer's, "bytes with \xAB".
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "jobfile/field_table.h"
#include "unit/wire/samples.h"
#include "wire/cbor.h"
#include "wire/codec.h"
#include "wire/framer.h"

namespace dlaunch {
namespace {

namespace fs = std::filesystem;
using Words = std::set<std::string>;

void write_dictionary(const fs::path& file, const Words& words) {
  std::ofstream out(file);
  for (const std::string& word : words) {
    out << '"';
    for (const char c : word) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
      const bool plain = c > ' ' && c <= '~' && c != '"' && c != '\\';
      out << (plain ? std::string(1, c) : std::string(escaped));
    }
    out << "\"\n";
  }
}

/// Keys and values of job files of other systems are in the seeds; these are the connecting pieces.
Words foreign_words() {
  return {"\n",
          "\n  ",
          "\n- ",
          ": ",
          "- ",
          "{",
          "}",
          "[",
          "]",
          ", ",
          "\"",
          "'",
          "---\n",
          "${{inputs.",
          "${{outputs.",
          "}}",
          "$[[",
          "]]",
          "${{parent.",
          "code: ",
          "limits: ",
          "timeout: ",
          "resources: ",
          "inputs: ",
          "path: ",
          "azureml:",
          "gs://",
          "file://",
          "component: ",
          "./x.yml",
          "$schema: ",
          "type: ",
          "pytorch",
          "mpi",
          "tensorflow",
          "pipeline",
          "sweep",
          "command",
          "replicas: ",
          "args: ",
          "env: ",
          "name: ",
          "value: ",
          "valueFrom: ",
          "$(A)",
          "mpirun",
          "-np",
          "-x",
          "-mca",
          "bash",
          "-c",
          "CUSTOM",
          "workerCount: ",
          "torchrun",
          "$NODE_RANK",
          "\fstep a",
          "\finput a=",
          "\fargument a",
          "\foutput a=b",
          "#SBATCH -",
          "srun ",
          "export ",
          "=$(",
          "replicatedJobs: ",
          "completions: ",
          "fieldRef: ",
          "runtimeRef: ",
          "trainer: ",
          "num_nodes: ",
          "envs: ",
          "setup: ",
          "run: ",
          "null"};
}

Words job_words() {
  Words words = {"\n",      "\n  ",   "\n- ",   ": ",
                 "- ",      "? ",     "[",      "]",
                 "{",       "}",      ", ",     "\"",
                 "'",       " #",     "&a ",    "*a",
                 "!!str ",  "|\n ",   ">-\n ",  "---\n",
                 "...\n",   "<<: *a", "null",   "~",
                 "true",    "false",  "none",   "auto",
                 "0x1f",    "1e9",    "-1",     "5s",
                 "10m",     "1h30m",  "5s..5m", "16g",
                 "\\u00e9", "\f",     "\r\n",   "=",
                 "[]",      "{}",     "RANK",   "python train.py"};
  for (const jobfile::Field& field : jobfile::fields()) {
    std::string key(field.key);
    words.insert("\n" + key.substr(key.find_last_of('.') + 1) + ": ");
    if (key.find_first_of("[*") == std::string::npos) words.insert("\f" + key + "=");
    if (!field.fallback.empty()) words.insert(std::string(field.fallback));
    for (const jobfile::Keyword& word : field.words) words.insert(std::string(word.text));
    std::istringstream others{std::string(field.also)};
    for (std::string other; others >> other;) words.insert(other);
  }
  for (const char* role : {"chief", "worker", "ps", "evaluator"}) words.insert(role);
  for (const char* name : {"TERM", "SIGINT", "USR1", "KILL"}) words.insert(name);
  return words;
}

/// Every text of the samples in its CBOR form: the names of fields and of steps.
Words wire_words() {
  Words words = {"\xf4",
                 "\xf5",
                 "\xf6",
                 std::string(1, '\0'),
                 "\x9f",
                 "\xbf",
                 "\xff",
                 "\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
                 "\x5a\xff\xff\xff\xff",
                 "\x40"};
  for (const wire::Message& message : wire::samples()) {
    const wire::Frame frame = wire::encode(message);
    if (!wire::cbor::check(frame.payload, wire::kMaxNesting)) continue;  // raw
    wire::cbor::Cursor cursor(frame.payload);
    while (cursor.position() < frame.payload.size()) {
      const std::size_t start = cursor.position();
      const wire::cbor::Head head = cursor.head();
      const bool is_text = head.major == wire::cbor::Major::text;
      if (is_text || head.major == wire::cbor::Major::bytes) {
        static_cast<void>(cursor.content(head));
      }
      if (is_text) words.insert(frame.payload.substr(start, cursor.position() - start));
    }
  }
  return words;
}

Words hostlist_words() {
  return {"[",       "]",         ",",
          "-",       "[0-9]",     "[01-04]",
          "[1,3-5]", ":8",        ":",
          " ",       "gpu",       "[]",
          "[9-10]",  "[0-99999]", "[18446744073709551615]",
          "user@",   "[fe80::1]", "10.0.0.[1-3]",
          "{1..3}"};
}

Words hostfile_words() {
  Words words = hostlist_words();
  words.insert({" slots=4",
                " max_slots=8",
                " cpu=",
                " port=22",
                " username=u",
                " user=u",
                " binding=core",
                "slots",
                "rank 0=",
                "=",
                "\n",
                "#",
                "//",
                "/*",
                "*/",
                "^",
                "+n1",
                " 4 all.q@a UNDEFINED",
                "a\na\n",
                "\r\n"});
  return words;
}

Words pmi_words() {
  return {"cmd=",
          "init",
          " pmi_version=1",
          " pmi_version=2",
          "get_maxes\n",
          "get_appnum\n",
          "put",
          " kvsname=x",
          " key=",
          " value=",
          "get",
          "barrier_in\n",
          "finalize\n",
          "abort",
          " exitcode=",
          "mcmd=spawn\n",
          "totspawns=2\n",
          "spawnssofar=2\n",
          "endcmd\n",
          "cmd=put key=b value=",
          "\\ ",
          "\n",
          "PMI_process_mapping"};
}

/// A value that the key takes.
std::string value_of(const jobfile::Field& field) {
  if (!field.fallback.empty()) return std::string(field.fallback);
  using Kind = jobfile::Kind;
  switch (field.kind) {
    case Kind::boolean:
      return "true";
    case Kind::integer:
    case Kind::number:
    case Kind::integer_list:
      return std::to_string(field.min);
    case Kind::size:
      return "16g";
    case Kind::environment:
    case Kind::text_map:
      return "{LR: '0.1', DEBUG: 1}";
    case Kind::text_list:
    case Kind::name_list:
    case Kind::name_pattern_list:
    case Kind::record_list:
      return "[HOME, PATH]";
    default:
      return field.words.empty() ? "one two" : std::string(field.words.front().text);
  }
}

/// Small files, most of which are accepted: mutations of small files are effective.
void write_jobs(const fs::path& folder) {
  for (const jobfile::Field& field : jobfile::fields()) {
    const std::string key(field.key);
    if (key.find_first_of("[*") != std::string::npos) continue;
    const std::size_t dot = key.find('.');
    const std::string line =
        key.substr(dot == std::string::npos ? 0 : dot + 1) + ": " + value_of(field) + "\n";
    std::ofstream out(folder / key);
    if (key != "command") out << "command: a\n";
    if (dot != std::string::npos) out << key.substr(0, dot) << ":\n  ";
    out << line;
  }
  std::ofstream(folder / "roles")
      << "command: a\nframework: tensorflow\nroles: {chief: 1, worker: 3, ps: 2}\n";
}

void write_frames(const fs::path& folder) {
  std::string all(1, '\7');
  std::uint64_t sequence = 0;
  for (const wire::Message& message : wire::samples()) {
    wire::Frame frame = wire::encode(message);
    frame.sequence = wire::is_sequenced(frame.type) ? ++sequence : 0;
    std::string one(1, '\0');
    wire::append_frame(frame, one);
    wire::append_frame(frame, all);
    std::ofstream(folder / wire::type_name(frame.type), std::ios::binary) << one;
  }
  std::ofstream(folder / "session", std::ios::binary) << all;
}

}  // namespace
}  // namespace dlaunch

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  const dlaunch::fs::path folder = argv[1];
  dlaunch::fs::create_directories(folder / "wire");
  dlaunch::fs::create_directories(folder / "job_file");
  dlaunch::write_dictionary(folder / "job_file.dict", dlaunch::job_words());
  dlaunch::write_dictionary(folder / "foreign_job.dict", dlaunch::foreign_words());
  dlaunch::write_dictionary(folder / "wire.dict", dlaunch::wire_words());
  dlaunch::write_dictionary(folder / "hostlist.dict", dlaunch::hostlist_words());
  dlaunch::write_dictionary(folder / "hostfile.dict", dlaunch::hostfile_words());
  dlaunch::write_dictionary(folder / "pmi.dict", dlaunch::pmi_words());
  dlaunch::write_jobs(folder / "job_file");
  dlaunch::write_frames(folder / "wire");
  return std::filesystem::exists(folder / "wire.dict") ? 0 : 1;
}
