// Goal: packets are paired with their arrival and events with their message, whatever order the
// files are in and however damaged they are. Method: records made by hand.
#include "cli/trace_document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "base/prng.h"
#include "cli/trace_files.h"
#include "cli/trace_page.h"

namespace nerve::cli::trace_document_test {
namespace {

using nic::TraceCause;
using nic::TraceDetail;
using nic::TraceRecord;
using enum nic::TraceStep;

constexpr std::uint32_t kA = 0x11;
constexpr std::uint32_t kB = 0x22;
constexpr std::uint64_t kHostA = 0xffff0a000001;
constexpr std::uint64_t kHostB = 0xffff0a000002;
constexpr std::uint8_t kSendOnly = 0x04;
constexpr std::uint8_t kAck = 0x11;
constexpr std::uint8_t kRecv = 9;  // nic::WcOpcode

RecordedTrace end(std::uint32_t pid, std::uint64_t address, std::vector<TraceRecord> records) {
  return {.pid = pid,
          .program = "program",
          .device = "nerve0",
          .address = "10.0.0.1",
          .addresses = {address},
          .messages = 1000,
          .records = std::move(records)};
}

TraceRecord connected(std::uint32_t qpn, std::uint32_t peer, std::uint64_t address) {
  return {.at = 1,
          .id = address,
          .qpn = qpn,
          .peer = peer,
          .step = kModifyQp,
          .detail = nic::detail_of(TraceDetail::kQpState, 3)};
}

// A SEND of one packet, acknowledged: both ends, from the time `t` on, with these PSNs.
std::vector<TraceRecord> requester(std::uint64_t t, std::uint32_t psn) {
  return {connected(kA, kB, kHostB),
          {.at = t, .id = 5, .qpn = kA, .bytes = 64, .message = 0, .step = kPost},
          {.at = t + 2, .qpn = kA, .peer = 1, .psn = psn, .message = 0, .step = kFetch},
          {.at = t + 3,
           .id = kHostB,
           .qpn = kA,
           .peer = kB,
           .psn = psn,
           .bytes = 64,
           .message = 0,
           .step = kPacketMade,
           .opcode = kSendOnly},
          {.at = t + 4,
           .id = kHostB,
           .qpn = kA,
           .peer = kB,
           .psn = psn,
           .bytes = 64,
           .message = 0,
           .step = kPacketSent,
           .opcode = kSendOnly},
          {.at = t + 20,
           .id = kHostB,
           .qpn = kA,
           .peer = kB,
           .psn = psn,
           .step = kPacketReceived,
           .opcode = kAck},
          {.at = t + 21, .qpn = kA, .psn = psn, .step = kAckReceived, .opcode = kAck},
          {.at = t + 22,
           .id = 5,
           .qpn = kA,
           .bytes = 64,
           .message = 0,
           .step = kCompletion,
           .detail = nic::detail_of(TraceDetail::kWcStatus, 0)},
          {.at = t + 30, .id = 5, .qpn = kA, .bytes = 64, .step = kPolled}};
}

std::vector<TraceRecord> responder(std::uint64_t t, std::uint32_t psn) {
  return {connected(kB, kA, kHostA),
          {.at = 2, .id = 9, .qpn = kB, .bytes = 100, .step = kPostReceive},
          {.at = t + 10,
           .id = kHostA,
           .qpn = kB,
           .peer = kA,
           .psn = psn,
           .bytes = 64,
           .step = kPacketReceived,
           .opcode = kSendOnly},
          {.at = t + 11,
           .qpn = kB,
           .psn = psn,
           .bytes = 64,
           .message = 0,
           .step = kChecked,
           .opcode = kSendOnly},
          {.at = t + 12,
           .qpn = kB,
           .psn = psn,
           .bytes = 64,
           .message = 0,
           .step = kPlaced,
           .opcode = kSendOnly},
          {.at = t + 13,
           .id = 9,
           .qpn = kB,
           .bytes = 64,
           .message = 0,
           .step = kCompletion,
           .opcode = kRecv,
           .detail = nic::detail_of(TraceDetail::kWcStatus, 0)},
          {.at = t + 14,
           .id = kHostA,
           .qpn = kB,
           .peer = kA,
           .psn = psn,
           .step = kAckSent,
           .opcode = kAck},
          {.at = t + 15,
           .id = kHostA,
           .qpn = kB,
           .peer = kA,
           .psn = psn,
           .step = kPacketSent,
           .opcode = kAck},
          {.at = t + 40, .id = 9, .qpn = kB, .bytes = 64, .step = kPolled, .opcode = kRecv}};
}

const TraceEvent& event(const TraceDocument& document, std::int32_t end, nic::TraceStep step,
                        int nth = 0) {
  for (const TraceEvent& one : document.events) {
    if (one.end == end && one.step == step && nth-- == 0) return one;
  }
  ADD_FAILURE() << "no such event";
  return document.events.front();
}

TEST(TraceDocument, GroupsBothEndsOfASendIntoOneMessage) {
  const TraceDocument document = make_trace_document(
      "test", {end(1, kHostA, requester(100, 7)), end(2, kHostB, responder(100, 7))});
  ASSERT_EQ(document.messages.size(), 1U);
  const TraceMessage& message = document.messages[0];
  EXPECT_EQ(message.op, "SEND");
  EXPECT_EQ(message.bytes, 64U);
  EXPECT_EQ(message.end, 0);
  EXPECT_EQ(message.peer_end, 1);
  EXPECT_EQ(message.peer_qpn, kB);
  EXPECT_EQ(message.status, "success");
  EXPECT_EQ(message.begin, 99U);
  EXPECT_EQ(message.finish, 129U);
  for (const TraceEvent& one : document.events) {
    EXPECT_EQ(one.message, one.step == kModifyQp ? -1 : 0) << static_cast<int>(one.step);
  }
  EXPECT_EQ(event(document, 0, kPacketSent).packet, event(document, 1, kPacketReceived).packet);
  EXPECT_EQ(event(document, 1, kPacketSent).packet, event(document, 0, kPacketReceived).packet);
  EXPECT_NE(event(document, 0, kPacketSent).packet, event(document, 1, kPacketSent).packet);
  ASSERT_EQ(document.qps.size(), 2U);
  EXPECT_EQ(document.qps[0].traced, 1U);
  EXPECT_TRUE(std::ranges::is_sorted(document.events, {}, &TraceEvent::t));
}

TEST(TraceDocument, PairsALostPacketAndItsRetransmission) {
  std::vector<TraceRecord> records = requester(100, 7);
  const TraceRecord made = records[3];
  const TraceRecord sent = records[4];
  const TraceRecord lost{.at = sent.at + 1,
                         .id = kHostB,
                         .peer = kB,
                         .psn = 7,
                         .step = kPacketDropped,
                         .opcode = kSendOnly};
  TraceRecord again = made;
  again.at = 107;
  TraceRecord sent_again = sent;
  sent_again.at = 108;
  const TraceRecord why{.at = 106,
                        .qpn = kA,
                        .psn = 7,
                        .message = 0,
                        .step = kRetransmit,
                        .detail = nic::detail_of(TraceDetail::kCause, TraceCause::kTimeout)};
  records.insert(records.end(), {lost, why, again, sent_again});
  const TraceDocument document =
      make_trace_document("", {end(2, kHostB, responder(100, 7)), end(1, kHostA, records)});
  EXPECT_EQ(event(document, 1, kPacketSent, 0).packet, event(document, 1, kPacketDropped).packet);
  EXPECT_EQ(event(document, 1, kPacketSent, 1).packet, event(document, 0, kPacketReceived).packet);
  EXPECT_EQ(event(document, 1, kPacketDropped).qpn, kA);
  ASSERT_EQ(document.messages.size(), 1U);
  EXPECT_EQ(document.messages[0].retransmitted, 1U);
  EXPECT_EQ(document.details[static_cast<std::size_t>(event(document, 1, kRetransmit).detail)],
            "timeout");
}

TEST(TraceDocument, QpsOfOneNumberOnTwoHostsAreToldApartByAddress) {
  std::vector<TraceRecord> other = responder(100, 7);
  for (TraceRecord& record : other) record.id = record.id == kHostA ? 99 : record.id;
  const TraceDocument document = make_trace_document(
      "",
      {end(1, kHostA, requester(100, 7)), end(3, 77, other), end(2, kHostB, responder(100, 7))});
  EXPECT_EQ(document.messages[0].peer_end, 2);
  EXPECT_EQ(event(document, 1, kPacketReceived).packet, -1);
  EXPECT_EQ(event(document, 0, kPacketSent).packet, event(document, 2, kPacketReceived).packet);
}

TEST(TraceDocument, AReceiverAloneHasMessagesToo) {
  const TraceDocument document = make_trace_document("", {end(2, kHostB, responder(100, 7))});
  ASSERT_EQ(document.messages.size(), 1U);
  EXPECT_EQ(document.messages[0].op, "RECV");
  EXPECT_EQ(event(document, 0, kCompletion).message, 0);
}

TEST(TraceDocument, SaysWhatIsMissing) {
  std::vector<TraceRecord> records = requester(100, 7);
  records.push_back({.at = 500, .qpn = kA, .message = 5000, .step = kDestroyQp});
  RecordedTrace trace = end(1, kHostA, records);
  trace.lost = 3;
  const TraceDocument document = make_trace_document("", {trace});
  ASSERT_EQ(document.notes.size(), 2U);
  EXPECT_EQ(document.notes[0], "program (pid 1): the trace was full, 3 steps are missing");
  EXPECT_EQ(document.notes[1], "QP 0x11: the first 1 of 5000 messages are shown");
}

TEST(TraceDocument, JsonHasEveryColumn) {
  const TraceDocument document = make_trace_document(
      "a </script> title", {end(1, kHostA, requester(100, 7)), end(2, kHostB, responder(100, 7))});
  const std::string text = trace_json(document);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["format"], "nerve-trace-1");
  ASSERT_EQ(json["events"].size(), document.events.size());
  const auto& row = json["events"][2];
  ASSERT_EQ(row.size(), json["columns"].size());
  const auto& step = json["steps"][row[2].get<std::size_t>()];
  EXPECT_EQ(step["name"], "post_receive");
  EXPECT_EQ(json["modules"][step["module"].get<std::size_t>()], "Verbs");
  EXPECT_EQ(trace_page("<!--trace-->", text).find("</script> title"), std::string::npos);
  const auto chrome = nlohmann::json::parse(chrome_json(document));
  EXPECT_GE(chrome["traceEvents"].size(), document.events.size());
}

std::vector<std::byte> file_of(const std::vector<TraceRecord>& records) {
  host::TraceHeader header{};
  header.magic = host::kTraceMagic;
  header.version = host::kTraceVersion;
  header.record_size = sizeof(TraceRecord);
  header.capacity = host::kTraceCapacity;
  header.count = records.size();
  header.pid = 1;
  header.device_count = 1;
  header.devices[0].addresses[0] = kHostA;
  std::vector<std::byte> bytes(host::kTraceHeaderSize + records.size() * sizeof(TraceRecord));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::ranges::copy(std::as_bytes(std::span{records}), bytes.begin() + host::kTraceHeaderSize);
  return bytes;
}

TEST(TraceFiles, ReadsWhatWasWritten) {
  std::vector<RecordedTrace> traces;
  EXPECT_EQ(read_trace(file_of(requester(100, 7)), traces), "");
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].records.size(), requester(100, 7).size());
  EXPECT_EQ(traces[0].addresses, std::vector<std::uint64_t>{kHostA});
}

TEST(TraceFiles, EveryTruncationIsSafe) {
  const std::vector<std::byte> whole = file_of(requester(100, 7));
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    std::vector<RecordedTrace> traces;
    (void)read_trace(std::span{whole}.first(size), traces);
    (void)make_trace_document("", traces);
  }
}

TEST(TraceFiles, DamagedFilesAreSafe) {
  const std::vector<std::byte> whole = file_of(requester(100, 7));
  Prng random{7};
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> damaged = whole;
    for (std::uint64_t hits = 1 + random.next() % 8; hits > 0; --hits) {
      // The magic and the version stay, or nothing else would be read.
      const std::size_t at = 16 + random.next() % (damaged.size() - 16);
      damaged[at] = static_cast<std::byte>(random.next());
    }
    std::vector<RecordedTrace> traces;
    (void)read_trace(damaged, traces);
    const TraceDocument document = make_trace_document("", traces);
    EXPECT_TRUE(nlohmann::json::accept(trace_json(document)));
    EXPECT_TRUE(nlohmann::json::accept(chrome_json(document)));
  }
}

TEST(TraceFiles, OtherFilesAreRefused) {
  std::vector<RecordedTrace> traces;
  std::vector<std::byte> bytes = file_of({});
  bytes[8] = std::byte{2};
  EXPECT_EQ(read_trace(bytes, traces), "it was written by another version of nerve");
  bytes[0] = std::byte{};
  EXPECT_EQ(read_trace(bytes, traces), "it is not a trace");
  EXPECT_EQ(read_trace({}, traces), "it is shorter than the header of a trace");
  EXPECT_TRUE(traces.empty());
}

}  // namespace
}  // namespace nerve::cli::trace_document_test
