// Variables of schedulers: pbs_job_attributes(7), LSF's environment variable reference, sge_pe(5),
// Azure Batch's environment variables of compute nodes.
#include "jobfile/resolve_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobfile/scheduler_hosts.h"

namespace dlaunch {
namespace {

using testing::HasSubstr;

JobSpec job_on(std::vector<HostSpec> hosts) {
  JobSpec job;
  job.hosts.hosts = std::move(hosts);
  return job;
}

JobSpec job_with_file() {
  JobSpec job;
  job.hosts.hostfile = "hosts.txt";
  return job;
}

HostInput files(std::map<std::string, std::string> content) {
  HostInput input;
  input.read_file = [content](const std::string& path) -> Result<std::string> {
    const auto found = content.find(path);
    if (found == content.end())
      return fail(exit_code::kJobFile, "cannot read the hostfile " + path + ": No such file");
    return found->second;
  };
  return input;
}

std::string shown(const Result<ResolvedHosts>& resolved) {
  if (!resolved) return resolved.error().message;
  std::string out;
  for (const HostSpec& host : resolved->hosts) {
    out += (out.empty() ? "" : " ") + (host.user.empty() ? "" : host.user + "@") + host.name + ":" +
           std::to_string(host.slots);
  }
  return out;
}

TEST(ResolveHosts, NoneIsThisMachine) {
  const auto resolved = resolve_hosts(JobSpec(), files({}));
  ASSERT_TRUE(resolved);
  EXPECT_TRUE(resolved->hosts.empty());
  EXPECT_TRUE(resolved->notes.empty());
}

TEST(ResolveHosts, SparesNeedHosts) {
  JobSpec job;
  job.spares = 2;
  const auto resolved = resolve_hosts(job, files({}));
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->notes, std::vector<std::string>{
                                 "\"spares: 2\" has no effect without hosts: the job runs on this "
                                 "machine alone"});
}

TEST(ResolveHosts, ExpandsInlineHostsInOrderWithTheirMembers) {
  const auto resolved = resolve_hosts(job_on({{"gpu[02-03]:8", 0, "", "", 2222},
                                              {"me@gpu01", 4, "10.0.0.5", "", 0},
                                              {"x,y", 0, "", "", 0}}),
                                      files({}));
  ASSERT_TRUE(resolved) << resolved.error().message;
  EXPECT_EQ(resolved->hosts, (std::vector<HostSpec>{{"gpu02", 8, "", "", 2222},
                                                    {"gpu03", 8, "", "", 2222},
                                                    {"gpu01", 4, "10.0.0.5", "me", 0},
                                                    {"x", 0, "", "", 0},
                                                    {"y", 0, "", "", 0}}));
}

TEST(ResolveHosts, RefusesWhatContradictsItself) {
  EXPECT_EQ(shown(resolve_hosts(job_on({{"a", 0, "", "", 0}, {"a", 0, "", "", 0}}), files({}))),
            "hosts: \"a\" is named twice");
  EXPECT_THAT(shown(resolve_hosts(job_on({{"a:2", 4, "", "", 0}}), files({}))),
              HasSubstr("the slots are given twice"));
  EXPECT_THAT(shown(resolve_hosts(job_on({{"n[1-2]", 0, "10.0.0.1", "", 0}}), files({}))),
              HasSubstr("one address cannot belong to 2 hosts"));
}

TEST(ResolveHosts, ReadsAHostfile) {
  EXPECT_EQ(shown(resolve_hosts(job_with_file(), files({{"hosts.txt", "a slots=2\nb slots=3\n"}}))),
            "a:2 b:3");
  EXPECT_EQ(shown(resolve_hosts(job_with_file(), files({}))),
            "cannot read the hostfile hosts.txt: No such file");
  EXPECT_THAT(shown(resolve_hosts(job_with_file(), files({{"hosts.txt", "a slots=x\n"}}))),
              HasSubstr("hosts.txt:1:9: error: slots must be"));
}

TEST(ResolveHosts, SaysWhereAMissingHostfileWasNamed) {
  JobSpec job = job_with_file();
  job.typed["hostfile"] = "job.yaml:3:11";
  EXPECT_EQ(shown(resolve_hosts(job, files({}))),
            "job.yaml:3:11: error: cannot read the hostfile hosts.txt: No such file");
}

TEST(ResolveHosts, NamesTheOptionThatWasTyped) {
  JobSpec job = job_with_file();
  job.processes = 5;
  job.typed["processes"] = "-n 5";
  EXPECT_EQ(shown(resolve_hosts(job, files({{"hosts.txt", "a slots=2\nb slots=2\n"}}))),
            "-n 5 but the hosts have only 4 slots (hostfile hosts.txt)");
  job.nodes = NodeRange{3, 3};
  job.typed["nodes"] = "--nnodes 3";
  EXPECT_EQ(
      shown(resolve_hosts(job, files({{"hosts.txt", "a\nb\n"}}))),
      "--nnodes 3 but only 2 hosts are given (hostfile hosts.txt); name 3 with --hosts, or run on "
      "2 with --nnodes 2");
}

TEST(ResolveHosts, TakesTheFirstNodes) {
  JobSpec job = job_with_file();
  const HostInput input = files({{"hosts.txt", "a\nb\nc\n"}});
  job.nodes = NodeRange{2, 2};
  EXPECT_EQ(shown(resolve_hosts(job, input)), "a:0 b:0");
  job.spares = 1;
  EXPECT_EQ(shown(resolve_hosts(job, input)), "a:0 b:0 c:0");
  job.spares = 3;
  EXPECT_EQ(
      shown(resolve_hosts(job, input)),
      "\"nodes: 2\" and \"spares: 3\" but only 3 hosts are given (hostfile hosts.txt); name 5 "
      "with --hosts, or try --set spares=1");
  job.nodes.reset();
  EXPECT_EQ(
      shown(resolve_hosts(job, input)),
      "\"spares: 3\" but only 3 hosts are given (hostfile hosts.txt); name 4 with --hosts, or "
      "try --set spares=2");
  job.spares = 0;
  job.nodes = NodeRange{4, 4};
  EXPECT_EQ(
      shown(resolve_hosts(job, input)),
      "\"nodes: 4\" but only 3 hosts are given (hostfile hosts.txt); name 4 with --hosts, or run "
      "on 3 with --nnodes 3");
}

TEST(ResolveHosts, TakesTheHostsThatProcessesFill) {
  JobSpec job = job_with_file();
  const HostInput input = files({{"hosts.txt", "a slots=2\nb slots=2\nc slots=2\n"}});
  job.processes = 3;
  EXPECT_EQ(shown(resolve_hosts(job, input)), "a:2 b:2");
  job.processes = 7;
  EXPECT_EQ(shown(resolve_hosts(job, input)),
            "\"processes: 7\" but the hosts have only 6 slots (hostfile hosts.txt)");
  job.processes = 6;
  job.nodes = NodeRange{2, 2};
  EXPECT_EQ(shown(resolve_hosts(job, input)),
            "\"processes: 6\" but the hosts have only 4 slots (hostfile hosts.txt)");
}

struct Choice {
  const char* include;
  const char* exclude;
  const char* result;
};

class Filter : public testing::TestWithParam<Choice> {};

TEST_P(Filter, ChoosesAmongTheHosts) {
  HostInput input = files({{"hosts.txt", "w0 slots=4\nw1 slots=4\nw2 slots=2\n"}});
  input.include = GetParam().include;
  input.exclude = GetParam().exclude;
  EXPECT_EQ(shown(resolve_hosts(job_with_file(), input)), GetParam().result);
}

// DeepSpeed's documentation (docs/_tutorials/getting-started.md): NODE_SPECs are joined by '@', and
// a node without slots means all of them. deepspeed 0.19.6 handles a node without slots wrongly.
const Choice kChoices[] = {
    {"w0", "", "w0:4"},
    {"w2@w0", "", "w0:4 w2:2"},  // the order of the hostfile is kept
    {"w[0-1]", "", "w0:4 w1:4"},
    {"", "w1", "w0:4 w2:2"},
    {"", "w0@w1@w2", "--exclude leaves no host of hostfile hosts.txt"},
    {"w9", "", "--include: no host \"w9\" in hostfile hosts.txt"},
    {"", "w9", "--exclude: no host \"w9\" in hostfile hosts.txt"},
    {"w0", "w1", "--include and --exclude cannot be given together"},
    {"w0@", "", "--include w0@: the name of a host is missing"},
};
INSTANTIATE_TEST_SUITE_P(All, Filter, testing::ValuesIn(kChoices));

struct Variable {
  const char* name;
  const char* value;
  const char* result;
};

class Scheduler : public testing::TestWithParam<Variable> {};

TEST_P(Scheduler, TellsItsHosts) {
  JobSpec job;
  job.hosts.from_scheduler = true;
  HostInput input = files({{"/var/spool/pbs", "a\na\nb\nb\n"},
                           {"/var/spool/pbs1", "a\nb\n"},
                           {"/lsf", "a\na\nb\n"},
                           {"/sge", "a 4 all.q@a UNDEFINED\nb 2 all.q@b UNDEFINED\n"},
                           {"/bad", "a\n$b\n"}});
  input.environment = {{GetParam().name, GetParam().value}};
  EXPECT_EQ(shown(resolve_hosts(job, input)).substr(0, std::string(GetParam().result).size()),
            GetParam().result);
}

const Variable kVariables[] = {
    {"PBS_NODEFILE", "/var/spool/pbs", "a:2 b:2"},
    {"PBS_NODEFILE", "/var/spool/pbs1", "a:0 b:0"},
    {"PBS_NODEFILE", "/none", "PBS_NODEFILE: cannot read the hostfile /none: No such file"},
    {"PBS_NODEFILE", "/bad", "PBS_NODEFILE: /bad:2:1: error: \"$\" cannot be part of a host name"},
    {"LSB_MCPU_HOSTS", "hostA 4 hostB 2", "hostA:4 hostB:2"},
    {"LSB_MCPU_HOSTS", "hostA 1 hostB 1", "hostA:0 hostB:0"},
    {"LSB_MCPU_HOSTS", "hostA 4 hostB",
     "LSB_MCPU_HOSTS: hosts and numbers must come in pairs, as in \"hostA 4 hostB 2\""},
    {"LSB_MCPU_HOSTS", "hostA x",
     "LSB_MCPU_HOSTS: \"hostA\" must be a host and \"x\" its slots, as in \"hostA 4\""},
    {"LSB_DJOB_HOSTFILE", "/lsf", "a:2 b:1"},
    {"LSB_HOSTS", "hostA hostA hostB", "hostA:2 hostB:1"},
    {"PE_HOSTFILE", "/sge", "a:4 b:2"},
    {"SLURM_JOB_NODELIST", "node[01-03],x", "node01:0 node02:0 node03:0 x:0"},
    {"SLURM_JOB_NODELIST", "node[01-", "SLURM_JOB_NODELIST, character 5: this '[' is not closed"},
    {"AZ_BATCH_HOST_LIST", "10.0.0.4,10.0.0.5", "10.0.0.4:0 10.0.0.5:0"},
    {"AZ_BATCH_NODE_LIST", "10.0.0.4;10.0.0.5", "10.0.0.4:0 10.0.0.5:0"},
    {"CCP_NODES", "2 10.0.0.4 1 10.0.0.5 1", "10.0.0.4:0 10.0.0.5:0"},
    {"CCP_NODES", "2 10.0.0.4 8 10.0.0.5 8", "10.0.0.4:8 10.0.0.5:8"},
    {"CCP_NODES", "3 10.0.0.4 1 10.0.0.5 1",
     "CCP_NODES: expected a number of hosts, then that many pairs"},
    {"AZ_BATCH_HOST_LIST", "10.0.0.4,-oProxyCommand=x", "AZ_BATCH_HOST_LIST, character 10: "},
    {"AZ_BATCH_HOST_LIST", " , ", "AZ_BATCH_HOST_LIST: it names no host"},
    {"SOMETHING_ELSE", "a",
     "\"hosts: auto\" but no scheduler provides a list of nodes; none of these variables is set: "
     "PBS_NODEFILE, LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE, LSB_HOSTS, PE_HOSTFILE, "
     "SLURM_JOB_NODELIST, AZ_BATCH_HOST_LIST, AZ_BATCH_NODE_LIST, CCP_NODES\n"},
    {"PBS_NODEFILE", "", "\"hosts: auto\" but no scheduler"},
};
INSTANTIATE_TEST_SUITE_P(All, Scheduler, testing::ValuesIn(kVariables));

TEST(ResolveHosts, PlaceholdersNeedAValueForEachHost) {
  JobSpec job = job_on({{"a", 0, "", "me", 0}, {"b", 0, "", "", 0}});
  job.connect.command = {"ssh", "-l", "{user}", "{host}"};
  EXPECT_EQ(shown(resolve_hosts(job, files({}))),
            "connect.command uses {user}, but b has no user; set connect.user");
  job.connect.user = "you";
  EXPECT_EQ(shown(resolve_hosts(job, files({}))), "me@a:0 b:0");
  job.connect.command = {"ssh", "-p{port}", "{host}"};
  EXPECT_EQ(shown(resolve_hosts(job, files({}))),
            "connect.command uses {port}, but a has no port; set connect.port");
}

}  // namespace
}  // namespace dlaunch
