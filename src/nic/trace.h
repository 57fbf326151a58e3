// A trace: one record for each step that a message takes through the engine.
//
// The driver provides memory and a clock; an engine without a trace pays one predictable branch per
// step. To keep traces short, a QP records its first messages only (qp_context/qp_trace.h): at both
// ends the same ones, because both count them. Rare steps (retransmissions, NAKs, refused packets,
// errors, QP states, CM messages) are always recorded.
//
// Records are appended by fetch_add, because memory is registered while other threads run the
// engine. `step` is stored last: after a crash, a record that was not finished has step kNone.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace nerve::nic {

// In the order in which a message takes them. The numbers are part of the file format.
enum class TraceStep : std::uint8_t {
  kNone,
  kRegister,
  kDeregister,
  kCreateQp,
  kModifyQp,
  kDestroyQp,
  kCmSend,
  kCmReceive,
  kPost,
  kPostReceive,
  kDoorbell,
  kFetch,
  kPacketMade,
  kPacketSent,
  kPacketDropped,
  kPacketReceived,
  kChecked,
  kRefused,
  kPlaced,
  kDirect,
  kAckSent,
  kNakSent,
  kAckReceived,
  kNakReceived,
  kRetransmit,
  kCompletion,
  kPolled,
};
inline constexpr std::uint8_t kTraceSteps = static_cast<std::uint8_t>(TraceStep::kPolled) + 1;

// What `detail` means: its upper byte is the group, its lower byte a value of the group's enum.
enum class TraceDetail : std::uint8_t {
  kNone,
  kQpState,   // QpState
  kQpType,    // QpType
  kWcStatus,  // WcStatus
  kCm,        // the index of the wire::CmMessage
  kRefusal,   // TraceRefusal
  kCause,     // TraceCause
  kSyndrome,  // of an AETH
};

enum class TraceRefusal : std::uint8_t {
  kNoReceive,
  kInvalidRequest,
  kMtuMismatch,
  kRemoteAccess,
  kRemoteOperation,
  kTooLong,
  kDropped,
  kDuplicate,
  kOutOfOrder,
  kHeld,  // out of order, and kept until the missing packet arrives
  kWrongTransport,
  kBadState,
  kWrongAddress,
  kBadPkey,
  kBadQkey,
  kInjectedLoss,
  kInjectedError,
};

// Why packets are retransmitted.
enum class TraceCause : std::uint8_t { kTimeout, kNak, kProbe, kNotReady };

template <class Value>
[[nodiscard]] constexpr std::uint16_t detail_of(TraceDetail group, Value value) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(group) << 8U |
                                    (static_cast<unsigned>(value) & 0xffU));
}

struct TraceRecord {
  static constexpr std::uint32_t kNoPsn = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kNoMessage = std::numeric_limits<std::uint32_t>::max();

  std::uint64_t at{};  // nanoseconds, by the trace's clock
  // The wr_id of a request; the address of a region; of a packet and of a connected QP, the last
  // eight bytes of the peer's GID; of a CM message, its transaction ID.
  std::uint64_t id{};
  std::uint32_t qpn{};   // zero: none, or unknown
  std::uint32_t peer{};  // the QPN at the peer; of fetch, the number of PSNs
  std::uint32_t psn{kNoPsn};
  std::uint32_t bytes{};
  std::uint32_t message{kNoMessage};  // its number among those that the QP sent, or received
  TraceStep step{};
  std::uint8_t opcode{};  // of a packet; of post, fetch and direct, a SendOp; else a WcOpcode
  std::uint16_t detail{};
};
static_assert(sizeof(TraceRecord) == 40);

// The memory of a trace, and what the driver does for it.
struct TraceRoom {
  std::span<TraceRecord> records;
  std::atomic<std::uint64_t>* count{};  // records added, including those that did not fit
  std::uint64_t (*clock)(const void* context){};
  // Makes this record writable, if possible, and returns how many are. Null: all are.
  std::uint64_t (*extend)(void* context, std::uint64_t record){};
  void* context{};
};

// What a trace counts of a QP.
struct QpTrace {
  std::uint32_t qpn{};
  bool used{};
  std::uint64_t posted{};    // send requests, up to `tail`
  std::uint32_t tail{};      // of the send queue, when `posted` was last updated
  std::uint64_t received{};  // messages
  std::uint64_t receives{};  // posted
  std::uint64_t unpolled{};  // completions that were recorded and not polled yet
};

class Trace {
 public:
  Trace(const TraceRoom& room, std::uint64_t messages)
      : room_{room},
        ready_{room.extend == nullptr ? room.records.size() : 0},
        messages_{messages} {}
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // The number of messages that each QP records in each direction.
  [[nodiscard]] std::uint64_t messages() const { return messages_; }

  // The counts of a QP; those of all SRQs have number zero. They are not in the QP, because an idle
  // one is small. Valid until the next call.
  [[nodiscard]] QpTrace& of(std::uint32_t qpn);

  void add(TraceRecord record);
  // Send requests were posted, and the engine is about to be told.
  void doorbell();
  // The packets made since the last call leave for the link.
  void packets_sent();
  [[nodiscard]] std::uint64_t count() const { return room_.count->load(std::memory_order_relaxed); }

  // A completion was recorded, and it will be recorded when it is polled.
  void completed(std::uint32_t qpn) {
    ++of(qpn).unpolled;
    ++unpolled_;
  }
  // Whether a completion of this QP that was polled now has been recorded.
  [[nodiscard]] bool polled(std::uint32_t qpn);
  // The recorded completions of this QP will not be polled: it was reset.
  void drop_unpolled(std::uint32_t qpn) { unpolled_ -= std::exchange(of(qpn).unpolled, 0); }
  [[nodiscard]] bool awaits_polls() const { return unpolled_ > 0; }

  // Nothing is recorded from now on, and the room is not touched: it belongs to another process.
  void stop() { stopped_ = true; }

 private:
  [[nodiscard]] bool writable(std::uint64_t record);
  [[nodiscard]] QpTrace& slot_for(std::uint32_t qpn);

  TraceRoom room_;
  std::atomic<std::uint64_t> ready_;  // records that may be written
  std::uint64_t messages_;
  TraceRecord last_post_{};   // not yet followed by a doorbell
  std::uint64_t sent_{};      // records before this one are of packets that were sent
  std::vector<QpTrace> qps_;  // a hash table with open addressing; its size is a power of two
  std::size_t known_{};       // QPs in it
  std::uint64_t unpolled_{};  // completions, of all QPs
  bool stopped_{};
};

}  // namespace nerve::nic
