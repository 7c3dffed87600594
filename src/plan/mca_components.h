// Lists of components in Open MPI parameters: "ob1,cm" names those to use, "^ucx,ofi" those to
// exclude (Open MPI FAQ, "How do I know what MCA parameters are available"). Pure.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

inline constexpr std::string_view kMcaTcpInclude = "OMPI_MCA_btl_tcp_if_include";
inline constexpr std::string_view kMcaTcpExclude = "OMPI_MCA_btl_tcp_if_exclude";

[[nodiscard]] inline bool is_exclusion(std::string_view list) {
  return list.starts_with('^');
}

/// `wanted`, a list of either form, without the components that the list `excluded` excludes;
/// `excluded` itself if nothing is left; `wanted` if `excluded` is not an exclusion.
[[nodiscard]] std::string components_without(std::string_view wanted, std::string_view excluded);

}  // namespace dlaunch
