// The objects that sibling engines share (nic.h): memory, CQs, SRQs, address handles and XRC
// domains.
#pragma once

#include "base/slot_table.h"
#include "nic/config.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_context/address_handle.h"
#include "nic/qp_context/srq.h"

namespace nerve::nic {

struct SharedObjects {
  SharedObjects(const NicConfig& config, const NicHooks& hooks)
      : dma{config.limits, config.key_secret, hooks.direct_path, hooks.pager, hooks.late_memory},
        cqs{config.limits.max_cq},
        srqs{config.limits.max_srq},
        addresses{config.limits.max_ah},
        xrcds{config.limits.max_xrcd} {}

  DmaEngine dma;
  SlotTable<Cq> cqs;
  SlotTable<Srq> srqs;
  SlotTable<AddressHandle> addresses;
  SlotTable<XrcDomain> xrcds;
};

}  // namespace nerve::nic
