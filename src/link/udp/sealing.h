// Which packets are sealed on their way (docs/wire-seal.md). Asked for each run of frames to one
// QP, and for each sealed packet that arrives.
#pragma once

#include "base/ids.h"
#include "seal/sealer.h"
#include "wire/frame.h"

namespace nerve::link {

class Sealing {
 public:
  virtual ~Sealing() = default;

  struct Way {
    bool may_send{true};
    seal::Sealer* sealer{};  // null: as they are
  };
  [[nodiscard]] virtual Way way_of(const wire::Flow& flow, const wire::Bth& bth) = 0;
  // What opens this packet. Null if its keys are not ours.
  [[nodiscard]] virtual seal::Opener* opener_of(const wire::Flow& flow, Bytes packet) = 0;
};

}  // namespace nerve::link
