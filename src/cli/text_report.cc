// The human-readable reports: one line per packet, and the line of --check.
#include <fmt/format.h>

#include "cli/capture_report.h"
#include "wire/describe.h"

namespace nerve::cli {
namespace {

std::string count_line(const std::string& file, const CaptureCounts& counts) {
  std::string line = fmt::format("{}: {} packets, {} icrc good, {} bad", file, counts.packets(),
                                 counts.good, counts.bad);
  if (counts.skipped > 0) line += fmt::format(", {} skipped", counts.skipped);
  return line;
}

// Seconds with nanoseconds.
std::string since(std::uint64_t start_ns, std::uint64_t time_ns) {
  const std::uint64_t ns = time_ns - start_ns;
  return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

class CheckReport : public CaptureReport {
 public:
  explicit CheckReport(std::string file) : file_{std::move(file)} {}
  void packet(const CaptureCounts&, const wire::CaptureRecord&, const wire::Packet&) override {}
  void summary(const CaptureCounts& counts) override {
    fmt::print("{}\n", count_line(file_, counts));
  }

 private:
  std::string file_;
};

class TextReport : public CaptureReport {
 public:
  explicit TextReport(std::string file) : file_{std::move(file)} {}

  void packet(const CaptureCounts& counts, const wire::CaptureRecord& record,
              const wire::Packet& packet) override {
    const wire::Flow& flow = packet.flow;
    fmt::print("{:>5} {:>13} {}:{} > {} {} icrc={}{}\n", counts.frames,
               since(counts.first_ns, record.time_ns), to_string(flow.source), flow.source_port,
               to_string(flow.destination), describe(packet),
               packet.icrc == wire::IcrcVerdict::kGood ? "good" : "bad",
               flow.ecn() == wire::Ecn::kCongestion ? " ecn=ce" : "");
  }

  void summary(const CaptureCounts& counts) override {
    fmt::print("\n{}\n", count_line(file_, counts));
    if (counts.undecodable > 0) fmt::print("  {} of them undecodable\n", counts.undecodable);
    if (counts.trains > 0) {
      fmt::print("  {} frames contain several packets: they were captured before segmentation\n",
                 counts.trains);
    }
    fmt::print("  {} s\n", since(counts.first_ns, counts.last_ns));
    for (const auto& [code, count] : counts.opcodes) {
      const wire::OpcodeInfo* info = wire::find_opcode(code);
      fmt::print("  {:>6} {}\n", count,
                 info != nullptr ? std::string{info->name}
                                 : fmt::format("opcode {:#04x} (unknown)", code));
    }
  }

 private:
  std::string file_;
};

}  // namespace

std::unique_ptr<CaptureReport> make_check_report(std::string file) {
  return std::make_unique<CheckReport>(std::move(file));
}

std::unique_ptr<CaptureReport> make_text_report(std::string file) {
  return std::make_unique<TextReport>(std::move(file));
}

}  // namespace nerve::cli
