// All programs that are connected to the copier.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "copier/client.h"

namespace nerve::copier {

class Clients {
 public:
  // Not zero, and different for each copier that ever runs on this host.
  explicit Clients(std::uint64_t identity) : identity_{identity} {}

  [[nodiscard]] std::uint64_t identity() const { return identity_; }

  void add(std::shared_ptr<Client> client) {
    const std::scoped_lock guard{guard_};
    all_.push_back(std::move(client));
  }
  void remove(const Client& gone) {
    const std::scoped_lock guard{guard_};
    std::erase_if(all_, [&](const std::shared_ptr<Client>& one) { return one.get() == &gone; });
  }
  [[nodiscard]] std::vector<std::shared_ptr<Client>> all() const {
    const std::scoped_lock guard{guard_};
    return all_;
  }

 private:
  const std::uint64_t identity_;
  mutable std::mutex guard_;
  std::vector<std::shared_ptr<Client>> all_;
};

}  // namespace nerve::copier
