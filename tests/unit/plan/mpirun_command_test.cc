#include "plan/mpirun.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch {
namespace {

using testing::HasSubstr;

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

MpirunInput input_of(MpirunKind kind, std::vector<HostSlots> hosts) {
  MpirunInput input;
  input.kind = kind;
  input.hostfile = "hosts";
  input.hosts = std::move(hosts);
  input.cores = 8;
  input.command = {"./program", "--fast"};
  return input;
}

std::string line_of(const MpirunInput& input) {
  const auto command = mpirun_command(input);
  return command ? joined(command->argv) : command.error().message;
}

const std::vector<HostSlots> kEven{{"a", 4}, {"b", 4}};
const std::vector<HostSlots> kUneven{{"a", 3}, {"b", 1}};

// As the programs print it: Debian's Open MPI 4.1.4 and MPICH 4.0.2; Open MPI 5.0's and Intel MPI's
// documents.
TEST(MpirunKind, IsToldFromItsVersion) {
  EXPECT_EQ(mpirun_kind("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://..."),
            MpirunKind::open_mpi_4);
  EXPECT_EQ(mpirun_kind("mpirun (Open MPI) 4.1.8\n"), MpirunKind::open_mpi_4);
  EXPECT_EQ(mpirun_kind("mpirun (Open MPI) 5.0.3\n"), MpirunKind::open_mpi_5);
  EXPECT_EQ(mpirun_kind("HYDRA build details:\n    Version:   4.0.2\n"), MpirunKind::hydra);
  EXPECT_EQ(mpirun_kind("Intel(R) MPI Library for Linux* OS, Version 2021.9"), MpirunKind::hydra);
  EXPECT_EQ(mpirun_kind("mpirun (Open MPI) 3.1.0"), std::nullopt);
  EXPECT_EQ(mpirun_kind("unknown option --version"), std::nullopt);
}

TEST(MpirunCommand, OpenMpiOnEvenNodes) {
  EXPECT_EQ(
      line_of(input_of(MpirunKind::open_mpi_4, kEven)),
      "mpirun --hostfile hosts -np 8 --map-by ppr:4:node:PE=2 --bind-to core ./program --fast");
}

TEST(MpirunCommand, HydraOnEvenNodes) {
  EXPECT_EQ(line_of(input_of(MpirunKind::hydra, kEven)),
            "mpirun -f hosts -n 8 -bind-to core:2 -launcher ssh ./program --fast");
}

TEST(MpirunCommand, HydraIsToldWhereItsProxiesFindIt) {
  MpirunInput input = input_of(MpirunKind::hydra, kEven);
  input.address = "10.0.0.4";
  EXPECT_THAT(line_of(input), HasSubstr(" -localhost 10.0.0.4 "));
  input.kind = MpirunKind::open_mpi_4;
  EXPECT_THAT(line_of(input), testing::Not(HasSubstr("10.0.0.4")));
}

TEST(MpirunCommand, UnevenNodesAreFilledBySlotsAndNotBound) {
  EXPECT_EQ(line_of(input_of(MpirunKind::open_mpi_4, kUneven)),
            "mpirun --hostfile hosts -np 4 --map-by slot --bind-to none ./program --fast");
  EXPECT_EQ(line_of(input_of(MpirunKind::hydra, kUneven)),
            "mpirun -f hosts -n 4 -bind-to none -launcher ssh ./program --fast");
}

TEST(MpirunCommand, NobodyIsBoundWithoutEnoughCoresOrAgainstTheJob) {
  MpirunInput input = input_of(MpirunKind::open_mpi_4, kEven);
  input.cores = 3;
  EXPECT_THAT(line_of(input), HasSubstr("--map-by ppr:4:node --bind-to none"));
  input.cores = 8;
  input.cpus = Binding::Cpus::none;
  EXPECT_THAT(line_of(input), HasSubstr("--bind-to none"));
}

TEST(MpirunCommand, TheUsersSsh) {
  MpirunInput input = input_of(MpirunKind::open_mpi_4, kEven);
  input.connect.ssh = "/opt/ssh -F /tmp/config";
  input.connect.user = "me";
  input.connect.port = 2222;
  input.connect.identity_file = "/k";
  EXPECT_THAT(line_of(input), HasSubstr("--mca plm_rsh_agent /opt/ssh --mca plm_rsh_args "
                                        "-F /tmp/config -l me -p 2222 -i /k"));
  input.kind = MpirunKind::open_mpi_5;
  EXPECT_THAT(line_of(input),
              HasSubstr("--prtemca plm_ssh_agent /opt/ssh --prtemca plm_ssh_args "));
  input.kind = MpirunKind::hydra;
  const auto hydra = mpirun_command(input);
  ASSERT_TRUE(hydra);
  EXPECT_THAT(joined(hydra->argv), HasSubstr("-launcher ssh -launcher-exec /opt/ssh ./program"));
  EXPECT_EQ(hydra->environment,
            (Environment{{"HYDRA_LAUNCHER_EXTRA_ARGS", "-F /tmp/config -l me -p 2222 -i /k"}}));
}

TEST(MpirunCommand, OneNodeNeedsNoSsh) {
  MpirunInput input = input_of(MpirunKind::open_mpi_4, {{"a", 2}});
  input.connect.user = "me";
  input.network = "10.0.0.0/24";
  EXPECT_EQ(
      line_of(input),
      "mpirun --hostfile hosts -np 2 --map-by ppr:2:node:PE=4 --bind-to core ./program --fast");
}

TEST(MpirunCommand, UsersAndPortsOfAllHostsOrNone) {
  MpirunInput input = input_of(MpirunKind::open_mpi_4, kEven);
  input.host_specs = {{"a", 4, "", "eve", 0}, {"b", 4, "", "eve", 0}};
  EXPECT_THAT(line_of(input), HasSubstr("-l eve"));
  input.host_specs[1].user = "bob";
  EXPECT_THAT(line_of(input), HasSubstr("users or ports of hosts differ"));
}

TEST(MpirunCommand, RootNetworkWorkdirAndVariables) {
  MpirunInput input = input_of(MpirunKind::open_mpi_4, kEven);
  input.is_root = true;
  input.network = "10.0.0.0/24";
  input.workdir = "/work dir";
  input.pass = {"HF_TOKEN", "NCCL_DEBUG"};
  const auto command = mpirun_command(input);
  ASSERT_TRUE(command);
  const std::string line = joined(command->argv);
  EXPECT_THAT(line, HasSubstr("--allow-run-as-root --wdir /work dir --mca btl_tcp_if_include "
                              "10.0.0.0/24 -x HF_TOKEN -x NCCL_DEBUG ./program"));
  input.environment["OMPI_MCA_btl_tcp_if_include"] = "eth1";
  EXPECT_THAT(line_of(input), testing::Not(HasSubstr("btl_tcp_if_include")));
}

TEST(MpirunCommand, WhatItHasNoWayForIsRefused) {
  MpirunInput input = input_of(MpirunKind::open_mpi_4, kEven);
  input.connect.command = {"kubectl", "exec"};
  EXPECT_THAT(line_of(input), HasSubstr("by ssh alone"));
  input.connect.command.clear();
  input.connect.identity_file = "/my keys/k";
  EXPECT_THAT(line_of(input), HasSubstr("contains a space"));
}

}  // namespace
}  // namespace dlaunch
