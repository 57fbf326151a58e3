// The model of one posted work request: its effect, and the statuses it may complete with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/work.h"
#include "tests/dst/memory_model.h"

namespace nerve::dst {

// A range of a host's memory.
struct Range {
  std::size_t offset{};
  std::size_t length{};
};

// A word that several QPs increment concurrently, so that none can predict it.
struct SharedCounter {
  MemoryModel* memory{};
  std::size_t offset{};
  std::uint64_t first{};
  std::uint64_t certain{};                // additions that were acknowledged
  std::uint64_t possible{};               // additions that may have happened, at most once
  std::vector<std::uint64_t> returned{};  // the previous values that the acknowledged ones returned
};

class ReceiveModel;

struct Request {
  std::uint64_t wr_id{};
  nic::SendOp op{};
  bool signaled{};
  // SEND and WRITE: what must arrive. READ and atomics: what must be returned.
  std::vector<std::byte> message{};
  std::vector<Patch> remote{};       // bytes of the peer that it replaces
  std::vector<Patch> local{};        // own bytes that it fills
  std::vector<Range> scratch{};      // sources that the application reuses after completion
  const ReceiveModel* takes_from{};  // the peer's queue whose receive it consumes
  bool solicited{};
  std::uint32_t immediate{};
  RKey invalidate{};
  SharedCounter* counter{};
  Range reads_from{};                   // READ: the range in the peer's memory
  std::optional<std::size_t> window{};  // of the peer (target) or own (bind), by index
  bool uses_desk{};                     // uses own memory that may be deregistered meanwhile
  // Built to fail: the only status it may have (besides those caused by the network).
  nic::WcStatus must_be{nic::WcStatus::kSuccess};
  bool confirmed{};
};

struct Receive {
  std::uint64_t wr_id{};
  std::vector<Range> ranges{};
  std::size_t capacity{};
  bool bad{};  // its keys are wrong: no byte can be placed there
};

[[nodiscard]] constexpr bool carries_payload(nic::SendOp op) {
  using nic::SendOp;
  return op == SendOp::kSend || op == SendOp::kSendImm || op == SendOp::kSendInvalidate ||
         op == SendOp::kWrite || op == SendOp::kWriteImm;
}
[[nodiscard]] constexpr bool has_immediate(nic::SendOp op) {
  return op == nic::SendOp::kSendImm || op == nic::SendOp::kWriteImm;
}
[[nodiscard]] nic::WcOpcode completion_opcode(nic::SendOp op);
[[nodiscard]] const char* name_of(nic::SendOp op);
[[nodiscard]] const char* name_of(nic::WcStatus status);

}  // namespace nerve::dst
