// Finds QPs by handle and by number. The GSI QP has number 1. The others are numbered round robin
// in the configured range, from a configured start, so that a number is reused only after all
// others. A peer that still has a connection with a reused number would reject a new one
// (12.9.8.3.1). A packet needs no more than the addresses of two peers and a QPN to reach a QP, so
// a host has the numbers follow each other in a secret order (NicConfig::scatter_numbers).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/secret_order.h"
#include "base/slot_table.h"
#include "nic/config.h"
#include "nic/qp_context/qp.h"

namespace nerve::nic {

inline constexpr Qpn kGsiQpn{1};

class QpTable {
 public:
  explicit QpTable(const NicConfig& config)
      : first_{config.first_qpn.value()},
        count_{config.limits.max_qp},
        table_{config.limits.max_qp},
        next_{config.begin_qpns_at % std::max(config.limits.max_qp, 1U)} {
    if (!config.scatter_numbers || count_ == 0) return;
    order_ = std::make_unique<SecretOrder>(config.key_secret, kOrderOfQpns, count_);
  }

  [[nodiscard]] bool full() const { return table_.full(); }
  [[nodiscard]] bool has_gsi() const { return static_cast<bool>(gsi_); }
  [[nodiscard]] std::uint32_t size() const { return table_.size(); }

  Qp& make(QpType type) {
    auto [handle, qp] = table_.emplace();
    qp.handle = handle;
    qp.type = type;
    if (type == QpType::kGsi) {
      qp.qpn = kGsiQpn;
      gsi_ = handle;
    } else {
      qp.qpn = Qpn{first_ + take_number(handle.index)};
    }
    return qp;
  }
  void erase(Qp& qp) {
    if (qp.handle == gsi_) {
      gsi_ = {};
    } else {
      at_[qp.qpn.value() - first_] = 0;
    }
    table_.erase(qp.handle);
  }

  template <class F>
  void for_each(F visit) {
    table_.for_each(visit);
  }
  template <class F>
  std::optional<std::uint32_t> for_some(std::uint32_t from, std::uint32_t places, F visit) {
    return table_.for_some(from, places, visit);
  }

  // For prefetching: where the QP of a number that counts up is, if there is one.
  [[nodiscard]] const Qp* place_of(Qpn qpn) const { return table_.place_of(qpn.value() - first_); }
  void fetch_way_to(Qpn qpn) const { table_.fetch_way_to(qpn.value() - first_); }

  [[nodiscard]] Qp* find(QpHandle handle) { return table_.find(handle); }
  [[nodiscard]] Qp* find(Qpn qpn) {
    if (qpn == kGsiQpn) return table_.find(gsi_);
    const std::uint32_t number = qpn.value() - first_;
    // Numbers that count up are those of the slots, until they are used again.
    if (Qp* const qp = table_.at(number); qp != nullptr && qp->qpn == qpn) return qp;
    if (qpn.value() < first_ || number >= at_.size() || at_[number] == 0) return nullptr;
    return table_.at(at_[number] - 1);
  }

 private:
  // There is a free number: each QP has at most one, and there are as many numbers as slots.
  std::uint32_t take_number(std::uint32_t index) {
    std::uint32_t number = next_number();
    while (number < at_.size() && at_[number] != 0) number = next_number();
    if (number >= at_.size()) at_.resize(number + 1);
    at_[number] = index + 1;
    return number;
  }
  std::uint32_t next_number() {
    const std::uint32_t position = next_;
    next_ = (next_ + 1) % count_;
    return order_ ? (*order_)[position] : position;
  }

  std::uint32_t first_;
  std::uint32_t count_;
  SlotTable<Qp> table_;
  std::uint32_t next_;
  std::unique_ptr<SecretOrder> order_;  // null: they count up
  std::vector<std::uint32_t> at_;       // by number: the index in the table plus one, or zero
  QpHandle gsi_{};
};

}  // namespace nerve::nic
