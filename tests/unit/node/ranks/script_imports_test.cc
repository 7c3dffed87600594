#include "node/ranks/script_imports.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "node/ranks/python_installation.h"

namespace dlaunch {
namespace {

using Names = std::vector<std::string>;

TEST(ScriptImports, WhatAProgramImportsInAnyCase) {
  EXPECT_EQ(imports_in("import os, numpy.linalg as la  # import x\n"
                       "from torch.nn import Linear\r\n"
                       "from . import sibling\n"
                       "from .other import y\n"
                       "import os\n"
                       "try:\n    import apex\nexcept ImportError:\n    pass\n"
                       "important = 1\nimport\tz\nimport a; import b"),
            (Names{"os", "numpy", "torch", "a"}));
  EXPECT_EQ(imports_in(""), Names{});
}

class CompareImports : public testing::Test {
 protected:
  CompareImports() {
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    for (const char* name : {"std/os.py", "site/numpy/__init__.py", "site/fast.cpython-311.so",
                             "job/helpers.py", "more/editable.py"})
      write(name, "");
    write("job/train.py", "import os, sys\nimport numpy, fast, torch, helpers, editable\n");
    place_.standard = {path("std")};
    place_.packages = {path("site")};
  }
  ~CompareImports() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return std::string(folder_) + '/' + name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  FoundProgram compare() const {
    FoundProgram found;
    compare_imports(place_, {{}, "train.py", ""}, path("job"), {}, found);
    return found;
  }

  char folder_[40] = "/tmp/script-imports-XXXXXX";
  PythonInstallation place_;
};

TEST_F(CompareImports, InstalledAndNotFound) {
  EXPECT_EQ(compare().imports, (Names{"numpy", "fast"}));
  EXPECT_EQ(compare().absent,
            (Names{"sys", "torch", "editable"}));  // sys: no node has a file of it
}

TEST_F(CompareImports, PathFilesNameMoreFolders) {
  write("site/job.pth", "# mine\n../more\n");
  write("site/distutils-precedence.pth", "import os; os.x\n");
  EXPECT_EQ(compare().imports, (Names{"numpy", "fast", "editable"}));
  EXPECT_EQ(compare().absent, (Names{"sys", "torch"}));
}

TEST_F(CompareImports, NothingIsAbsentWhereAHookMayFindIt) {
  write("site/__editable__.job.pth", "import __editable___job_finder\n");
  EXPECT_EQ(compare().imports, (Names{"numpy", "fast"}));
  EXPECT_EQ(compare().absent, Names{});
}

}  // namespace
}  // namespace dlaunch
