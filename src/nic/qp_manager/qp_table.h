// QPs by handle and by number. The GSI QP is number 1; the others count up from the configured
// first one, beginning at the configured place and going round, and a number rests as long as
// possible before it is given out again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/slot_table.h"
#include "nic/config.h"
#include "nic/qp_manager/qp.h"

namespace nerve::nic {

inline constexpr Qpn kGsiQpn{1};

class QpTable {
 public:
  explicit QpTable(const NicConfig& config)
      : table_{config.limits.max_qp},
        first_{config.first_qpn.value()},
        count_{config.limits.max_qp},
        begin_{config.begin_qpns_at % std::max(config.limits.max_qp, 1U)} {}

  [[nodiscard]] bool full() const { return table_.full(); }
  [[nodiscard]] bool has_gsi() const { return static_cast<bool>(gsi_); }
  [[nodiscard]] std::uint32_t size() const { return table_.size(); }

  Qp& make(QpType type) {
    auto [handle, qp] = table_.emplace();
    qp.handle = handle;
    qp.type = type;
    qp.qpn = Qpn{first_ + (begin_ + handle.index) % count_};
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
    const std::uint32_t number = qpn.value() - first_;
    if (qpn.value() < first_ || number >= count_) return nullptr;
    Qp* qp = table_.at(number >= begin_ ? number - begin_ : number + count_ - begin_);
    return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
  }

 private:
  SlotTable<Qp> table_;
  std::uint32_t first_;
  std::uint32_t count_;
  std::uint32_t begin_;
  QpHandle gsi_{};
};

}  // namespace nerve::nic
