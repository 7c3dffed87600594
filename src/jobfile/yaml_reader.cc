#include "jobfile/yaml_reader.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "jobfile/yaml_error.h"
#include "text/strings.h"
#include "text/utf8.h"

namespace dlaunch::jobfile {

namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxNodes = 20'000;
constexpr std::uint64_t kMaxAliasNodes = 10'000;
constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";

/// Thrown by callbacks to leave yaml-cpp; never leaves this file.
struct Refusal {
  SourceRange range;
  std::string message;
};

// U+2018 to U+201F: typographic quotes of word processors.
bool begins_with_curly_quote(std::string_view text) {
  if (text.empty()) return false;
  const CodePoint first = decode_utf8(text);
  return first.valid && first.value >= 0x2018 && first.value <= 0x201f;
}

enum class Documents { one, several };

/// Builds the tree without recursion: `open_` is the path from the root to the current position.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::uint32_t source, Documents wanted, Document& document,
              Diagnostics& diagnostics)
      : text_(text),
        source_(source),
        wanted_(wanted),
        document_(document),
        diagnostics_(diagnostics),
        nodes_before_(document.nodes.size()) {}

  [[nodiscard]] const std::vector<YamlDocument>& documents() const { return documents_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    start_ = range(mark);
    anchors_.clear();
    if (!started_) {
      started_ = true;
      return;
    }
    if (text_.substr(start_.offset, 3) != "---")
      throw Refusal{start_, "not valid YAML: this does not continue the lines above it"};
    if (wanted_ == Documents::one) throw Refusal{start_, kSecondDocument};
  }
  void OnDocumentEnd() override {
    const bool is_empty = root_ && document_[*root_].kind == NodeKind::null;
    if (root_ && !(is_empty && !documents_.empty())) documents_.push_back({*root_, start_});
    root_.reset();
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.range = range(mark);
    attach(add(std::move(node), anchor), 1);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = NodeKind::scalar;
    node.plain = tag == "?";
    node.text = value;
    node.range = range(mark);
    if (tag != "?" && tag != "!" && tag != kStringTag) refuse_tag(node.range);
    if (node.plain && begins_with_curly_quote(value)) {
      diagnostics_.error(node.range, "a curly quote is an ordinary letter to YAML; write \" or '");
    }
    if (!node.plain && is_unclosed_quote(text_, node.range.offset)) {
      throw Refusal{node.range, "not valid YAML: the closing quote is missing"};
    }
    if (value.find('\0') != std::string::npos) {
      diagnostics_.error(node.range, "a NUL character cannot be part of a text");
    }
    attach(add(std::move(node), anchor), 1);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    const SourceRange at = range(mark);
    if (known == anchors_.end() || known->second.size == 0) {
      throw Refusal{at, "this alias is inside the value that it refers to"};
    }
    alias_nodes_ += known->second.size;
    if (alias_nodes_ > kMaxAliasNodes) {
      throw Refusal{at, "aliases expand to more than 10,000 values here"};
    }
    if (open_.size() + known->second.depth > kMaxDepth) refuse_depth(at);
    attach(known->second.id, known->second.size, known->second.depth);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(NodeKind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(NodeKind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A collection being read. Sizes count nodes with all aliases expanded.
  struct Open {
    NodeId id = 0;
    YAML::anchor_t anchor = 0;
    std::uint64_t size = 1;
    std::size_t depth = 1;
    std::unordered_map<std::string, SourceRange> keys;
    bool skip_value = false;      // the value of a duplicate or unusable key
    bool is_placeholder = false;  // "{{NAME}}" of a template, which was reported
    std::optional<NodeId> key;
  };
  struct Anchored {
    NodeId id = 0;
    std::uint64_t size = 0;  // 0: not complete yet
    std::size_t depth = 0;
  };

  [[nodiscard]] SourceRange range(const YAML::Mark& mark) const {
    const std::size_t offset = mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos);
    const TokenSpan span = token_span(text_, offset);
    return {source_, static_cast<std::uint32_t>(span.offset),
            static_cast<std::uint32_t>(span.length)};
  }

  NodeId add(Node node, YAML::anchor_t anchor) {
    check_size(node.range);
    const NodeId id = document_.add(std::move(node));
    if (anchor != 0) anchors_[anchor] = {id, 1, 0};
    return id;
  }

  void refuse_tag(SourceRange at) {
    if (diagnostics_.is_full()) throw Refusal{at, "too many errors"};
    diagnostics_.error(at, "tags (!name) are not supported here; remove the tag");
  }

  void check_size(SourceRange at) const {
    if (document_.nodes.size() - nodes_before_ >= kMaxNodes)
      throw Refusal{at, "a job file holds at most 20,000 values; the limit is exceeded here"};
  }

  [[noreturn]] static void refuse_depth(SourceRange at) {
    throw Refusal{at, "nested deeper than 64 levels"};
  }

  void open(NodeKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    Node node;
    node.kind = kind;
    node.range = range(mark);
    if (open_.size() >= kMaxDepth) refuse_depth(node.range);
    if (tag != "?" && !tag.empty()) refuse_tag(node.range);
    check_size(node.range);
    Open frame;
    frame.id = document_.add(std::move(node));
    frame.anchor = anchor;
    if (anchor != 0) anchors_[anchor] = {frame.id, 0, 0};
    open_.push_back(std::move(frame));
  }

  void close() {
    const Open frame = std::move(open_.back());
    open_.pop_back();
    if (frame.anchor != 0) anchors_[frame.anchor] = {frame.id, frame.size, frame.depth};
    if (frame.is_placeholder) {
      Node& node = document_[frame.id];
      node.kind = NodeKind::null;
      node.items.clear();
      node.reported = true;
    }
    attach(frame.id, frame.size, frame.depth);
  }

  /// Adds a complete node to the open collection, or makes it the root.
  void attach(NodeId id, std::uint64_t size, std::size_t depth = 0) {
    if (open_.empty()) {
      root_ = id;
      return;
    }
    Open& parent = open_.back();
    parent.size += size;
    if (depth + 1 > parent.depth) parent.depth = depth + 1;
    if (document_[parent.id].kind == NodeKind::sequence) {
      document_[parent.id].items.push_back(id);
    } else if (!parent.key && !parent.skip_value) {
      take_key(parent, id);
    } else {
      if (!parent.skip_value) {
        auto& items = document_[parent.id].items;
        items.push_back(*parent.key);
        items.push_back(id);
      }
      parent.key.reset();
      parent.skip_value = false;
    }
  }

  /// The parser takes "nodes:2" for a key without a colon.
  [[nodiscard]] std::optional<ColonMistake> mistake_in(const Node& key) const {
    const std::size_t end = key.range.offset + key.text.size();
    const auto behind = text_.find_first_not_of(" \t", std::min(end, text_.size()));
    const bool has_colon = behind != std::string_view::npos && text_[behind] == ':';
    if (!key.plain || has_colon) return std::nullopt;
    return colon_mistake_in_key(key.text, key.range.offset);
  }

  void take_key(Open& parent, NodeId id) {
    const Node& key = document_[id];
    if (diagnostics_.is_full()) throw Refusal{key.range, "too many errors"};
    parent.key = id;
    parent.skip_value = true;
    if (key.reported) return;
    if (key.kind == NodeKind::null) {
      diagnostics_.error(key.range, "a key is missing here, or it needs quotes");
    } else if (key.kind != NodeKind::scalar) {
      const std::size_t at = key.range.offset;
      const bool is_placeholder = at > 0 && text_.substr(at - 1, 2) == "{{";
      parent.is_placeholder = is_placeholder;
      diagnostics_.error(
          key.range, is_placeholder
                         ? "a key must be plain text, not a mapping; is this a {{placeholder}} of "
                           "a template that was not filled in? as text it needs quotes"
                         : "a key must be plain text, not a list or a mapping");
    } else if (const auto colon = mistake_in(key)) {
      diagnostics_.error({source_, static_cast<std::uint32_t>(colon->offset), 1}, colon->message);
    } else if (key.plain && key.text == "<<") {
      diagnostics_.error(
          key.range,
          "merge keys (<<) are not supported; repeat the keys, or use an alias for a whole value");
    } else if (const auto [first, is_new] = parent.keys.emplace(key.text, key.range); !is_new) {
      diagnostics_.error(key.range, "duplicate key " + in_quotes(key.text) + ", already given in " +
                                        diagnostics_.refer_to(first->second));
    } else {
      parent.skip_value = false;
    }
  }

  std::string_view text_;
  std::uint32_t source_;
  Documents wanted_;
  Document& document_;
  Diagnostics& diagnostics_;
  std::size_t nodes_before_;
  bool started_ = false;
  SourceRange start_;
  std::vector<YamlDocument> documents_;
  std::optional<NodeId> root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::uint64_t alias_nodes_ = 0;
};

// "command: x" with " name: y" below: the second line looks like a continued value.
bool is_key_indented_too_far(std::string_view text, std::size_t colon) {
  const std::string_view before = text.substr(0, colon);
  const auto line_feed = before.rfind('\n');
  if (line_feed == std::string_view::npos) return false;
  const std::string_view line = before.substr(line_feed + 1);
  const auto first = line.find_first_not_of(' ');
  return first != 0 && first != std::string_view::npos &&
         line.find_first_of(": \"'#[{", first) == std::string_view::npos;
}

// A tab in the indentation causes one of several errors at a later position.
std::size_t find_tab_in_indentation(std::string_view text, std::size_t offset) {
  const auto before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t line = before == std::string_view::npos ? 0 : before + 1;
  const auto first = text.find_first_not_of(' ', line);
  return first != std::string_view::npos && text[first] == '\t' ? first : std::string_view::npos;
}

// "[node1, gpu[2-3]:8]": inside a flow list a second '[' begins another list (YAML 1.2.2, 7.3.3).
std::optional<TokenSpan> name_with_brackets(std::string_view text, std::size_t offset) {
  constexpr std::string_view kEnds = " \t\r\n,{}\"'";
  if (offset == 0 || offset >= text.size() || text[offset] != '[') return std::nullopt;
  std::size_t begin = offset;
  while (begin > 0 && (kEnds.find(text[begin - 1]) == std::string_view::npos) &&
         text[begin - 1] != '[')
    --begin;
  const std::size_t close = text.find_first_of("]\n", offset);
  if (begin == offset || close == std::string_view::npos || text[close] == '\n')
    return std::nullopt;
  std::size_t end = close + 1;
  while (end < text.size() && kEnds.find(text[end]) == std::string_view::npos && text[end] != ']')
    ++end;
  return TokenSpan{begin, end - begin};
}

void report_syntax(std::string_view text, std::uint32_t source, std::size_t offset,
                   const std::string& message, Diagnostics& diagnostics) {
  if (const auto tab = find_tab_in_indentation(text, offset); tab != std::string_view::npos)
    return diagnostics.error({source, static_cast<std::uint32_t>(tab), 1},
                             "not valid YAML: indent with spaces, not with tabs");
  const bool is_about_keys =
      message.starts_with("illegal map value") || message.starts_with("end of map not found");
  if (const auto colon = colon_mistake(text, offset); is_about_keys && colon)
    return diagnostics.error({source, static_cast<std::uint32_t>(colon->offset),
                              static_cast<std::uint32_t>(colon->length)},
                             "not valid YAML: " + colon->message);
  const TokenSpan span = token_span(text, offset);
  if (message.starts_with("illegal map value") && is_key_indented_too_far(text, offset))
    return diagnostics.error(
        {source, static_cast<std::uint32_t>(span.offset), 1},
        "not valid YAML: this line is indented further than the keys above; if it is "
        "a key, indent it like them");
  const bool in_brackets = message.starts_with("end of sequence flow not found") ||
                           message.starts_with("end of map flow not found");
  if (const auto name = name_with_brackets(text, offset); in_brackets && name)
    return diagnostics.error({source, static_cast<std::uint32_t>(name->offset),
                              static_cast<std::uint32_t>(name->length)},
                             "not valid YAML: a name with brackets must be quoted here: \"" +
                                 std::string(text.substr(name->offset, name->length)) + '"');
  diagnostics.error(
      {source, static_cast<std::uint32_t>(span.offset), static_cast<std::uint32_t>(span.length)},
      "not valid YAML: " + plain_yaml_message(message));
}

/// Returns false after reporting an error.
bool parse(const Sources& sources, std::uint32_t index, TreeBuilder& builder,
           Diagnostics& diagnostics) {
  const std::string& text = sources[index].text;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return true;
  } catch (const Refusal& refusal) {
    diagnostics.error(refusal.range, refusal.message);
  } catch (const YAML::Exception& exception) {
    const std::size_t offset =
        exception.mark.is_null() ? 0 : static_cast<std::size_t>(exception.mark.pos);
    report_syntax(text, index, offset, exception.msg, diagnostics);
  }
  return false;
}

std::optional<std::vector<YamlDocument>> read_documents(const Sources& sources, std::uint32_t index,
                                                        Documents wanted, Document& document,
                                                        Diagnostics& diagnostics) {
  const std::string& text = sources[index].text;
  if (auto problems = check_text(text); !problems.empty()) {
    SourceRange at = problems.front().range;
    at.source = index;
    diagnostics.error(at, std::move(problems.front().message));
    return std::nullopt;
  }
  TreeBuilder builder(text, index, wanted, document, diagnostics);
  if (!parse(sources, index, builder, diagnostics)) return std::nullopt;
  if (!builder.documents().empty()) return builder.documents();
  diagnostics.error(SourceRange::whole(index), "the file is empty");
  return std::nullopt;
}

/// A single number or name, like most options of the command line. The parser's result would be the
/// same (YAML 1.2.2, 7.3.3), but building its tables alone takes as long as the rest of the job.
bool is_plain_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_letter_or_digit) &&
         text != "null" && text != "Null" && text != "NULL";
}

}  // namespace

std::optional<NodeId> read_yaml(const Sources& sources, std::uint32_t index, Document& document,
                                Diagnostics& diagnostics) {
  if (const std::string& text = sources[index].text; is_plain_word(text)) {
    const SourceRange range{index, 0, static_cast<std::uint32_t>(text.size())};
    return document.add({NodeKind::scalar, true, text, false, range, {}});
  }
  const auto documents = read_documents(sources, index, Documents::one, document, diagnostics);
  return documents ? std::optional(documents->front().root) : std::nullopt;
}

std::optional<std::vector<YamlDocument>> read_yaml_documents(const Sources& sources,
                                                             std::uint32_t index,
                                                             Document& document,
                                                             Diagnostics& diagnostics) {
  return read_documents(sources, index, Documents::several, document, diagnostics);
}

}  // namespace dlaunch::jobfile
