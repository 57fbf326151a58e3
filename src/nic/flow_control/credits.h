// End-to-end flow control of RC (IBTA vol. 1, 9.7.7.2): a responder advertises in each ACK how many
// receives it has posted, and a requester holds back the messages that would find none.
//
// Messages are counted on a ring of 2^24: the requester numbers them from 1 (SSN), the responder
// reports how many it has completed (MSN). A limit (LSN) of MSN + credits means that messages up to
// that number find a receive. Only messages that consume a receive (SEND, WRITE with immediate) are
// limited.
#pragma once

#include <cstdint>

#include "nic/config.h"

namespace nerve::nic {

enum class CreditVerdict : std::uint8_t {
  kSend,
  // The message just past the limit: its first packet may be sent with an ACK request, and no other
  // packet of it before the answer. Without this, a lost credit update would stall the QP forever.
  kProbe,
  kWait,
};

class SendCredits {
 public:
  // Handles the MSN and credit code of an ACK; an ACK older than an earlier one is ignored.
  void on_ack(std::uint32_t msn, std::uint8_t code);
  // Whether the message with this number may be sent.
  [[nodiscard]] CreditVerdict verdict(std::uint32_t ssn) const;

  [[nodiscard]] bool limited() const { return limited_; }
  // The last message that may be sent; only while limited().
  [[nodiscard]] std::uint32_t limit() const { return limit_; }
  void reset() { *this = {}; }

 private:
  std::uint32_t limit_{};
  std::uint32_t newest_msn_{};
  bool heard_{};    // an ACK was received, so newest_msn_ is valid
  bool limited_{};  // false until the peer advertises credits
};

// The credit code for a responder's ACKs. Receives of a shared queue are not reserved for a QP, so
// a QP with an SRQ advertises no credits (IBTA 9.7.7.2).
[[nodiscard]] std::uint8_t announced_credits(const FlowControlConfig& config, bool shared_receives,
                                             std::uint32_t posted_receives);

}  // namespace nerve::nic
