#include "host/peers/statistics_keeper.h"

#include <unistd.h>

#include <chrono>
#include <string>

#include "host/peers/greeting.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {

std::optional<StatisticsKeeper> StatisticsKeeper::make() {
  // The table first, so that every request can be answered.
  auto statistics = Statistics::open();
  if (!statistics) return std::nullopt;
  Descriptor listener = hold_name(keeper_prefix() + std::to_string(::getpid()));
  if (!listener || !listen_to_calls(listener.get())) return std::nullopt;
  statistics->handed_on();
  return StatisticsKeeper{std::move(listener), std::move(statistics)};
}

void StatisticsKeeper::answer() {
  constexpr std::chrono::milliseconds kPatience{20};
  constexpr int kMost = 16;  // then whatever else its owner has to do
  for (int calls = 0; calls < kMost; ++calls) {
    const Descriptor connection = accept_from(listener_.get());
    if (!connection) return;
    if (!own_peer(connection.get())) continue;
    const auto message = receive_message(connection.get(), kPatience);
    const auto request = message ? Request::decode(message->bytes) : std::nullopt;
    if (!request || request->kind != RequestKind::kStatistics) continue;
    const int descriptor = statistics_->descriptor();
    (void)send_message(connection.get(), encode_answer(), std::span{&descriptor, 1});
  }
}

}  // namespace nerve::host
