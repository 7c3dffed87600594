// Lists of components, as values of Open MPI's parameters: "ob1,cm" names those to be used,
// "^ucx,ofi" those that are not (Open MPI FAQ, "How do I know what MCA parameters are available").
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

inline constexpr std::string_view kMcaTcpInclude = "OMPI_MCA_btl_tcp_if_include";
inline constexpr std::string_view kMcaTcpExclude = "OMPI_MCA_btl_tcp_if_exclude";

[[nodiscard]] inline bool is_exclusion(std::string_view list) {
  return list.starts_with('^');
}

/// `wanted`, one list or the other, without what the list `excluded` excludes; `excluded` itself
/// where nothing is left, and where it is no exclusion.
[[nodiscard]] std::string components_without(std::string_view wanted, std::string_view excluded);

}  // namespace dlaunch
