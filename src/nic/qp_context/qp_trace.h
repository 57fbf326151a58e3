// The steps of one QP's messages, for a trace (nic/trace.h).
//
// A message is known by its number: among the send requests that were posted to the QP, or among
// the messages that it received. Only the first ones are recorded, except for rare steps.
#pragma once

#include <cstdint>

#include "nic/qp_context/qp.h"
#include "nic/trace.h"
#include "wire/frame.h"

namespace nerve::nic {

// The last eight bytes of a GID, which tell the addresses of a trace apart.
[[nodiscard]] std::uint64_t short_address(const wire::Gid& gid);

// A step of the send request at this position of the queue.
void trace_request(Trace& trace, Qp& qp, std::uint32_t position, TraceRecord record);
// The same, whatever its number.
void trace_rare_request(Trace& trace, Qp& qp, std::uint32_t position, TraceRecord record);
// A packet that was made from the request at this position; from `psn` on, `count` of them.
void trace_made(Trace& trace, Qp& qp, std::uint32_t position, const wire::Frame& frame,
                std::uint32_t count = 1);

// A step of the message that is being received.
void trace_message(Trace& trace, Qp& qp, TraceRecord record);
void trace_message(Trace& trace, Qp& qp, TraceStep step, const wire::Frame& frame);
// That message has been received.
inline void count_message(Qp& qp) { ++qp.trace.received; }

// A packet has arrived for the QP. Responses belong to the requests in flight.
void trace_arrival(Trace& trace, Qp& qp, const wire::Frame& frame, bool is_response);
// An answer to the peer's requests was made: an ACK, a NAK or data.
void trace_answer(Trace& trace, Qp& qp, const wire::Frame& frame);
// The peer's answer was understood.
void trace_acknowledge(Trace& trace, Qp& qp, const wire::Frame& frame);
// The packet was not accepted.
void trace_refusal(Trace* trace, Qp& qp, const wire::Frame& frame, TraceRefusal why);
void trace_retransmit(Trace& trace, Qp& qp, Psn from, TraceCause why);

void trace_state(Trace& trace, Qp& qp, TraceStep step);
void trace_post(Trace& trace, Qp& qp, std::uint32_t position);
void trace_completion(Trace& trace, Qp& qp, const Completion& completion);
void trace_poll(Trace& trace, Qp& qp, const Completion& completion);

}  // namespace nerve::nic
