// Requests that a program builds call by call, between ibv_wr_start and ibv_wr_complete.
//
// They are staged until complete, because ibv_wr_abort must leave no trace. Room for a whole send
// queue is reserved when the QP is created; its pages are allocated when first touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "nic/attributes.h"
#include "nic/work.h"

namespace nerve::verbs {

class Staging {
 public:
  // Null if there is not enough memory.
  static std::unique_ptr<Staging> create(const nic::QpCaps& caps);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Held from ibv_wr_start until complete or abort.
  std::mutex lock;

  void start() {
    count_ = 0;
    error_ = 0;
  }

  // Returns the next request, cleared, or a spare one if there is no room; the error is reported at
  // the end.
  nic::SendWr& add();
  // The request that was added last, which setters modify.
  [[nodiscard]] nic::SendWr& last() { return count_ > 0 ? requests_[count_ - 1] : spare_; }

  void set_sge(const nic::Sge& sge) { (void)set_list(&sge, 1); }
  void set_list(const nic::Sge* list, std::size_t count);
  void begin_inline();
  void add_inline(const void* from, std::size_t length);

  void fail(int error) {
    if (error_ == 0) error_ = error;
  }
  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] std::span<const nic::SendWr> requests() const { return {requests_, count_}; }

 private:
  explicit Staging(const nic::QpCaps& caps) : caps_{caps} {}

  [[nodiscard]] std::size_t at() const { return count_ > 0 ? count_ - 1 : 0; }

  nic::QpCaps caps_;
  std::size_t stride_{1};  // list entries reserved for each request
  nic::SendWr* requests_{};
  nic::Sge* lists_{};
  std::byte* inline_{};
  std::size_t count_{};
  std::size_t inline_used_{};  // of the last request
  int error_{};
  nic::SendWr spare_{};
};

}  // namespace nerve::verbs
