// The registry of this process's live verbs objects.
//
// A kernel identifies objects by number and returns ENOENT or EINVAL for one that does not exist.
// Here a program passes pointers, so the slow paths (create, destroy, modify, query, register) ask
// this registry before they dereference one. For an object that was destroyed, or whose handle or
// context the program has overwritten, they return the kernel's error. Posting, polling and arming
// do not check.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <vector>

#include "verbs/api.h"

namespace nerve::verbs {

enum class ObjectKind : std::uint8_t {
  kContext,
  kPd,
  kTd,
  kMr,
  kMw,
  kDm,
  kCq,
  kChannel,
  kSrq,
  kXrcd,
  kAh,
  kQp,
};

constexpr ObjectKind kind_of(const ibv_pd*) { return ObjectKind::kPd; }
constexpr ObjectKind kind_of(const ibv_td*) { return ObjectKind::kTd; }
constexpr ObjectKind kind_of(const ibv_mr*) { return ObjectKind::kMr; }
constexpr ObjectKind kind_of(const ibv_mw*) { return ObjectKind::kMw; }
constexpr ObjectKind kind_of(const ibv_dm*) { return ObjectKind::kDm; }
constexpr ObjectKind kind_of(const ibv_cq*) { return ObjectKind::kCq; }
constexpr ObjectKind kind_of(const ibv_comp_channel*) { return ObjectKind::kChannel; }
constexpr ObjectKind kind_of(const ibv_srq*) { return ObjectKind::kSrq; }
constexpr ObjectKind kind_of(const ibv_xrcd*) { return ObjectKind::kXrcd; }
constexpr ObjectKind kind_of(const ibv_ah*) { return ObjectKind::kAh; }
constexpr ObjectKind kind_of(const ibv_qp*) { return ObjectKind::kQp; }

// The identity of an object when it was created. The program can overwrite its own copy of these
// fields.
struct LiveObject {
  void* object{};  // the structure that the program sees
  ObjectKind kind{};
  const ibv_context* context{};
  std::uint32_t handle{};  // zero for kinds without a handle
};

void add_live(const LiveObject& object);
void remove_live(const void* object);
[[nodiscard]] std::optional<LiveObject> find_live(const void* object);
// Removes and returns all objects of a context, including the context.
std::vector<LiveObject> remove_live_of(const ibv_context* context);

// Frees the memory of a destroyed object after some more objects have been destroyed: the inline
// functions of verbs.h read an object's context before they call us, and that must not crash if a
// program destroys an object twice.
void free_later(void* object, void (*free)(void*));

template <class Object>
constexpr std::uint32_t handle_of(const Object& object) {
  if constexpr (requires { object.handle; }) return object.handle;
  return 0;
}

// `object` is complete: its context and handle do not change any more.
template <class Object>
void add_live(Object& object) {
  add_live({&object, kind_of(&object), object.context, handle_of(object)});
}

// Returns zero, or the errno of an object that cannot be used: ENOENT if it does not exist or its
// handle was changed, EINVAL if it is of another kind or its context was changed.
template <class Object>
[[nodiscard]] int check_live(const Object* object) {
  const auto known = find_live(object);
  if (!known) return ENOENT;
  if (known->kind != kind_of(object) || known->context != object->context) return EINVAL;
  return known->handle == handle_of(*object) ? 0 : ENOENT;
}

[[nodiscard]] inline int check_live(const ibv_context* context) {
  const auto known = find_live(context);
  return known && known->kind == ObjectKind::kContext ? 0 : EINVAL;
}

// Checks all objects and returns the first error.
template <class First, class Second, class... More>
[[nodiscard]] int check_live(const First* first, const Second* second, const More*... more) {
  const int error = check_live(first);
  return error != 0 ? error : check_live(second, more...);
}

// For optional members.
template <class Object>
[[nodiscard]] int check_live_or_null(const Object* object) {
  return object == nullptr ? 0 : check_live(object);
}

template <class Verbs>
void free_later(Verbs& destroyed) {
  free_later(&destroyed, [](void* object) { delete static_cast<Verbs*>(object); });
}

}  // namespace nerve::verbs
