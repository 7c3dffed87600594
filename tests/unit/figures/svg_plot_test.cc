#include "measure/figures/svg_plot.h"

#include <limits>

#include <gmock/gmock.h>

namespace dlaunch::measure {
namespace {

using testing::HasSubstr;
using testing::Not;

Plot plot_with(std::vector<Point> points, bool log_y = false) {
  return {"title", {}, "x", {{"y", log_y, {{"line", std::move(points)}}}}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Svg, IsACompleteFile) {
  const std::string svg = to_svg(plot_with({{8, 1}, {16, 2}, {32, 4}}));
  EXPECT_THAT(svg, testing::StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_EQ(count(svg, "<circle"), 3U);
  EXPECT_EQ(count(svg, "<polyline"), 1U);
  EXPECT_THAT(svg, HasSubstr(">8</text>"));
  EXPECT_THAT(svg, HasSubstr(">32</text>"));
}

TEST(Svg, HasALogarithmicAxis) {
  // The axis goes from pixel 80 to 740: 16 is half way between 8 and 32.
  const std::string svg = to_svg(plot_with({{8, 0}, {16, 0}, {32, 0}}));
  EXPECT_THAT(svg, HasSubstr("cx=\"80.0\""));
  EXPECT_THAT(svg, HasSubstr("cx=\"410.0\""));
  EXPECT_THAT(svg, HasSubstr("cx=\"740.0\""));
}

TEST(Svg, EscapesText) {
  Plot plot = plot_with({{8, 1}});
  plot.title = "a<b>&\"c\"\x01\xff";
  const std::string svg = to_svg(plot);
  EXPECT_THAT(svg, HasSubstr(">a&lt;b&gt;&amp;&quot;c&quot;?"
                             "?<"));
}

TEST(Svg, LeavesOutPointsOutsideTheAxes) {
  const double infinite = std::numeric_limits<double>::infinity();
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string svg =
      to_svg(plot_with({{8, 0}, {0, 5}, {16, infinite}, {32, none}, {64, 2}, {8, -1}}, true));
  EXPECT_EQ(count(svg, "<circle"), 1U);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Svg, HasAxesForNoneOrOnePoint) {
  for (const Plot& plot : {plot_with({}), plot_with({{8, 0}}), plot_with({{8, 3}}, true),
                           Plot{"no panel", {}, "x", {}}}) {
    const std::string svg = to_svg(plot);
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  }
}

TEST(Svg, LabelsDoNotOverlap) {
  std::vector<Point> points;
  for (int power = 0; power <= 40; ++power)
    points.push_back({static_cast<double>(std::uint64_t{1} << static_cast<unsigned>(power)), 1});
  EXPECT_LE(count(to_svg(plot_with(points)), "text-anchor=\"middle\""), 15U);
}

TEST(PlotOf, HasALineForEachPlace) {
  BenchHeader header;
  header.hosts = {"n1", "n2"};
  header.backend = "mpi: Open MPI v4.1.4";
  header.type = "float32";
  header.op = "sum";
  BenchRow row;
  row.bytes = 8;
  row.out_of_place = BenchResult{2, 3, 4, 0, {}};
  const Plot plot = plot_of(header, {row});
  EXPECT_EQ(plot.title, "all_reduce, 2 ranks on 2 hosts");
  ASSERT_EQ(plot.panels.size(), 2U);
  ASSERT_EQ(plot.panels[0].lines.size(), 1U);
  EXPECT_EQ(plot.panels[0].lines[0].points, std::vector<Point>({{8, 4}}));
  EXPECT_EQ(plot.panels[1].lines[0].points, std::vector<Point>({{8, 2}}));
  EXPECT_TRUE(plot_of(header, {}).panels[0].lines.empty());
}

}  // namespace
}  // namespace dlaunch::measure
