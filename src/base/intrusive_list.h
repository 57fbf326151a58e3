// A FIFO list linked through its members: inserting and removing cost a few stores and no
// allocation. A member is in at most one list per hook and must be removed before it is destroyed.
#pragma once

#include "base/check.h"

namespace nerve {

template <class T>
struct ListHook {
  T* next{};
  T* previous{};
  bool linked{};
};

template <class T, ListHook<T> T::*Hook>
class IntrusiveList {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] T* front() const { return first_; }
  [[nodiscard]] T* only() const {
    return first_ == last_ ? first_ : nullptr;
  }  // null unless there is
     // exactly one
  [[nodiscard]] static bool contains(const T& item) { return (item.*Hook).linked; }

  void push_back(T& item) {
    ListHook<T>& hook = item.*Hook;
    CHECK(!hook.linked);
    hook = {.next = nullptr, .previous = last_, .linked = true};
    if (last_ != nullptr) {
      (last_->*Hook).next = &item;
    } else {
      first_ = &item;
    }
    last_ = &item;
  }
  void remove(T& item) {
    ListHook<T>& hook = item.*Hook;
    CHECK(hook.linked);
    (hook.previous != nullptr ? (hook.previous->*Hook).next : first_) = hook.next;
    (hook.next != nullptr ? (hook.next->*Hook).previous : last_) = hook.previous;
    hook = {};
  }

 private:
  T* first_{};
  T* last_{};
};

}  // namespace nerve
