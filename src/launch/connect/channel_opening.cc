#include "launch/connect/channel_opening.h"

#include <algorithm>
#include <utility>

#include "launch/connect/remote_script.h"

namespace dlaunch {

namespace {

constexpr std::size_t kMostLine = 1024;
constexpr std::size_t kMostSaid = 300;

std::string cleaned(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      result += c;
    } else if (c == '\t') {
      result += ' ';
    }
  }
  const std::size_t begin = result.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return result.substr(begin, result.find_last_not_of(' ') - begin + 1);
}

}  // namespace

ChannelOpening::ChannelOpening(std::uint64_t session)
    : marker_(kMarker + session_text(session) + ' ') {}

ChannelOpening::Found ChannelOpening::feed(std::string_view bytes) {
  if (found_ != Found::nothing) {
    rest_ += bytes;
    return found_;
  }
  text_ += bytes;  // at most kMostBanner and one read: searching it again is cheap
  for (std::size_t at = 0; (at = text_.find(marker_)) != std::string::npos;) {
    const std::size_t begin = at + marker_.size();
    const std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos && text_.size() - begin < kMostLine) return found_;
    const std::size_t stop = std::min(end, begin + kMostLine);
    const std::string words = cleaned(std::string_view(text_).substr(begin, stop - begin));
    std::string behind = end == std::string::npos ? "" : text_.substr(end + 1);
    if (words == "more") ++parts_taken_;
    if (words == "more" || (words == "started" && !std::exchange(started_, true))) {
      text_ = std::move(behind);
      continue;
    }
    read_words(words);
    rest_ = std::move(behind);
    text_.resize(at);
    return found_;
  }
  if (text_.size() > kMostBanner) found_ = Found::too_much;
  return found_;
}

void ChannelOpening::read_words(const std::string& words) {
  const std::size_t blank = std::min(words.find(' '), words.size());
  const std::string kind = words.substr(0, blank);
  argument_ = words.substr(std::min(blank + 1, words.size()));
  if (kind == "ready") {
    found_ = Found::ready;
  } else if (kind == "missing") {
    found_ = Found::missing;
  } else if (kind == "unfetched") {
    found_ = Found::unfetched;
  } else if (kind == "gone") {
    found_ = Found::gone;
  } else if (kind == "hidden") {
    found_ = Found::hidden;
  } else {
    found_ = Found::failed;
    if (kind != "failed") argument_ = "unexpected answer \"" + words + '"';
  }
}

std::string ChannelOpening::last_banner_line() const {
  return last_line(text_);
}

std::string last_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t newline = text.find_last_of("\n\r");
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    std::string line = cleaned(text.substr(begin));
    if (!line.empty()) {
      if (line.size() > kMostSaid) line = line.substr(0, kMostSaid) + "...";
      return line;
    }
    text = text.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return "";
}

}  // namespace dlaunch
