// Job files of other systems. A dialect recognises its documents and translates them into a native
// job file (native_job.h), which is then read like any other. Only src/jobfile knows the list of
// dialects.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobfile/diagnostics.h"
#include "jobfile/dialects/native_job.h"
#include "jobfile/document.h"
#include "jobfile/job_reader.h"
#include "jobfile/source.h"

namespace dlaunch::jobfile {

/// One translation: a dialect's input and output. Errors go to `diagnostics`, at positions in the
/// foreign file.
struct Translation {
  Document& document;
  Sources& sources;  // a dialect may add more files to it (DialectOptions::read_file)
  Diagnostics& diagnostics;
  const JobInput& input;
  NodeId root;  // of the foreign document
  NativeJob job;
  /// The file's other documents. The job uses the documents in `used`, so no note calls them
  /// ignored.
  std::vector<NodeId> others{};
  std::vector<NodeId> used{};

  /// For the user, one sentence each; see note_at().
  std::vector<std::string> notes{};
  /// Keys that have no effect, because a launcher lacks their feature. One note lists them all.
  std::vector<LocatedText> not_used{};
  /// Variables passed on from dlaunch's own environment, of all groups together.
  std::vector<LocatedText> passed{};
  std::vector<LocatedText> secrets{};
  /// The words after "--" became part of the command.
  bool took_arguments = false;
  /// A missing command was reported. One command on the command line fixes this for all groups.
  bool lacks_command = false;
  /// See JobReading::azure_size.
  std::string azure_size{};

  /// Whether the command line sets this native key (--set command=...).
  [[nodiscard]] bool is_set(std::string_view key) const {
    return std::any_of(input.overrides.begin(), input.overrides.end(),
                       [&](const Override& one) { return one.key == key; });
  }

  void pass_on(const LocatedText& variable) {
    for (const LocatedText& one : passed)
      if (one.text == variable.text) return;
    passed.push_back(variable);
    job.texts({"env_pass"}, passed, passed.front().range);
  }

  /// Marks the variable as a secret, whose value does not belong in a job file, a plan or a record.
  void keep_secret(const LocatedText& variable) {
    for (const LocatedText& one : secrets)
      if (one.text == variable.text) return;
    secrets.push_back(variable);
    job.texts({"env_secret"}, secrets, secrets.front().range);
    note_at(variable.range, variable.text +
                                " is a secret, and dlaunch does not read its value from the file: "
                                "set " +
                                variable.text + " in the shell that starts dlaunch");
  }

  /// Adds "TEXT (line 7)"; the same text at several positions is one note: "TEXT (line 7, line
  /// 12)".
  void note_at(SourceRange range, std::string text) {
    text += " (";
    const std::string where = diagnostics.refer_to(range);
    for (std::string& note : notes) {
      if (!note.starts_with(text)) continue;
      if (!note.ends_with(where + ')')) note.insert(note.size() - 1, ", " + where);
      return;
    }
    notes.push_back(text + where + ')');
  }
};

struct Dialect {
  /// The dialect's usual name.
  std::string_view name;
  /// Why the document is not of this dialect; empty: it is.
  std::string (*why_not)(const Document& document, NodeId root);
  /// Fills Translation::job. Errors go to the diagnostics.
  void (*translate)(Translation& translation);
  /// The command-line options that the dialect supports; others are refused.
  bool has_inputs = false;
  bool has_outputs = false;
  bool has_steps = false;
  /// A key that identifies its files, so that a misspelt one can be reported.
  std::string_view own_key{};
  /// Foreign names for the native keys in error messages; longer ones first.
  std::span<const KeyName> key_names{};
  /// --module and --package-path
  bool has_modules = false;
  /// Its containers start in the image's WORKDIR unless the file or the command line says
  /// otherwise.
  bool starts_in_image = false;
};

/// All dialects in the order of recognition: each document belongs to the first that accepts it.
[[nodiscard]] std::span<const Dialect> dialects();

extern const Dialect kAzureV1;
extern const Dialect kAzureV2;
extern const Dialect kAiPlatform;
extern const Dialect kVertexAi;
extern const Dialect kKubeflow;
extern const Dialect kKubernetes;
extern const Dialect kTrainJob;
extern const Dialect kSkyPilot;
extern const Dialect kAccelerate;
/// Not among dialects(), because a batch script is not a document: is_slurm_script() recognises it.
/// Translation::root is an empty node for it.
extern const Dialect kSbatch;

}  // namespace dlaunch::jobfile
