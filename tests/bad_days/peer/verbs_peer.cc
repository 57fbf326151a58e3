// One side of a pair that communicates over verbs and checks every byte: the program that the
// bad-days tests kill and stop.
//
// Prints `ready qpn=N` once it is connected, `beat ROUNDS MS` while it runs, and one line at the
// end:
//   end ok rounds=N      end dead status=S since_ms=T at_ms=T      end wrong|hang|refused WHAT
#include <signal.h>

#include <cstdio>

#include "tests/bad_days/peer/stream.h"

namespace {

std::atomic<bool> stop{};

void stop_soon(int /*signal*/) { stop = true; }

const char* name_of(bad_days::Outcome::Kind kind) {
  switch (kind) {
    case bad_days::Outcome::Kind::kOk:
      return "ok";
    case bad_days::Outcome::Kind::kDead:
      return "dead";
    case bad_days::Outcome::Kind::kWrong:
      return "wrong";
    case bad_days::Outcome::Kind::kHang:
      return "hang";
    case bad_days::Outcome::Kind::kRefused:
      break;
  }
  return "refused";
}

int end(const bad_days::Outcome& outcome) {
  std::printf("end %s %s\n", name_of(outcome.kind), outcome.what.c_str());
  std::fflush(stdout);
  return outcome.kind == bad_days::Outcome::Kind::kOk ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace bad_days;
  ::signal(SIGTERM, stop_soon);
  const auto options = parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
  if (!options) return 2;
  auto endpoint = Endpoint::open(*options, Stream::memory_for(*options));
  if (!endpoint) return end({Outcome::Kind::kRefused, "no endpoint"});
  Stream stream{*options, *endpoint};
  if (!stream.prepare() || !endpoint->meet()) return end({Outcome::Kind::kRefused, "no meeting"});
  std::printf("ready qpn=%u\n", endpoint->qpn());
  std::fflush(stdout);
  return end(stream.run(stop));
}
