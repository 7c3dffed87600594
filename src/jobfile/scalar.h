// Interprets scalars: YAML 1.2 core types, durations, sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "jobfile/document.h"
#include "model/job_spec.h"

namespace dlaunch::jobfile {

enum class PlainType { null, boolean, integer, floating, text };

/// The type of a plain scalar in the core schema (YAML 1.2.2, section 10.3.2): no, off and yes are
/// text.
[[nodiscard]] PlainType type_of_plain(std::string_view text);

[[nodiscard]] bool is_plain_type(const Node& node, PlainType type);

/// True for a text scalar: quoted, or of no other type by the core schema.
[[nodiscard]] bool is_text(const Node& node);

/// Decimal, 0x or 0o; nullopt for anything else, and for numbers beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// An integer or a float; nullopt also for .inf and .nan.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// The longest duration: 100 years, so that sums of a few durations fit 64-bit nanoseconds.
inline constexpr Duration kMaxDuration = std::chrono::hours(24 * 365 * 100);

/// "500ms", "30s", "5m", "1h30m", "2d": whole numbers with units from large to small, each at most
/// once; at most kMaxDuration.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);

/// "512m", "16g", "16GiB", "100b": bytes in powers of 1024 (as docker's --shm-size).
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);

}  // namespace dlaunch::jobfile
