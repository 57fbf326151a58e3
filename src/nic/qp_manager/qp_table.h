// QPs by handle and by number. The GSI QP is number 1; the others count up from the configured
// first one, and a number rests as long as possible before it is given out again.
#pragma once

#include "base/slot_table.h"
#include "nic/config.h"
#include "nic/qp_manager/qp.h"

namespace nerve::nic {

inline constexpr Qpn kGsiQpn{1};

class QpTable {
 public:
  explicit QpTable(const NicConfig& config)
      : table_{config.limits.max_qp}, first_{config.first_qpn.value()} {}

  [[nodiscard]] bool full() const { return table_.full(); }
  [[nodiscard]] bool has_gsi() const { return static_cast<bool>(gsi_); }
  [[nodiscard]] std::uint32_t size() const { return table_.size(); }

  Qp& make(QpType type) {
    auto [handle, qp] = table_.emplace();
    qp.handle = handle;
    qp.type = type;
    qp.qpn = Qpn{first_ + handle.index};
    if (type == QpType::kGsi) {
      qp.qpn = kGsiQpn;
      gsi_ = handle;
    }
    return qp;
  }
  void erase(Qp& qp) {
    if (qp.handle == gsi_) gsi_ = {};
    table_.erase(qp.handle);
  }

  [[nodiscard]] Qp* find(QpHandle handle) { return table_.find(handle); }
  [[nodiscard]] Qp* find(Qpn qpn) {
    if (qpn == kGsiQpn) return table_.find(gsi_);
    if (qpn.value() < first_) return nullptr;
    Qp* qp = table_.at(qpn.value() - first_);
    return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
  }

 private:
  SlotTable<Qp> table_;
  std::uint32_t first_;
  QpHandle gsi_{};
};

}  // namespace nerve::nic
