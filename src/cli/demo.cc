// `nerve demo`: runs stock RDMA programs over both transports, compares them with TCP, and shows
// packets.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/capture_report.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/demo_plan.h"
#include "cli/file_bytes.h"
#include "cli/progress.h"
#include "cli/run_plan.h"
#include "cli/this_program.h"
#include "host/devices/interfaces.h"

namespace nerve::cli {
namespace {

constexpr std::size_t kPacketsShown = 8;

constexpr const char* kDemoFooter = R"(
Runs ib_send_lat, ib_write_lat, ib_write_bw and ib_read_bw (perftest) between two processes of this
machine, unmodified and without privileges: over shared memory, and over RoCEv2 packets through the
kernel's UDP on the loopback interface; iperf3 and qperf measure TCP for comparison. Then a pingpong
(ibverbs-utils) is captured and its packets are shown. Takes about a minute.

--json prints the table as one object and nothing else.

Exit code: 0  everything ran
           1  something failed; stderr says what)";

constexpr const char* kNextSteps = R"(
Next:
    {0} run -- ib_write_bw              any RDMA program, here or on two machines
    {0} run --pcap run.pcap -- CMD      capture it for Wireshark or {0} decode
    {0} run --fault 'loss=1%,seed=7' -- CMD    lose packets and see it recover
    {0} top                             running programs and their rates
    {0} trace -- CMD                    every step of its messages, as a page
    {0} doctor                          check this machine
{1} lists more, docs/clients has a recipe for each program.
)";

// The first packets of a capture, one line each.
class FirstPackets : public CaptureReport {
 public:
  explicit FirstPackets(const std::string& file) : text_{make_text_report(file)} {}
  void packet(const CaptureCounts& counts, const wire::CaptureRecord& record,
              const wire::Packet& packet) override {
    if (counts.frames <= kPacketsShown) text_->packet(counts, record, packet);
  }
  void summary(const CaptureCounts& counts) override {
    if (counts.frames > kPacketsShown) {
      fmt::print("      ... and {} more\n", counts.frames - kPacketsShown);
    }
  }

 private:
  std::unique_ptr<CaptureReport> text_;
};

struct Row {
  DemoRow plan;
  Outcome shm;
  Outcome udp;
  Outcome tcp;
};

std::string cell(const Outcome& outcome, Figure figure) {
  return outcome.value ? figure_text(figure, *outcome.value) : "failed";
}

void print_table(const std::vector<Row>& rows) {
  fmt::print("\n{:<26}{:>15}{:>18}{:>14}\n", "two processes, one machine", "shared memory",
             "RoCEv2 over UDP", "TCP");
  for (const Row& row : rows) {
    const Figure figure = row.plan.ours.figure;
    fmt::print("{:<26}{:>15}{:>18}{:>14}\n", row.plan.title, cell(row.shm, figure),
               cell(row.udp, figure), row.plan.tcp ? cell(row.tcp, row.plan.tcp->figure) : "");
  }
}

void print_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json line{{"title", row.plan.title}, {"program", row.plan.ours.program}};
    const auto add = [&](const char* name, const Outcome& outcome) {
      if (outcome.value) line[name] = *outcome.value;
    };
    add("shm", row.shm);
    add("udp", row.udp);
    add("tcp", row.tcp);
    table.push_back(line);
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"rows", table}}.dump());
}

bool print_failures(const std::vector<Row>& rows) {
  bool any = false;
  const auto report = [&](const Outcome& outcome, const std::string& program,
                          const char* transport) {
    if (outcome.why.empty()) return;
    fmt::print(stderr, "nerve demo: {} over {}: {}\n", program, transport, outcome.why);
    any = true;
  };
  for (const Row& row : rows) {
    report(row.shm, row.plan.ours.program, "shm");
    report(row.udp, row.plan.ours.program, "udp");
    if (row.plan.tcp) report(row.tcp, row.plan.tcp->program, "tcp");
  }
  return any;
}

// The packages that must be installed first; empty if none is missing.
std::string missing_packages(const std::string& path) {
  std::string packages;
  for (const auto& [program, package] :
       {std::pair{"ibv_rc_pingpong", "ibverbs-utils"}, std::pair{"ib_write_bw", "perftest"}}) {
    if (find_command(program, path).empty()) packages += fmt::format(" {}", package);
  }
  return packages;
}

bool loopback_is_up() {
  return std::ranges::any_of(host::list_interfaces(), [](const host::Interface& interface) {
    return interface.name == "lo" && interface.up && !interface.addresses.empty();
  });
}

// Runs and captures a pingpong of a few messages; false if it failed.
bool capture_pingpong(const Stage& stage, const std::string& file) {
  const std::string program = find_command("ibv_rc_pingpong", stage.path);
  const auto environment =
      demo_environment(stage, {{"NERVE_TRANSPORT", "udp"}, {"NERVE_PCAP", file}});
  const std::uint16_t port = free_tcp_port();
  std::vector<std::string> words{
      program, "-d", "nerve0", "-g", "0", "-s", "64", "-n", "4", "-p", std::to_string(port)};
  Child server{words, environment, stage.folder + "/server.log"};
  if (!wait_until_listening(server, port, std::chrono::seconds{10})) return false;
  words.emplace_back("127.0.0.1");
  Child client{words, environment, stage.folder + "/client.log"};
  const Child::Ended ended = client.wait(std::chrono::seconds{20});
  return ended.well && server.wait(std::chrono::seconds{5}).well;
}

bool show_packets(const Stage& stage) {
  const std::string file = stage.folder + "/pingpong.pcap";
  if (!capture_pingpong(stage, file)) {
    fmt::print(stderr, "nerve demo: the captured ibv_rc_pingpong failed; see {}/client.log\n",
               stage.folder);
    return false;
  }
  const FileBytes capture = read_bytes(file);
  if (!capture.error.empty()) {
    fmt::print(stderr, "nerve demo: {}: {}\n", file, capture.error);
    return false;
  }
  fmt::print("\nThe first packets of an ibv_rc_pingpong over UDP, as {} decode shows them:\n",
             command_name());
  FirstPackets report{file};
  host::CaptureKeys none;
  const bool whole = report_capture(file, capture.bytes, none, report);
  fmt::print("All of them are in {}; Wireshark opens it.\n", file);
  return whole;
}

std::string search_path() {
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/usr/bin:/bin";
}

std::optional<Stage> set_stage(const std::string& path) {
  const std::string program = this_program().string();
  const auto library = find_library_folder(program);
  if (!library) {
    fmt::print(stderr, "nerve demo: no libibverbs.so.1 for {}; {}\n", program, how_to_restore());
    return std::nullopt;
  }
  std::error_code ignored;
  std::string folder = (std::filesystem::temp_directory_path(ignored) / "nerve-demo-XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "nerve demo: cannot create a folder for logs at {}; set TMPDIR\n", folder);
    return std::nullopt;
  }
  return Stage{.library_folder = *library, .folder = folder, .path = path};
}

// Keeps the capture; keeps logs only after a failure.
void clean_up(const Stage& stage, bool failed) {
  std::error_code ignored;
  if (!failed) {
    std::filesystem::remove(stage.folder + "/server.log", ignored);
    std::filesystem::remove(stage.folder + "/client.log", ignored);
  }
  std::filesystem::remove(stage.folder, ignored);  // succeeds only if it is empty
}

std::vector<Row> measure_all(const Stage& stage) {
  const std::vector<DemoRow> plans = demo_rows();
  const auto with_tcp =
      std::ranges::count_if(plans, [](const DemoRow& row) { return row.tcp.has_value(); });
  Progress progress{plans.size() * 2 + static_cast<std::size_t>(with_tcp)};
  std::vector<Row> rows;
  for (const DemoRow& plan : plans) {
    Row row{.plan = plan, .shm = {}, .udp = {}, .tcp = {}};
    progress.step(plan.ours.program + " over shared memory");
    row.shm = run_measure(stage, plan.ours, {{"NERVE_TRANSPORT", "shm"}});
    progress.step(plan.ours.program + " over UDP");
    row.udp = run_measure(stage, plan.ours, {{"NERVE_TRANSPORT", "udp"}});
    if (plan.tcp) {
      progress.step(plan.tcp->program + " over TCP");
      row.tcp = run_measure(stage, *plan.tcp, {});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int demonstrate(bool json) {
  const std::string path = search_path();
  if (const std::string packages = missing_packages(path); !packages.empty()) {
    fmt::print(stderr,
               "nerve demo: required programs are not installed; sudo apt-get install -y{}\n",
               packages);
    return kExitFailed;
  }
  if (!loopback_is_up()) {
    fmt::print(stderr, "nerve demo: interface lo is down; try: sudo ip link set lo up\n");
    return kExitFailed;
  }
  const auto stage = set_stage(path);
  if (!stage) return kExitFailed;
  const std::vector<Row> rows = measure_all(*stage);
  json ? print_json(rows) : print_table(rows);
  bool failed = print_failures(rows);
  if (!json) {
    failed = !show_packets(*stage) || failed;
    fmt::print(kNextSteps, command_name(), readme());
  }
  clean_up(*stage, failed);
  return failed ? kExitFailed : kExitOk;
}

}  // namespace

void add_demo(CLI::App& program, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand(
      "demo", "Run stock RDMA programs and print their latency and bandwidth");
  command->add_flag("--json", *json, "print the table as one JSON object");
  command->footer(kDemoFooter);
  command->callback([json, &exit_code] { exit_code = demonstrate(*json); });
}

}  // namespace nerve::cli
