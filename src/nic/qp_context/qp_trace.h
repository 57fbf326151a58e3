// The steps of one QP's messages, for a trace (nic/trace.h).
//
// A message is known by its number: among the send requests that were posted to the QP, or among
// the messages that it received. Only the first ones are recorded, except for rare steps.
//
// All functions are cold, so that they take no room among the instructions of an engine without a
// trace.
#pragma once

#include <cstdint>

#include "nic/qp_context/qp.h"
#include "nic/trace.h"
#include "wire/frame.h"

namespace nerve::nic {

// Whether an ordinary step is recorded: of a send request of this QP, of a message that it
// receives, of a receive that is posted to it.
[[nodiscard]] inline bool traces_sends(const Trace* trace, const Qp& qp) {
  return trace != nullptr && !qp.trace_over.sends;
}
[[nodiscard]] inline bool traces_messages(const Trace* trace, const Qp& qp) {
  return trace != nullptr && !qp.trace_over.messages;
}
[[nodiscard]] inline bool traces_receives(const Trace* trace, const Qp& qp) {
  return trace != nullptr && !qp.trace_over.receives;
}

// The last eight bytes of a GID, which tell the addresses of a trace apart.
[[nodiscard]] std::uint64_t short_address(const wire::Gid& gid);

// The request at this position was fetched, or `bytes` of it went by the direct path.
[[gnu::cold, gnu::noinline]] void trace_fetch(Trace& trace, Qp& qp, std::uint32_t position);
[[gnu::cold, gnu::noinline]] void trace_direct(Trace& trace, Qp& qp, std::uint32_t bytes);
// Data that answers the oldest request is in memory.
[[gnu::cold, gnu::noinline]] void trace_data_placed(Trace& trace, Qp& qp, const wire::Frame& frame,
                                                    std::uint32_t bytes);
// A step of the send request at this position of the queue.
[[gnu::cold, gnu::noinline]] void trace_request(Trace& trace, Qp& qp, std::uint32_t position,
                                                TraceRecord record);
// The same, whatever its number.
[[gnu::cold, gnu::noinline]] void trace_rare_request(Trace& trace, Qp& qp, std::uint32_t position,
                                                     TraceRecord record);
// A packet that was made from the request at this position; from `psn` on, `count` of them.
[[gnu::cold, gnu::noinline]] void trace_made(Trace& trace, Qp& qp, std::uint32_t position,
                                             const wire::Frame& frame, std::uint32_t count = 1);

// A step of the message that is being received.
[[gnu::cold, gnu::noinline]] void trace_message(Trace& trace, Qp& qp, TraceRecord record);
[[gnu::cold, gnu::noinline]] void trace_message(Trace& trace, Qp& qp, TraceStep step,
                                                const wire::Frame& frame);
// That message has been received.
[[gnu::cold, gnu::noinline]] void count_message(Trace& trace, Qp& qp);

// A packet has arrived for the QP. Responses belong to the requests in flight.
[[gnu::cold, gnu::noinline]] void trace_arrival(Trace& trace, Qp& qp, const wire::Frame& frame,
                                                bool is_response);
// An answer to the peer's requests was made: an ACK, a NAK or data.
[[gnu::cold, gnu::noinline]] void trace_answer(Trace& trace, Qp& qp, const wire::Frame& frame);
// The peer's answer was understood.
[[gnu::cold, gnu::noinline]] void trace_acknowledge(Trace& trace, Qp& qp, const wire::Frame& frame);
// The packet was not accepted.
[[gnu::cold, gnu::noinline]] void trace_refusal(Trace* trace, Qp& qp, const wire::Frame& frame,
                                                TraceRefusal why);
[[gnu::cold, gnu::noinline]] void trace_retransmit(Trace& trace, Qp& qp, Psn from, TraceCause why);

[[gnu::cold, gnu::noinline]] void trace_state(Trace& trace, Qp& qp, TraceStep step);
[[gnu::cold, gnu::noinline]] void trace_posts(Trace& trace, Qp& qp, std::uint32_t first);
[[gnu::cold, gnu::noinline]] void trace_completion(Trace& trace, Qp& qp,
                                                   const Completion& completion);
[[gnu::cold, gnu::noinline]] void trace_poll(Trace& trace, Qp& qp, const Completion& completion);

}  // namespace nerve::nic
