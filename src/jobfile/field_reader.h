// Walks a document along the field table and fills a JobSpec.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "jobfile/diagnostics.h"
#include "jobfile/document.h"
#include "jobfile/field_table.h"
#include "jobfile/value_reader.h"
#include "model/job_spec.h"

namespace dlaunch::jobfile {

/// Where a key was written. Keys are paths: "timeouts.stop", "env.RANK", "roles.worker".
struct GivenKey {
  SourceRange key;
  SourceRange value;
  bool good = true;  // false: an error was reported for the value; JobSpec holds the default
};
using GivenKeys = std::map<std::string, GivenKey, std::less<>>;

class FieldReader {
 public:
  /// All references must outlive this object.
  FieldReader(const Document& document, Diagnostics& diagnostics)
      : document_(document), diagnostics_(diagnostics), values_(document, diagnostics) {}

  /// Reads the mapping `root` into `job`, which starts with the defaults. Keys with an error stay
  /// unset in `job` but appear in given().
  void read(NodeId root, JobSpec& job);

  [[nodiscard]] const GivenKeys& given() const { return given_; }

 private:
  /// A mapping: `prefix` begins its keys in the table ("roles.*."), `path` those in the file
  /// ("roles.worker.").
  struct Section {
    std::string prefix;
    std::string path;
  };

  void read_mapping(NodeId mapping, const Section& section, SourceRange at, JobSpec& job);
  void read_entry(const Section& section, const Node& key, NodeId value, JobSpec& job);
  void read_field(const Field& field, const Entry& entry, JobSpec& job);
  void read_record(const Field& field, const Entry& entry, JobSpec& job);
  void read_record_list(const Field& field, const Entry& entry, JobSpec& job);
  void read_section(const Section& section, const Entry& entry, JobSpec& job);
  void require_keys(const Section& section, NodeId mapping, SourceRange at);
  void note(const Entry& entry);
  void unknown_key(const Section& section, const Node& key);

  const Document& document_;
  Diagnostics& diagnostics_;
  ValueReader values_;
  GivenKeys given_;
};

}  // namespace dlaunch::jobfile
