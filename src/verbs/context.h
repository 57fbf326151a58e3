// An open device: the table of calls that programs make through it, its adapter, and its
// asynchronous events.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>

#include "host/adapter.h"
#include "host/runtime/event_queue.h"
#include "nic/error.h"
#include "verbs/api.h"
#include "verbs/device.h"
#include "verbs/exports.h"
#include "verbs/live_objects.h"

namespace nerve::verbs {

struct AsyncEvent {
  ibv_event_type type{};
  void* element{};            // the CQ, QP or SRQ; null for the port
  std::uint32_t* reported{};  // how many of its events the program has fetched
};

struct VerbsContext;

// Receives the events of the port and of the device.
struct PortEvents final : host::EventTarget {
  explicit PortEvents(VerbsContext& context) : owner{context} {}
  void on_event(const nic::Event& event) override;
  VerbsContext& owner;
};

struct VerbsContext {
  verbs_context face{};
  VerbsDevice* device{};
  std::shared_ptr<host::Adapter> adapter;
  std::shared_ptr<Exports> exports;  // shared with contexts imported from this one
  host::EventQueue<AsyncEvent> async;
  PortEvents port_events{*this};
};

// Destroys the engine objects that the program left behind, as a kernel does when a device is
// closed.
void destroy_leftovers(VerbsContext& context);

inline VerbsContext& ours(ibv_context* context) {
  return *reinterpret_cast<VerbsContext*>(reinterpret_cast<std::byte*>(context) -
                                          offsetof(verbs_context, context));
}

using Session = host::Adapter::Session;

// A session to query the device; no other shard waits for it.
[[nodiscard]] inline Session query(host::Adapter& adapter) {
  return Session{adapter, Session::For::kControl};
}

inline constexpr std::uint8_t kPort = 1;

[[nodiscard]] ibv_event_type event_type(nic::EventKind kind);

// Fills the table of `face` (calls.cc).
void set_calls(verbs_context& face);

// Returns the errno of an engine error, sets errno, and logs it at debug level.
[[nodiscard]] int refused(ibv_context* context, const nic::Error& error);
[[nodiscard]] int refused(const ibv_qp& qp, const nic::Error& error);

// For calls that return an errno: returns it and sets errno.
inline int fail(int error) {
  errno = error;
  return error;
}

// For calls that return a pointer: returns null and sets errno.
inline std::nullptr_t none(int error) {
  errno = error;
  return nullptr;
}

}  // namespace nerve::verbs
