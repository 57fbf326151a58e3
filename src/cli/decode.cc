// `nerve decode`: prints capture files, one line per packet.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/capture_report.h"
#include "cli/commands.h"
#include "cli/file_bytes.h"

namespace nerve::cli {
namespace {

constexpr const char* kDecodeFooter = R"(
Files are classic pcap (microseconds or nanoseconds) or pcapng, of Ethernet, raw IP, Linux "cooked"
or loopback frames; `-` reads standard input. Packets are RoCEv2: UDP to port 4791.

Packets are printed in the order of their times, also if several processes wrote the file.

Default output: number, seconds since the first packet, addresses, opcode, destination QP, PSN, flags,
headers, payload length and the verdict on the ICRC; then a summary of each file.

--check prints one line per file and nothing else:
    FILE: N packets, N icrc good, N bad
followed by `, N skipped` when the file holds frames that are not RoCEv2. A bad ICRC is counted, but is not
an error, because a capture may contain corrupted packets.

On loopback, on a veth pair and at the sender, tcpdump may record many packets as one frame, as they were
passed to the kernel (UDP_SEGMENT). They are split here, and share the number of their frame.

Sealed packets (docs/security.md) have no ICRC. They are counted as `, N sealed`, and opened with
--keys FILE, which a program wrote with `nerve run --seal-key-log FILE`. Those that do not authenticate
are counted, and are not an error either. What `nerve run --pcap` captures is not sealed.

--json prints one JSON object per line, one per packet and then one summary per file; docs/wire.md
lists the fields.

Exit code: 0  every RoCEv2 packet of every file was decoded
           1  a file could not be read to its end, a line of --keys is wrong, or a RoCEv2 packet could not be
              decoded
           2  invalid command line

Examples:
    nerve decode run.pcap
    nerve decode --check captures/*.pcap
    nerve decode --keys keys.log eth0.pcap
    tcpdump -i eth0 -c 100 -w - udp port 4791 | nerve decode -
    nerve decode --json run.pcap | jq 'select(.icrc == "bad")')";

struct DecodeOptions {
  std::vector<std::string> files;
  std::string keys;
  bool check{};
  bool json{};
};

std::unique_ptr<CaptureReport> make_report(const DecodeOptions& options, const std::string& file) {
  if (options.check) return make_check_report(file);
  if (options.json) return make_json_report(file);
  return make_text_report(file);
}

// Nothing if there are none. Sets `exit_code` if the file has wrong lines.
std::optional<host::CaptureKeys> read_keys(const std::string& file, int& exit_code) {
  FileBytes input = read_bytes(file);
  if (!input.error.empty()) {
    fmt::print(stderr, "nerve decode: {}: {}\n", file, input.error);
    return std::nullopt;
  }
  host::CaptureKeys::BadLines bad;
  auto keys = host::CaptureKeys::read(input.bytes, bad);
  if (!input.bytes.empty()) ::explicit_bzero(input.bytes.data(), input.bytes.size());
  if (!keys) {
    fmt::print(stderr, "nerve decode: {}: {}\n", file, keys.error());
    return std::nullopt;
  }
  if (bad.count > 0) {
    fmt::print(stderr, "nerve decode: {}: {}; {} wrong lines are left out\n", file, bad.first,
               bad.count);
    exit_code = kExitFailed;
  }
  return *std::move(keys);
}

// True if the whole file was decoded.
bool decode_file(const DecodeOptions& options, host::CaptureKeys& keys, const std::string& file) {
  const FileBytes input = read_bytes(file);
  if (!input.error.empty()) {
    fmt::print(stderr, "nerve decode: {}: {}\n", file, input.error);
    return false;
  }
  const auto report = make_report(options, file);
  return report_capture(file, input.bytes, keys, *report);
}

}  // namespace

void add_decode(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<DecodeOptions>();
  CLI::App* command = program.add_subcommand("decode", "Explain the RoCEv2 packets of a capture");
  command->add_option("FILE", options->files, "capture files; - is standard input")->required();
  command->add_option("--keys", options->keys, "a file with the keys of sealed QPs");
  CLI::Option* check = command->add_flag("--check", options->check, "one line per file");
  command->add_flag("--json", options->json, "JSON, one object per line")->excludes(check);
  command->footer(kDecodeFooter);
  command->callback([options, &exit_code] {
    std::optional<host::CaptureKeys> keys{std::in_place};
    if (!options->keys.empty()) keys = read_keys(options->keys, exit_code);
    if (!keys) {
      exit_code = kExitFailed;
      return;
    }
    for (const std::string& file : options->files) {
      if (!decode_file(*options, *keys, file)) exit_code = kExitFailed;
    }
  });
}

}  // namespace nerve::cli
