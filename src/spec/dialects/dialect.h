// Job files of other systems. A dialect says whether a document is one of its own, and translates
// it into a native job file (native_job.h), which is then read like any other. Nothing outside
// src/spec knows what dialects there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/diagnostics.h"
#include "spec/dialects/native_job.h"
#include "spec/document.h"
#include "spec/job_reader.h"
#include "spec/source.h"

namespace dlaunch::spec {

/// One translation: what a dialect reads, and where it puts what it finds. Errors go to
/// `diagnostics`, at the foreign file's own positions.
struct Translation {
  Document& document;
  Sources& sources;  // a dialect may read more files into it (ForeignInput::read_file)
  Diagnostics& diagnostics;
  const JobInput& input;
  NodeId root;  // of the foreign document
  NativeJob job;

  /// For the user, one sentence each; see note_at().
  std::vector<std::string> notes{};
  /// Keys that stand for what a launcher does not do: one note names them all.
  std::vector<PlacedText> not_used{};
  /// Variables passed on from where dlaunch is started, of all groups together.
  std::vector<PlacedText> passed{};
  /// The words after "--" have become a part of the command.
  bool took_arguments = false;
  /// It was reported that there is no command, which one answer on the command line settles.
  bool lacks_command = false;
  /// JobReading::azure_size
  std::string azure_size{};

  /// Whether the command line sets this key of the native form (--set command=...).
  [[nodiscard]] bool is_set(std::string_view key) const {
    return std::any_of(input.overrides.begin(), input.overrides.end(),
                       [&](const Override& one) { return one.key == key; });
  }

  void pass_on(const PlacedText& variable) {
    for (const PlacedText& one : passed)
      if (one.text == variable.text) return;
    passed.push_back(variable);
    job.texts({"env_pass"}, passed, passed.front().place);
  }

  /// "TEXT (line 7)"; the same text for several places is one note: "TEXT (line 7, line 12)".
  void note_at(Place place, std::string text) {
    text += " (";
    const std::string where = diagnostics.refer_to(place);
    for (std::string& note : notes) {
      if (!note.starts_with(text)) continue;
      if (!note.ends_with(where + ')')) note.insert(note.size() - 1, ", " + where);
      return;
    }
    notes.push_back(text + where + ')');
  }
};

struct Dialect {
  /// As its users call it.
  std::string_view name;
  /// Why the document is none of this dialect; empty: it is one.
  std::string (*why_not)(const Document& document, NodeId root);
  /// Fills Translation::job. Errors go to the diagnostics.
  void (*translate)(Translation& translation);
  /// Which options of the command line it knows; the others are refused.
  bool has_inputs = false;
  bool has_outputs = false;
  bool has_steps = false;
  /// A key that its files are known by, so that one that is misspelt can be told.
  std::string_view own_key{};
  /// What its files call what the native reader finds wrong; longer ones first.
  std::span<const KeyName> key_names{};
  /// --module and --package-path
  bool has_modules = false;
  /// Its containers start where the image says, unless the file or the command line says otherwise.
  bool starts_in_image = false;
};

/// All of them, in the order in which they are asked: none claims what belongs to one before it.
[[nodiscard]] std::span<const Dialect> dialects();

}  // namespace dlaunch::spec
