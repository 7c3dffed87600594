#include "measure/check/backend_choice.h"

#include <gmock/gmock.h>

#include "measure/check/check_output.h"

namespace dlaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kNoLibrary =
    "libnccl.so.2: cannot open shared object file: No such file or directory; pip installs NCCL in "
    "nvidia/nccl/lib: add that folder to LD_LIBRARY_PATH";

/// gpu01, gpu02, ...: with GPUs and the answers of both back-ends.
std::vector<CheckedNode> nodes_of(std::size_t count, std::size_t gpus, const std::string& nccl,
                                  const std::string& mpi = "ready, Open MPI v4.1.4") {
  std::vector<CheckedNode> nodes(count);
  for (std::size_t i = 0; i < count; ++i) {
    nodes[i].name = "gpu0" + std::to_string(i + 1);
    nodes[i].facts.gpus.resize(gpus);
    nodes[i].condition.collectives = {"mpi: " + mpi, "nccl: " + nccl};
  }
  return nodes;
}

std::vector<std::string> texts_of(const BackendChoice& choice) {
  std::vector<std::string> texts;
  for (const CheckFinding& note : choice.notes) {
    EXPECT_EQ(note.severity, CheckFinding::Severity::note);
    EXPECT_EQ(note.code, "nccl");
    EXPECT_THAT(note.nodes, IsEmpty()) << "a finding about two nodes means their link";
    texts.push_back(note.text);
  }
  return texts;
}

TEST(BackendChoice, IsNcclWhereAllCanUseIt) {
  const auto choice = choose_backend(nodes_of(2, 8, "ready, NCCL 2.28.9", "no libmpi"), {0, 1});
  EXPECT_EQ(choice.backend, MeasureBackend::nccl);
  EXPECT_THAT(choice.notes, IsEmpty());
}

TEST(BackendChoice, GivesAReasonOnceForAllNodes) {
  const auto choice = choose_backend(nodes_of(8, 8, kNoLibrary), {0, 1, 2, 3, 4, 5, 7});
  EXPECT_EQ(choice.backend, MeasureBackend::mpi);
  EXPECT_THAT(texts_of(choice),
              ElementsAre("NCCL was not measured: gpu[01-06,08]: " + std::string(kNoLibrary)));
  EXPECT_THAT(choice.notes[0].remedy, HasSubstr("in this shell"));
}

TEST(BackendChoice, NamesTheNodesOfEachReason) {
  auto nodes = nodes_of(4, 8, "ready, NCCL 2.28.9");
  nodes[1].condition.collectives[1] = "nccl: libnccl.so.2 has no ncclCommSplit";
  nodes[2].condition.collectives.pop_back();
  nodes[3].facts.gpus.clear();
  const auto choice = choose_backend(nodes, {0, 1, 2, 3});
  EXPECT_EQ(choice.backend, MeasureBackend::mpi);
  EXPECT_THAT(
      texts_of(choice),
      ElementsAre("NCCL was not measured: gpu02: libnccl.so.2 has no ncclCommSplit",
                  "NCCL was not measured: gpu03: dlaunch collectives --probe did not report nccl",
                  "NCCL was not measured: gpu04: no GPU was found"));
  EXPECT_EQ(choice.notes[0].remedy, "");
}

TEST(BackendChoice, HasNoNoteOnNcclWithoutGpus) {
  const auto choice = choose_backend(nodes_of(2, 0, kNoLibrary), {0, 1});
  EXPECT_EQ(choice.backend, MeasureBackend::mpi);
  EXPECT_THAT(choice.notes, IsEmpty());
}

TEST(BackendChoice, IgnoresNodesThatDoNotMeasure) {
  auto nodes = nodes_of(3, 0, kNoLibrary);
  nodes[1].facts.gpus.resize(8);
  nodes[1].condition.collectives[0] = "mpi: no libmpi";
  const auto choice = choose_backend(nodes, {0, 2});
  EXPECT_EQ(choice.backend, MeasureBackend::mpi);
  EXPECT_THAT(choice.notes, IsEmpty());
}

TEST(BackendChoice, ReportsBothReasonsWithoutABackend) {
  const auto choice =
      choose_backend(nodes_of(2, 8, kNoLibrary, "libmpi.so.40 is not on this node"), {0, 1});
  ASSERT_FALSE(choice.backend);
  EXPECT_EQ(choice.backend.error(),
            (Error{exit_code::kPreflight, "gpu01: libmpi.so.40 is not on this node"}));
  EXPECT_THAT(choice.notes, SizeIs(1));
}

TEST(BackendChoice, NotesAreInBothOutputsAndNotBad) {
  CheckReport report;
  report.nodes = nodes_of(2, 8, kNoLibrary);
  report.findings = choose_backend(report.nodes, {0, 1}).notes;
  EXPECT_THAT(check_text(report), HasSubstr("note  all: NCCL was not measured: gpu[01-02]: "
                                            "libnccl.so.2: cannot open"));
  EXPECT_THAT(check_text(report), Not(HasSubstr("BAD")));
  EXPECT_THAT(check_json(report), HasSubstr("\"code\": \"nccl\""));
  EXPECT_FALSE(is_bad(report));
}

}  // namespace
}  // namespace dlaunch
