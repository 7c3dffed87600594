#include "agent/ranks/place_check.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace dlaunch {
namespace {

using Step = StartFailure::Step;

class PlaceCheck : public testing::Test {
 protected:
  PlaceCheck() { EXPECT_NE(::mkdtemp(folder_), nullptr); }
  ~PlaceCheck() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, bool executable = false) {
    const std::string path = std::string(folder_) + '/' + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    if (executable) std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  wire::CheckPlaces wanted() const {
    wire::CheckPlaces places;
    places.workdir = folder_;
    return places;
  }
  std::vector<StartFailure> missing(const wire::CheckPlaces& places) const {
    return missing_places(places, {{"PATH", std::string(folder_) + "/own"}});
  }

  char folder_[32] = "/tmp/place-check-XXXXXX";
};

TEST_F(PlaceCheck, AllIsThere) {
  file("own/train", true);
  file("carried/tool", true);
  file("script", true);
  file("train.py");
  wire::CheckPlaces places = wanted();
  places.carried = {{"PATH", std::string(folder_) + "/carried"}};
  places.programs = {
      {"train", {}}, {"tool", {}}, {"./script", {}}, {"/bin/sh", {}}, {"sh", "/bin"}};
  places.files = {"train.py", std::string(folder_) + "/train.py"};
  EXPECT_EQ(missing(places), std::vector<StartFailure>{});
}

TEST_F(PlaceCheck, EverythingThatIsMissingIsToldAtOnce) {
  const std::string plain = file("own/plain");
  const std::string own = std::string(folder_) + "/own";
  wire::CheckPlaces places = wanted();
  places.programs = {
      {"pythonx", {}}, {"plain", {}}, {"./gone", {}}, {"./own", {}}, {"sh", "/none"}};
  places.files = {"venv/bin/activate", "own"};
  const std::string folder = folder_;
  EXPECT_EQ(missing(places),
            (std::vector<StartFailure>{{Step::execute, ENOENT, "pythonx", own},
                                       {Step::execute, EACCES, plain, own},
                                       {Step::execute, ENOENT, "./gone", ""},
                                       {Step::execute, EISDIR, "./own", ""},
                                       {Step::execute, ENOENT, "sh", "/none"},
                                       {Step::file, ENOENT, folder + "/venv/bin/activate", ""},
                                       {Step::file, EISDIR, folder + "/own", ""}}));
}

TEST_F(PlaceCheck, WithoutAWorkdirWhatIsMeantFromItIsNotLookedFor) {
  wire::CheckPlaces places = wanted();
  places.workdir += "/gone";
  places.programs = {{"./train", {}}, {"/no/such", {}}};
  places.files = {"train.py", "/no/such.py"};
  EXPECT_EQ(missing(places), (std::vector<StartFailure>{{Step::workdir, ENOENT, places.workdir, ""},
                                                        {Step::execute, ENOENT, "/no/such", ""},
                                                        {Step::file, ENOENT, "/no/such.py", ""}}));
  places = wanted();
  places.workdir = file("plain");
  EXPECT_EQ(missing(places),
            (std::vector<StartFailure>{{Step::workdir, ENOTDIR, places.workdir, ""}}));
}

}  // namespace
}  // namespace dlaunch
