// The table itself: it is complete, consistent, and its rows write where they say.
#include "jobfile/field_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "jobfile/field_reader.h"
#include "jobfile/suggestion.h"
#include "jobfile/yaml_reader.h"
#include "read_text.h"

namespace dlaunch::jobfile {
namespace {

/// Reads with all features switched on.
JobSpec read_all_keys(const std::string& text) {
  const Sources sources{{"job.yaml", text, false}};
  Diagnostics diagnostics(sources);
  Document document;
  JobSpec job;
  const auto root = read_yaml(sources, 0, document, diagnostics);
  if (!root) {
    ADD_FAILURE() << diagnostics.to_error().message;
    return job;
  }
  FieldReader reader(document, diagnostics);
  reader.read(*root, job);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.to_error().message;
  return job;
}

/// "timeouts.stop", "30s" -> "timeouts: {stop: 30s}".
std::string as_yaml(std::string_view key, std::string_view value) {
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) return std::string(key) + ": " + std::string(value);
  return std::string(key.substr(0, dot)) + ": {" + std::string(key.substr(dot + 1)) + ": " +
         std::string(value) + "}";
}

TEST(Fields, HaveUniqueKeysHelpAndAWriter) {
  std::set<std::string_view> keys;
  for (const Field& field : fields()) {
    EXPECT_TRUE(keys.insert(field.key).second) << field.key;
    EXPECT_FALSE(field.help.empty()) << field.key;
    EXPECT_LE(field.help.size(), 100u) << field.key;
    EXPECT_NE(field.write, nullptr) << field.key;
    EXPECT_LE(field.min, field.max) << field.key;
    if (!field.record.empty()) {
      EXPECT_TRUE(is_section(field.record)) << field.key;
    }
  }
}

// The table and the member initialisers of JobSpec have the same defaults.
TEST(Fields, DefaultsAreThoseOfJobSpec) {
  int with_default = 0;
  for (const Field& field : fields()) {
    // A container does not exist by default.
    if (field.fallback.empty() || field.key.starts_with("container.")) continue;
    ++with_default;
    JobSpec job = read_all_keys(as_yaml(field.key, field.fallback));
    if (field.key.starts_with("sync.")) job.sync.is_on = false;  // any key turns it on
    EXPECT_EQ(job, JobSpec{}) << field.key;
  }
  EXPECT_GT(with_default, 25);
}

TEST(Fields, AContainerHasTheDefaultsOfItsType) {
  Container expected;
  expected.image = "i";
  const std::string fallback(find_field("container.runtime")->fallback);
  EXPECT_EQ(read_all_keys("container: {image: i, runtime: " + fallback + "}").container, expected);
}

TEST(Fields, AContainer) {
  const JobSpec job = read_all_keys(
      "container: {image: img:tag, runtime: singularity, mounts: ['/data:/data:ro'], shm_size: "
      "16g, "
      "options: [--privileged], workdir: /app}\n");
  EXPECT_EQ(job.container, (Container{"img:tag",
                                      Container::Runtime::apptainer,
                                      {"/data:/data:ro"},
                                      16ull << 30,
                                      {"--privileged"},
                                      "/app"}));
  EXPECT_THAT(message_of(read_text("command: x\ncontainer: {image: i, workdir: app}\n")),
              testing::HasSubstr(
                  "container.workdir: expected an absolute path in the image, or \"image\""));
}

TEST(Fields, EveryNameThatOthersUseIsNoKeyOfItsOwn) {
  for (const Field& field : fields()) {
    if (field.also.empty()) continue;
    EXPECT_EQ(field.also.find("  "), std::string_view::npos) << field.key;
    EXPECT_EQ(find_field(field.also), nullptr) << field.key;
  }
}

TEST(Fields, HostsAreTextsMappingsOrOneText) {
  const JobSpec job = read_all_keys(
      "hosts: [gpu01, 'gpu[02-04]:8', {name: gpu05, slots: 4, address: 10.0.0.5, user: me, port: "
      "2222}]\n"
      "connect: {via: ssh, user: me, port: 22, identity_file: ~/.ssh/k, parallel: 8}\n"
      "rendezvous: {interface: eth0, address: 10.0.0.1}\n");
  EXPECT_EQ(job.hosts.hosts, (std::vector<HostSpec>{{"gpu01", 0, "", "", 0},
                                                    {"gpu[02-04]:8", 0, "", "", 0},
                                                    {"gpu05", 4, "10.0.0.5", "me", 2222}}));
  EXPECT_EQ(job.connect.via, Connect::Via::ssh);
  EXPECT_EQ(job.connect.port, 22);
  EXPECT_EQ(job.connect.identity_file, "~/.ssh/k");
  EXPECT_EQ(job.connect.parallel, 8);
  EXPECT_EQ(job.rendezvous.interface, "eth0");
  EXPECT_EQ(job.rendezvous.address, "10.0.0.1");
  EXPECT_EQ(read_all_keys("hosts: gpu[01-02],login\n").hosts.hosts,
            (std::vector<HostSpec>{{"gpu[01-02],login", 0, "", "", 0}}));
  EXPECT_TRUE(read_all_keys("hosts: auto\n").hosts.from_scheduler);
  EXPECT_EQ(read_all_keys("hostfile: hosts.txt\n").hosts.hostfile, "hosts.txt");
}

TEST(Fields, FormsOfSections) {
  const JobSpec job = read_all_keys(
      "nodes: {min: 2, max: 4}\n"
      "hosts: auto\n"
      "roles: {worker: {count: 2, command: [w], nodes: 1, env: {A: 1}, container: {image: i}}, ps: "
      "1}\n"
      "logs: {console: [0, 7]}\n"
      "restart: {on: [hang], backoff: 1s..2m}\n"
      "preflight: {min_busbw: 2.5}\n"
      "timeouts: {hang: 5m}\n"
      "connect: {command: [ssh, '{host}']}\n");
  EXPECT_EQ(job.nodes, (NodeRange{2, 4}));
  EXPECT_TRUE(job.hosts.from_scheduler);
  ASSERT_EQ(job.roles.size(), 2u);
  EXPECT_EQ(job.roles[0].count, 2);
  EXPECT_EQ(job.roles[0].command->argv, std::vector<std::string>{"w"});
  EXPECT_EQ(job.roles[0].nodes, 1);
  EXPECT_EQ(job.roles[0].env.at("A"), "1");
  EXPECT_EQ(job.roles[0].container->image, "i");
  EXPECT_EQ(job.roles[1].name, "ps");
  EXPECT_EQ(job.logs.console, Logs::Console::ranks);
  EXPECT_EQ(job.logs.console_ranks, (std::vector<std::uint32_t>{0, 7}));
  EXPECT_EQ(job.restart.on, std::vector{RestartCause::hang});
  EXPECT_EQ(job.restart.backoff_min, std::chrono::seconds(1));
  EXPECT_EQ(job.preflight.min_busbw_gbs, 2.5);
  EXPECT_EQ(job.timeouts.hang, std::chrono::minutes(5));
  EXPECT_EQ(job.connect.command, (std::vector<std::string>{"ssh", "{host}"}));
}

TEST(Fields, NamesUnderASectionAreListedOnce) {
  EXPECT_THAT(names_under("binding."), testing::ElementsAre("cpus", "gpus", "threads"));
  EXPECT_THAT(names_under("hosts[]."),
              testing::ElementsAre("name", "slots", "address", "user", "port"));
  EXPECT_THAT(names_under("roles."), testing::ElementsAre("chief", "worker", "ps", "evaluator"));
}

struct Unknown {
  const char* prefix;
  const char* key;
  const char* advice;
};

TEST(UnknownKey, IsAnsweredWithWhatWasMeant) {
  const Unknown cases[] = {
      {"", "proceses_per_node", ", did you mean \"processes_per_node\"?"},
      {"", "process-per-node", ", did you mean \"processes_per_node\"?"},
      {"", "Command", ", did you mean \"command\"?"},
      {"", "nproc_per_node", ", did you mean \"processes_per_node\"?"},  // torchrun
      {"", "instance_count", ", did you mean \"nodes\"?"},               // Azure ML
      {"", "port", ", did you mean \"connect.port\" or \"rendezvous.port\"?"},
      {"", "gpus", ", did you mean \"processes_per_node\"?"},
      {"binding.", "stop_signal",
       "; it is a key of the whole job, known here: cpus, gpus, threads"},
      {"", "timeouts.stop", "; write it nested: timeouts: {stop: ...}"},
      {"binding.", "xyz", "; known here: cpus, gpus, threads"},
      {"", "xyzzy", ""},
      {"", "", ""},
  };
  for (const Unknown& c : cases)
    EXPECT_EQ(advice_for_unknown_key(c.prefix, c.key), c.advice) << c.key;
}

}  // namespace
}  // namespace dlaunch::jobfile
