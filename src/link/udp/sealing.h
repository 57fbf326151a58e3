// Which packets are sealed on their way (docs/wire-seal.md). Asked for each run of frames to one
// QP, and for each sealed packet that arrives.
#pragma once

#include "base/ids.h"
#include "seal/session.h"
#include "wire/frame.h"

namespace nerve::link {

class Sealing {
 public:
  virtual ~Sealing() = default;

  struct Way {
    bool may_send{true};
    seal::Session* session{};  // null: as they are
  };
  [[nodiscard]] virtual Way way_to(const wire::Gid& destination, Qpn qpn) = 0;
  // The session that receives this packet. Null: it is dropped.
  [[nodiscard]] virtual seal::Session* session_of(const wire::Flow& flow, Bytes packet) = 0;
};

}  // namespace nerve::link
