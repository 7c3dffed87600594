// Walks a document along the field table and fills a JobSpec.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/job_spec.h"
#include "spec/diagnostics.h"
#include "spec/document.h"
#include "spec/fields.h"
#include "spec/value_reader.h"

namespace dlaunch::spec {

/// Where each key that was given stood: "timeouts.stop", "env.RANK", "roles.worker".
struct GivenKey {
  Place key;
  Place value;
  bool good = true;  // false: its value was reported, and JobSpec holds the default
};
using GivenKeys = std::map<std::string, GivenKey, std::less<>>;

enum class NotYet { refuse, accept };

class FieldReader {
 public:
  /// All references must outlive this object. NotYet::accept reads keys whose feature is not there
  /// yet as if it were (for tests of the table).
  FieldReader(const Document& document, Diagnostics& diagnostics, NotYet not_yet)
      : document_(document),
        diagnostics_(diagnostics),
        refuse_not_yet_(not_yet == NotYet::refuse),
        values_(document, diagnostics, refuse_not_yet_) {}

  /// Reads the mapping `root` into `job`, which starts with the defaults. Keys with an error are
  /// left out of `job`, but are in given().
  void read(NodeId root, JobSpec& job);

  [[nodiscard]] const GivenKeys& given() const { return given_; }

 private:
  /// Where in the table a mapping is: `prefix` leads to its rows, `path` is what the user reads.
  struct Section {
    std::string prefix;
    std::string path;
  };

  void read_mapping(NodeId mapping, const Section& section, Place at, JobSpec& job);
  void read_entry(const Section& section, const Node& key, NodeId value, JobSpec& job);
  void read_field(const Field& field, const Entry& entry, JobSpec& job);
  void read_record(const Field& field, const Entry& entry, JobSpec& job);
  void read_record_list(const Field& field, const Entry& entry, JobSpec& job);
  void read_section(const Section& section, const Entry& entry, JobSpec& job);
  void refuse(const Field& field, const Entry& entry, JobSpec& job);
  void look_for_unknown_keys(const Section& section, NodeId value, JobSpec& job);
  void require_keys(const Section& section, NodeId mapping, Place at);
  void note(const Entry& entry);
  void unknown_key(const Section& section, const Node& key);

  const Document& document_;
  Diagnostics& diagnostics_;
  bool refuse_not_yet_;
  ValueReader values_;
  GivenKeys given_;
  /// Inside something that is not available yet: only unknown keys are worth an error.
  bool only_unknown_ = false;
};

}  // namespace dlaunch::spec
