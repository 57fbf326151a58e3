// Everything that two processes do to each other in one world. Both compute it from the seed, so
// that each knows its own right completions and memory.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/bad_days/worlds/memory.h"
#include "tests/bad_days/worlds/settings.h"

namespace worlds {

enum class Op : std::uint8_t {
  kSend,
  kSendImm,
  kSendInvalidate,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kBind,
  kLocalInvalidate,
};
[[nodiscard]] const char* name_of(Op op);

// A part of the requester's own memory.
struct Piece {
  std::size_t at{};
  std::size_t length{};
};

// Bytes of the peer's memory that a request writes.
struct Patch {
  std::size_t at{};
  Bytes after;
};

// The remote target of a request: a region, or a window.
struct Target {
  Zone zone{Zone::kOpen};
  std::optional<std::size_t> window{};
  bool region{};  // the QP's own region
  std::size_t at{};
  std::uint32_t spoil_key{};  // xored to the key
};

struct Request {
  Op op{};
  bool signaled{};
  bool fenced{};
  bool solicited{};
  bool inlined{};
  bool reuses_source{};  // the program overwrites the source as soon as the request has completed
  bool counts{};         // a FETCH_ADD on the counter that all QPs of a side share
  bool consumes_receive{};
  std::vector<Piece> pieces{};
  Bytes message{};  // its payload; for a READ or an atomic, the result
  Target target{};
  std::optional<Patch> remote{};
  std::uint64_t compare_or_add{};
  std::uint64_t swap{};
  std::uint32_t immediate{};
  std::uint32_t after_receives{};  // of this QP and side, before it may be posted
  std::uint32_t pause_us{};        // before it is posted
  std::uint32_t spoil_lkey{};
  std::uint32_t spoil_qkey{};  // such a datagram must not arrive
  ibv_wc_status must_be{IBV_WC_SUCCESS};

  [[nodiscard]] bool brings_back() const {
    return op == Op::kRead || op == Op::kCompareSwap || op == Op::kFetchAdd;
  }
};

// A window on a range of its owner's open zone.
struct Window {
  std::size_t side{};
  bool type_1{};  // otherwise type 2
  std::size_t at{};
  std::size_t length{};
};

struct Receive {
  std::vector<Piece> pieces;
  std::uint32_t delay_us{};  // after the previous receive
};

struct ReceiveQueue {
  std::uint32_t depth{};
  std::size_t capacity{};  // of each receive
  std::uint32_t max_sge{};
  bool late{};
  std::vector<Receive> receives;
};

struct EndPlan {
  std::vector<Request> requests;
  bool one_by_one{};  // each request waits for the previous one, which the direct path needs
  bool shared_receives{};
  ReceiveQueue receives;        // if they are not shared
  std::optional<Piece> region;  // of the open zone, registered again for this QP alone
};

// How a QP ends early.
enum class Blow : std::uint8_t {
  kNone,
  kBadRequest,  // the request at its place must fail
  kError,       // its program moves it to ERR
  kReset,
  kDestroy,
  kDeregister,  // its program deregisters the QP's own region and reuses the memory
};

struct QpPlan {
  ibv_qp_type type{};
  ibv_mtu mtu{};
  std::uint32_t depth{};
  std::uint32_t max_sge{};
  std::uint32_t max_inline{};
  std::uint8_t read_depth{};
  std::uint8_t timeout{};
  std::uint8_t rnr_timer{};
  bool signal_all{};
  bool wr_calls{};  // posts with ibv_wr_* instead of ibv_post_send
  bool pauses{};    // its send queue is stopped for a while (SQD)
  std::size_t gid_index{};
  std::array<std::uint32_t, 2> psn{};
  std::array<EndPlan, 2> ends;
  Blow blow{};
  std::size_t blow_side{};
  std::size_t blow_at{};  // when this many requests of that side have been posted
  bool reregisters{};     // instead of deregistering: the key remains, the rights are removed
  bool peer_waits{};      // for its own timers, instead of moving its QP to ERR

  [[nodiscard]] bool reliable() const { return type == IBV_QPT_RC; }
};

enum class CqLayout : std::uint8_t { kOne, kOnePerQp, kOnePerQueue };

struct SidePlan {
  bool events{};  // sleeps until a completion event; otherwise it polls
  CqLayout cqs{};
  bool extended_cqs{};  // polled with ibv_start_poll
  bool resizes_cqs{};
  std::uint16_t moderation_count{};  // completions per event; zero: no moderation
  std::uint16_t moderation_us{};
  int poll_batch{};
  bool other_iova{};         // regions have other addresses than their memory
  ReceiveQueue shared;       // an SRQ; none if it has no receives
  std::size_t counter_at{};  // in the memory of this side
};

struct World {
  std::uint64_t seed{};
  Settings settings;
  std::vector<QpPlan> qps;
  std::array<SidePlan, 2> sides;
  std::vector<Window> windows;
  std::vector<Memory> memories;
};

[[nodiscard]] World draw_world(std::uint64_t seed, const Settings& settings);
[[nodiscard]] std::size_t bytes_of(ibv_mtu mtu);

}  // namespace worlds
