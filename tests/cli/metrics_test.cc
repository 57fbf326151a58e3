// Goal: `nerve metrics` says what samples say, as Prometheus reads it. Method: texts of samples
// that are values.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "cli/metrics_text.h"
#include "host/diagnostics/port_counters.h"
#include "tests/cli/program.h"
#include "tests/cli/samples.h"

namespace nerve::cli {
namespace {

Sample counted_sample() {
  Sample sample = test::busy_sample();
  sample.devices = {{.name = "nerve0", .up = true}, {.name = "nerve1", .up = false}};
  host::ProcessRecord record = test::process_record(11, "se\"nd\\er");
  host::DeviceCounters counters;
  counters.engine.bytes_sent = 1000;
  counters.engine.retransmitted_frames = 3;
  counters.transports.shm_bytes = 900;
  counters.transports.udp_bytes = 100;
  counters.direct.bytes_written = 50;
  record.devices = {{.name = "nerve0", .counters = counters}};
  sample.records.processes.push_back(record);
  host::DeviceCounters before;
  before.engine.bytes_sent = 7;
  sample.records.ended = {{.name = "nerve0", .counters = before}};
  return sample;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST(MetricsText, SumsADeviceOverItsProcesses) {
  const std::string text = metrics_text(counted_sample());
  EXPECT_TRUE(has_line(text,
                       "node_infiniband_port_data_transmitted_bytes_total{device=\"nerve0\","
                       "port=\"1\"} 1057"))
      << text;
  EXPECT_TRUE(has_line(text,
                       "node_infiniband_port_data_transmitted_bytes_total{device=\"nerve1\","
                       "port=\"1\"} 0"));
  EXPECT_TRUE(has_line(text, "node_infiniband_state_id{device=\"nerve0\",port=\"1\"} 4"));
  EXPECT_TRUE(has_line(text, "node_infiniband_state_id{device=\"nerve1\",port=\"1\"} 1"));
  EXPECT_TRUE(has_line(
      text, "node_infiniband_rate_bytes_per_second{device=\"nerve0\",port=\"1\"} 12500000000"));
}

TEST(MetricsText, TellsThePathsAndTheCopies) {
  const std::string text = metrics_text(counted_sample());
  const std::string who = R"({pid="11",program="se\"nd\\er",device="nerve0")";
  EXPECT_TRUE(has_line(text, "nerve_path_bytes_total" + who + ",path=\"shm\"} 900")) << text;
  EXPECT_TRUE(has_line(text, "nerve_path_copied_bytes_total" + who + ",path=\"shm\"} 1800"));
  EXPECT_TRUE(has_line(text, "nerve_path_copied_bytes_total" + who + ",path=\"udp\"} 400"));
  EXPECT_TRUE(has_line(text, "nerve_path_copied_bytes_total" + who + ",path=\"direct\"} 50"));
  EXPECT_TRUE(has_line(text, "nerve_retransmitted_total" + who + "} 3"));
  EXPECT_TRUE(has_line(text, R"(nerve_qps{pid="12",program="receiver"} 2)"));
  EXPECT_TRUE(
      has_line(text, R"(nerve_lowest_rate_bytes_per_second{pid="11",program="sender"} 312500000)"));
  EXPECT_TRUE(has_line(text, R"(nerve_process_answers{pid="13",program="stopped"} 0)"));
  EXPECT_FALSE(has_line(text, R"(nerve_qps{pid="13",program="stopped"} 0)"));
}

// The text format 0.0.4: each family has a HELP and a TYPE before its samples, and is one block;
// every line of samples is a name, labels and a number; no sample is there twice.
TEST(MetricsText, IsWhatPrometheusReads) {
  std::istringstream lines{metrics_text(counted_sample())};
  const std::regex sample{
      R"(^([a-z_0-9]+)\{([a-z_]+="([^"\\\n]|\\["\\n])*"(,[a-z_]+="([^"\\\n]|\\["\\n])*")*)\} [0-9]+$)"};
  std::string family;
  std::set<std::string> families;
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family;
    } else if (line.starts_with("# TYPE ")) {
      const bool counter = line.ends_with(" counter");
      EXPECT_EQ(line, "# TYPE " + family + (counter ? " counter" : " gauge"));
      EXPECT_EQ(counter, family.ends_with("_total")) << line;
    } else {
      std::smatch match;
      ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1].str(), family);
      EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  }
  EXPECT_GT(families.size(), 60U);
}

// Every name of ours is in the page, and the dashboard asks for none that is not there.
TEST(MetricsText, IsWhatThePageAndTheDashboardSay) {
  const auto contents = [](const char* file) {
    std::ifstream in{std::string{NERVE_SOURCE_DIR} + file};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  const std::string page = contents("/docs/metrics.md");
  std::set<std::string> names;
  std::istringstream lines{metrics_text(counted_sample())};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# TYPE ")) continue;
    const std::string& name = *names.insert(line.substr(7, line.rfind(' ') - 7)).first;
    if (!name.starts_with("nerve_")) continue;
    EXPECT_NE(page.find("`" + name), std::string::npos) << name;
  }
  const std::string dashboard = contents("/examples/grafana/nerve.json");
  const std::regex name{R"(\b(nerve|node_infiniband)_[a-z_0-9]+)"};
  std::size_t used = 0;
  for (std::sregex_iterator at{dashboard.begin(), dashboard.end(), name}, end; at != end; ++at) {
    EXPECT_TRUE(names.contains(at->str())) << at->str();
    ++used;
  }
  EXPECT_GT(used, 20U);
}

TEST(MetricsText, ShowsSomeOfThoseThatHaveEnded) {
  Sample sample = counted_sample();
  for (pid_t pid = 1000; pid < 1200; ++pid) {
    host::ProcessRecord ended = test::process_record(pid, "ended");
    ended.alive = false;
    ended.started = static_cast<std::uint64_t>(pid);
    sample.records.processes.push_back(ended);
  }
  const std::string text = metrics_text(sample);
  EXPECT_TRUE(has_line(text, R"(nerve_process_running{pid="11",program="se\"nd\\er"} 1)"));
  EXPECT_TRUE(has_line(text, R"(nerve_process_running{pid="1199",program="ended"} 0)"));
  EXPECT_FALSE(has_line(text, R"(nerve_process_running{pid="1000",program="ended"} 0)"));
}

TEST(Metrics, PrintsOneScrape) {
  const test::Outcome once = test::nerve("metrics");
  EXPECT_EQ(once.exit_code, 0);
  EXPECT_TRUE(once.text.starts_with("# HELP node_infiniband_info ")) << once.text;
  const test::Outcome bad = test::nerve("metrics --listen example.org:80");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_EQ(bad.text,
            "nerve metrics: --listen 'example.org': not a numeric address; write 127.0.0.1, [::1], "
            "or the address of an interface\n");
}

TEST(Metrics, EndsWithStatusZeroWhenInterrupted) {
  // The shell of the test ignores nothing. `timeout` sends the signal twice: to the program, and to
  // its process group.
  const test::Outcome served =
      test::nerve("--help >/dev/null; timeout --preserve-status -s INT 1 " NERVE_PROGRAM
                  " metrics --listen 127.0.0.1:0");
  EXPECT_EQ(served.exit_code, 0) << served.text;
  EXPECT_TRUE(served.text.starts_with("nerve metrics: http://127.0.0.1:")) << served.text;
}

TEST(Top, WithoutATerminalPrintsOneFrame) {
  const test::Outcome frame = test::nerve("top");
  EXPECT_EQ(frame.exit_code, 0);
  EXPECT_TRUE(frame.text.starts_with("nerve top: ")) << frame.text;
  EXPECT_EQ(test::nerve("top --sort colour").exit_code, 2);
}

}  // namespace nerve::cli
