// The state of a QP that uses late memory (base/late_memory.h): what it holds back until its writes
// have landed, which is completions of receives and READs, and answers to the peer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/late_memory.h"
#include "nic/work.h"

namespace nerve::nic {

struct Cq;
struct Qp;

struct Landing {
  using Ticket = LateMemory::Ticket;

  Landing(Qp& qp, std::uint32_t number) : owner{qp}, life{number} {}

  Qp& owner;
  const std::uint32_t life;  // unique in the engine; with a position, it identifies a message
  ListHook<Landing> hook;    // linked while the QP waits for memory

  // The QP's writes are among those after `settled` up to `last`. Equal: all have landed.
  Ticket settled{};
  Ticket last{};

  struct HeldCompletion {
    Ticket last{};  // of the writes that it waits for
    Cq* cq{};
    Completion completion{};
    bool solicited{};
  };
  std::deque<HeldCompletion> held;  // oldest first

  // The state of the responder that the next ACK reports, which is older than the current one
  // while writes keep coming.
  struct HeldAck {
    Ticket last{};
    Psn psn{};
    std::uint32_t msn{};
  };
  std::optional<HeldAck> ack;

  // The writes before the newest READ, atomic or FLUSH, whose answer acknowledges them.
  Ticket before_answer{};

  // The newest of our requests that was copied by the direct path: a request that is sent as
  // packets waits for it.
  Ticket direct{};

  bool fetching{};  // the next request packet waits for memory

  // The peer's first packet whose bytes may not have landed: the one to NAK if they never do.
  Psn first{};

  void wrote(std::uint32_t writes, Ticket now, Psn psn) {
    if (settled == last) {
      settled = now - writes;
      first = psn;
    }
    last = now;
  }
};

}  // namespace nerve::nic
