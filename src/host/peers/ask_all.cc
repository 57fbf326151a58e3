#include "host/peers/ask_all.h"

#include <poll.h>

#include <vector>

#include "host/peers/membership.h"

namespace nerve::host {
namespace {

// Returns an invalid descriptor if no process of this user has the name.
Descriptor ask(const std::string& name, const Request& request) {
  Descriptor connection = call(name);
  if (!connection || !own_peer(connection.get())) return {};
  return send_message(connection.get(), request.encode(), {}) ? std::move(connection)
                                                              : Descriptor{};
}

}  // namespace

Asked ask_all(std::uint32_t own_slot, RequestKind what, std::chrono::milliseconds patience,
              const std::function<bool(Message&)>& take) {
  std::vector<std::string> names;
  for (const std::uint32_t slot : live_slots()) {
    if (slot != own_slot) names.push_back(name_of_slot(slot));
  }
  return ask_names(names, {.kind = what, .slot = own_slot}, patience, take);
}

Asked ask_names(std::span<const std::string> names, const Request& request,
                std::chrono::milliseconds patience, const std::function<bool(Message&)>& take) {
  std::vector<Descriptor> asked;
  std::vector<pollfd> waiting;
  for (const std::string& name : names) {
    Descriptor connection = ask(name, request);
    if (!connection) continue;
    waiting.push_back({.fd = connection.get(), .events = POLLIN, .revents = 0});
    asked.push_back(std::move(connection));
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  for (std::size_t open = asked.size(); open > 0;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 ||
        ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) <= 0) {
      return Asked::kSilence;
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      auto answer = receive_message(asked[i].get(), std::chrono::milliseconds{0});
      if (answer && decode_answer(answer->bytes) && take(*answer)) return Asked::kFound;
      waiting[i] = {.fd = -1, .events = 0, .revents = 0};
      --open;
    }
  }
  return Asked::kNobody;
}

}  // namespace nerve::host
