// The human-readable reports: one line per packet, and the line of --check.
#include <fmt/format.h>

#include "cli/capture_report.h"
#include "host/seal/mad_seal.h"
#include "host/seal/suites.h"
#include "wire/describe.h"

namespace nerve::cli {
namespace {

// "15 opened, 1 not authentic, 2 without a key, 3 handshake".
std::string seal_counts(const CaptureCounts& counts) {
  std::string text;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(counts.opened, "opened");
  add(counts.not_authentic, "not authentic");
  add(counts.no_key, "without a key");
  add(counts.handshake, "handshake");
  add(counts.unknown_seal, "unknown");
  return text;
}

std::string count_line(const std::string& file, const CaptureCounts& counts) {
  std::string line = fmt::format("{}: {} packets, {} icrc good, {} bad", file, counts.packets(),
                                 counts.good, counts.bad);
  if (counts.sealed > 0) line += fmt::format(", {} sealed: ", counts.sealed) + seal_counts(counts);
  if (counts.skipped > 0) line += fmt::format(", {} skipped", counts.skipped);
  return line;
}

// Seconds with nanoseconds.
std::string since(std::uint64_t start_ns, std::uint64_t time_ns) {
  const std::uint64_t ns = time_ns - start_ns;
  return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

// Number, time and addresses of a packet.
std::string place_of(const CaptureCounts& counts, const wire::CaptureRecord& record,
                     const wire::Flow& flow) {
  return fmt::format("{:>5} {:>13} {}:{} > {}", counts.frames,
                     since(counts.first_ns, record.time_ns), to_string(flow.source),
                     flow.source_port, to_string(flow.destination));
}

const char* ecn_text(const wire::Flow& flow) {
  return flow.ecn() == wire::Ecn::kCongestion ? " ecn=ce" : "";
}

std::string seal_text(const host::SealedPacket& sealed) {
  const seal::Header& header = sealed.header;
  const wire::Bth& bth = sealed.packet.headers.bth;
  const std::string name = fmt::format("{} qp={:#08x}", name_of(sealed), bth.dest_qp.value());
  switch (sealed.outcome) {
    case host::SealOutcome::kCall:
      return fmt::format("{} number={:#018x} invitation={:#010x}", name, header.counter,
                         header.spi);
    case host::SealOutcome::kAnswer:
      return fmt::format("{} number={:#018x}", name, header.counter);
    case host::SealOutcome::kInvitation:
      return fmt::format("{} invitation={:#010x}", name, header.spi);
    case host::SealOutcome::kUnknown:
      return fmt::format("{} bytes={} {}", name, sealed.bytes, to_string(sealed.outcome));
    default:
      break;
  }
  const std::string place =
      fmt::format("spi={:#010x} epoch={} counter={}", header.spi, sealed.epoch, header.counter);
  if (!sealed.opened()) {
    return fmt::format("{} psn={:#08x} bytes={} sealed[{}] {}", name, bth.psn.value(), sealed.bytes,
                       place, to_string(sealed.outcome));
  }
  const std::string plain =
      sealed.outcome == host::SealOutcome::kOpened ? describe(sealed.packet) : name;
  return fmt::format("{} sealed[{} {}]", plain, host::name_of(sealed.suite), place);
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
    fmt::print("{} {} icrc={}{}\n", place_of(counts, record, packet.flow), describe(packet),
               packet.icrc == wire::IcrcVerdict::kGood ? "good" : "bad", ecn_text(packet.flow));
  }

  void sealed_packet(const CaptureCounts& counts, const wire::CaptureRecord& record,
                     const host::SealedPacket& sealed) override {
    const wire::Flow& flow = sealed.packet.flow;
    fmt::print("{} {}{}\n", place_of(counts, record, flow), seal_text(sealed), ecn_text(flow));
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
                 info != nullptr                  ? std::string{info->name}
                 : code == seal::kSealedOpcode    ? "sealed, and not opened or without a frame"
                 : code == seal::kSignedMadOpcode ? "signed management datagrams"
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
