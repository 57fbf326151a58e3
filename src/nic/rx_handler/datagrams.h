// Reception of UD, GSI and multicast datagrams.
#pragma once

#include <vector>

#include "nic/counters.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/error.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp.h"
#include "nic/rx_handler/receives.h"
#include "nic/wqe_engine/completion_unit.h"
#include "wire/frame.h"

namespace nerve::nic {

// The QPs attached to each multicast group.
class MulticastGroups {
 public:
  explicit MulticastGroups(const Limits& limits) : limits_{limits} {}

  Status attach(Qp& qp, const wire::Gid& group);
  Status detach(Qp& qp, const wire::Gid& group);
  void forget(Qp& qp);
  [[nodiscard]] std::vector<wire::Gid> list() const;
  // Null when no QP is attached.
  [[nodiscard]] const std::vector<Qp*>* members(const wire::Gid& group) const;

 private:
  struct Group {
    wire::Gid gid;
    std::vector<Qp*> members;
  };
  const Limits& limits_;
  std::vector<Group> groups_;
};

class Datagrams {
 public:
  Datagrams(Core& core, Receives& receives, CompletionUnit& completions)
      : core_{core}, receives_{receives}, completions_{completions} {}

  void on_datagram(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info,
                   std::uint16_t pkey_index);

 private:
  Core& core_;
  Receives& receives_;
  CompletionUnit& completions_;
};

}  // namespace nerve::nic
