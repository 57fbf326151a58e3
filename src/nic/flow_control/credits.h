// End-to-end flow control of RC (IBTA vol. 1, 9.7.7.2): a responder tells in each ACK how many
// receives it has posted, and a requester holds back the messages that would find none.
//
// Messages are counted on a ring of 2^24: the requester numbers them from 1 (SSN), the responder
// tells how many it has completed (MSN). A limit (LSN) of MSN + credits means that messages up to
// that number find a receive. Only messages that consume one (SEND, WRITE with immediate) ask.
#pragma once

#include <cstdint>

#include "nic/config.h"

namespace nerve::nic {

enum class CreditVerdict : std::uint8_t {
  kSend,
  // The one message just past the limit: its first packet may go, with an ACK requested, and no
  // other packet of it until the answer. Without it a lost credit update would be the end.
  kProbe,
  kWait,
};

class SendCredits {
 public:
  // What an ACK with this MSN and credit code tells; an ACK older than another one tells nothing.
  void on_ack(std::uint32_t msn, std::uint8_t code);
  // May the message with this number leave?
  [[nodiscard]] CreditVerdict verdict(std::uint32_t ssn) const;

  [[nodiscard]] bool limited() const { return limited_; }
  // The last message that may leave; only while limited().
  [[nodiscard]] std::uint32_t limit() const { return limit_; }
  void reset() { *this = {}; }

 private:
  std::uint32_t limit_{};
  std::uint32_t newest_msn_{};
  bool heard_{};    // an ACK came, so newest_msn_ means something
  bool limited_{};  // false until the peer announces a number
};

// The code a responder puts in its ACKs. Receives of a shared queue are promised to nobody, so a
// QP on an SRQ announces nothing (IBTA 9.7.7.2).
[[nodiscard]] std::uint8_t announced_credits(const FlowControlConfig& config, bool shared_receives,
                                             std::uint32_t posted_receives);

}  // namespace nerve::nic
