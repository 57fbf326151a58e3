#include "host/steering.h"

#include <algorithm>
#include <map>
#include <utility>

#include "host/peers/ask_all.h"
#include "host/peers/membership.h"

namespace nerve::host {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Call {
  Descriptor connection;
  std::size_t orders{};
};

// An invalid connection if nobody of ours has the slot.
Call begin_call(std::uint32_t slot, std::span<const SteeringOrder> orders) {
  Descriptor connection = call(name_of_slot(slot));
  const bool sent = connection && own_peer(connection.get()) &&
                    send_message(connection.get(), encode_orders(orders), {});
  return {.connection = sent ? std::move(connection) : Descriptor{}, .orders = orders.size()};
}

}  // namespace

FlowsOfHost list_flows(milliseconds patience) {
  FlowsOfHost host;
  const Asked asked = ask_all(0, RequestKind::kFlows, patience, [&](Message& answer) {
    const auto flows = read_flows(answer);
    if (flows) host.flows.insert(host.flows.end(), flows->begin(), flows->end());
    host.complete = host.complete && flows;
    return false;
  });
  host.complete = host.complete && asked == Asked::kNobody;
  std::ranges::sort(host.flows, {}, [](const FlowReport& flow) { return flow.qpn.value(); });
  return host;
}

SteeringResult steer(std::span<const SteeringOrder> orders, milliseconds patience) {
  std::map<std::uint32_t, std::vector<SteeringOrder>> by_slot;
  for (const SteeringOrder& order : orders) by_slot[slot_of(order.qpn)].push_back(order);
  // All requests before the first answer: processes that are stopped cost one timeout together.
  std::vector<Call> calls;
  for (const auto& [slot, all] : by_slot) {
    for (std::size_t at = 0; at < all.size(); at += kMostOrders) {
      const std::size_t count = std::min(kMostOrders, all.size() - at);
      calls.push_back(begin_call(slot, std::span{all}.subspan(at, count)));
    }
  }
  const auto give_up = Clock::now() + patience;
  SteeringResult sum;
  for (const Call& open : calls) {
    const auto left =
        std::max(std::chrono::ceil<milliseconds>(give_up - Clock::now()), milliseconds{0});
    const auto answer =
        open.connection ? receive_message(open.connection.get(), left) : std::nullopt;
    const auto result = answer ? decode_result(answer->bytes) : std::nullopt;
    sum.redirected += result ? result->redirected : 0;
    sum.refused += result ? result->refused : open.orders;
  }
  return sum;
}

}  // namespace nerve::host
