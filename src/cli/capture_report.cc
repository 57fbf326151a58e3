#include "cli/capture_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "wire/uncut_train.h"

namespace nerve::cli {
namespace {

const char* advice(wire::CaptureError error) {
  switch (error) {
    case wire::CaptureError::kEmpty:
    case wire::CaptureError::kUnknownFormat:
      return "give a file written by tcpdump -w, Wireshark or nerve";
    case wire::CaptureError::kTruncatedHeader:
    case wire::CaptureError::kTruncatedRecord:
      return "the file is incomplete: copy it again, or wait until its writer has exited";
    case wire::CaptureError::kBadRecord:
      return "the file is damaged; capture again";
  }
  return "capture again";
}

class Walk {
 public:
  Walk(const std::string& file, host::CaptureKeys& keys, CaptureReport& report)
      : file_{file}, keys_{keys}, report_{report} {}

  void frame(const wire::CaptureRecord& record) {
    if (counts_.frames++ == 0) counts_.first_ns = record.time_ns;
    counts_.last_ns = record.time_ns;
    const auto ip = wire::find_ip(record.link, record.bytes);
    if (!ip) return failed(record, ip.error());
    const auto packet = wire::decode_packet(*ip);
    if (!packet) return failed(record, packet.error());
    if (packet->icrc == wire::IcrcVerdict::kGood) return decoded(record, *packet);
    if (packet->headers.bth.opcode == seal::kSealedOpcode) return sealed(record, *ip, *packet);
    const auto train = wire::UncutTrain::find(*ip, *packet, segment_);
    if (!train) return decoded(record, *packet);
    ++counts_.trains;
    segment_ = train->segment();
    for (std::size_t i = 0; i < train->packets(); ++i) {
      const auto one = train->packet(i);
      one ? decoded(record, *one) : failed(record, one.error());
    }
  }
  [[nodiscard]] const CaptureCounts& counts() const { return counts_; }

 private:
  void decoded(const wire::CaptureRecord& record, const wire::Packet& packet) {
    ++(packet.icrc == wire::IcrcVerdict::kGood ? counts_.good : counts_.bad);
    ++counts_.opcodes[packet.headers.bth.opcode];
    report_.packet(counts_, record, packet);
  }
  void sealed(const wire::CaptureRecord& record, Bytes ip, const wire::Packet& packet) {
    const std::size_t size = wire::Bth::kSize + packet.payload.size() + packet.headers.bth.pad +
                             wire::kIcrcSize;  // which a plain packet would have
    Bytes rest = ip.subspan(wire::ip_size(packet.flow) + wire::UdpHeader::kSize, size);
    if (!seal::is_sealed(rest)) return failed(record, wire::WireError::kTruncated);
    const std::size_t segment = host::sealed_segment(rest);
    if (segment < rest.size()) ++counts_.trains;
    while (!rest.empty()) {
      const Bytes one = rest.first(std::min(segment, rest.size()));
      rest = rest.subspan(one.size());
      const host::SealedPacket opened = keys_.open(packet.flow, one);
      count(opened);
      report_.sealed_packet(counts_, record, opened);
    }
  }
  void count(const host::SealedPacket& packet) {
    ++counts_.sealed;
    ++counts_.opcodes[packet.packet.headers.bth.opcode];
    switch (packet.outcome) {
      case host::SealOutcome::kOpened:
      case host::SealOutcome::kEmpty:
        ++counts_.opened;
        break;
      case host::SealOutcome::kNotAuthentic:
        ++counts_.not_authentic;
        break;
      case host::SealOutcome::kNoKey:
        ++counts_.no_key;
        break;
      case host::SealOutcome::kCall:
      case host::SealOutcome::kAnswer:
      case host::SealOutcome::kInvitation:
        ++counts_.handshake;
        break;
      case host::SealOutcome::kUnknown:
        ++counts_.unknown_seal;
    }
  }
  void failed(const wire::CaptureRecord& record, wire::WireError error) {
    if (error == wire::WireError::kNotRoce) {
      ++counts_.skipped;
      return;
    }
    ++counts_.undecodable;
    const bool cut = record.bytes.size() < record.original_length;
    const std::string what =
        cut ? fmt::format("captured {} of {} bytes; capture whole packets (tcpdump -s 0)",
                          record.bytes.size(), record.original_length)
            : fmt::format("{} in {} bytes; malformed by its sender; a hex dump shows it",
                          wire::to_string(error), record.bytes.size());
    fmt::print(stderr, "nerve decode: {}: packet {}: {}\n", file_, counts_.frames, what);
  }

  const std::string& file_;
  host::CaptureKeys& keys_;
  CaptureReport& report_;
  CaptureCounts counts_{};
  std::size_t segment_{};  // of the last train; the next one probably has the same
};

}  // namespace

bool report_capture(const std::string& file, Bytes bytes, host::CaptureKeys& keys,
                    CaptureReport& report) {
  const auto complain = [&](wire::CaptureError error, const std::string& where) {
    fmt::print(stderr, "nerve decode: {}: {}{}; {}\n", file, where, wire::to_string(error),
               advice(error));
  };
  const auto opened = wire::CaptureReader::open(bytes);
  if (!opened) {
    complain(opened.error(), "");
    return false;
  }
  wire::CaptureReader reader = *opened;
  std::vector<wire::CaptureRecord> records;
  bool whole = true;
  while (true) {
    const auto record = reader.next();
    if (!record) {
      complain(record.error(), fmt::format("after packet {}: ", records.size()));
      whole = false;
      break;
    }
    if (!record->has_value()) break;
    records.push_back(**record);
  }
  // Processes that share a capture append to it in batches, so an ACK may precede its request.
  std::ranges::stable_sort(records, {}, &wire::CaptureRecord::time_ns);
  Walk walk{file, keys, report};
  for (const wire::CaptureRecord& record : records) walk.frame(record);
  report.summary(walk.counts());
  return whole && walk.counts().undecodable == 0;
}

}  // namespace nerve::cli
