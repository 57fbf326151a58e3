#include "sim/workload/flow_book.h"

#include "base/check.h"

namespace nerve::sim {

void FlowBook::send(std::uint32_t number, std::uint32_t from, std::uint32_t to,
                    std::uint64_t bytes) {
  const std::uint32_t ranks = context_.ranks();
  const bool stored = to >= ranks;
  FlowResult& flow = flows_[number];
  flow = {.from = from,
          .to = to,
          .bytes = bytes,
          .start = context_.messenger.now(),
          .end = {},
          .ideal = stored ? lines_.alone_to_storage(from, to - ranks, bytes)
                          : lines_.alone(from, to, bytes)};
  flow.end = flow.start;
  context_.messenger.send({.from = context_.places[from],
                           .to = stored ? context_.storage[to - ranks] : context_.places[to],
                           .bytes = bytes,
                           .on_front_end = on_front_end_,
                           .token = {context_.number, from, number},
                           .own_connection = own_connections_});
}

void FlowBook::delivered(const Token& token) {
  CHECK(token.argument < flows_.size());
  FlowResult& flow = flows_[token.argument];
  flow.end = context_.messenger.now();
  last_ = flow.end;
  ++delivered_;
  bytes_delivered_ += flow.bytes;
}

void FlowBook::add_to(JobResult& result) const {
  result.done = all_delivered();
  result.bytes_moved = bytes_delivered_;
  result.flows.reserve(delivered_);
  for (const FlowResult& flow : flows_) {
    if (flow.end != flow.start) result.flows.push_back(flow);
  }
  if (result.done) {
    result.end = last_;
  } else if (result.trouble.empty()) {
    result.trouble =
        std::to_string(delivered_) + " of " + std::to_string(flows_.size()) + " flows have arrived";
  }
}

}  // namespace nerve::sim
