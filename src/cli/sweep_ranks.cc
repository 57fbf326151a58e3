#include "cli/sweep_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <thread>

#include "cli/file_bytes.h"
#include "cli/interrupt.h"
#include "cli/run_ledger.h"
#include "cli/sweep_plan.h"

namespace nerve::cli {
namespace {

using Clock = RunLedger::Clock;
using sim::Packed;
using sim::Packer;
using sim::Unpacker;

constexpr std::chrono::milliseconds kTick{20};
constexpr std::chrono::seconds kBetweenSigns{1};

// To rank zero: kAlive, kDone. From it: kAlive, kRun, kStop.
enum class Kind : std::uint8_t { kAlive, kDone, kRun, kStop };

struct Head {
  Kind kind{};
  bool well{};              // kDone; kStop: nobody is missing
  std::uint64_t number{};   // of the run
  std::uint64_t room{};     // kAlive: runs that could be begun
  std::uint64_t at_once{};  // kAlive
  std::uint64_t running{};  // kAlive
  std::uint64_t events{};   // kAlive
};

Packed packed(const Head& head, std::string_view text = {}) {
  Packed message;
  Packer to{message};
  to.put(head);
  to.put_text(text);
  return message;
}

// The child processes of a rank. Their results lie in a folder of their own until they are sent.
class Workshop {
 public:
  explicit Workshop(const Hands& hands) : hands_{hands}, pool_{kMostCells, hands.at_once} {
    std::string name = (std::filesystem::temp_directory_path() / "nerve-sweep-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~Workshop() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  [[nodiscard]] std::size_t room() const {
    if (!pool_.usable() || folder_.empty() || pool_.running() > hands_.at_once) return 0;
    return hands_.at_once - pool_.running();
  }
  [[nodiscard]] const SweepPool& pool() const { return pool_; }
  void start(std::size_t number, const std::string& description) {
    pool_.start(number, [this, &description](std::size_t run, RunStatus& status) {
      return hands_.work(description, file_of(run), status);
    });
  }
  // True if one has ended.
  template <class Report>
  bool reap(Report report) {
    return pool_.reap([&](std::size_t number, const Done& done) {
      if (!done.well) return report(number, done, std::string{});
      const FileBytes file = read_bytes(file_of(number));
      std::error_code ignored;
      std::filesystem::remove(file_of(number), ignored);
      if (!file.error.empty()) return report(number, Done{false, file.error}, std::string{});
      report(number, done,
             std::string{reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
    });
  }

 private:
  [[nodiscard]] std::string file_of(std::size_t number) const {
    return fmt::format("{}/{}.json", folder_, number);
  }

  const Hands& hands_;
  std::string folder_;
  SweepPool pool_;
};

class Leader {
 public:
  Leader(MpiRanks& ranks, const SharedSweep& sweep, const Hands& hands)
      : ranks_{ranks},
        sweep_{sweep},
        hands_{hands},
        shop_{hands},
        ledger_{sweep.runs, ranks.count(), Clock::now()},
        others_(ranks.count()) {}

  SweepEnd run() {
    while (!ledger_.all_done()) {
      if (interrupted()) return SweepEnd::kInterrupted;
      if (!listen()) return SweepEnd::kFailed;
      while (shop_.room() > 0) {
        const auto number = ledger_.take(0);
        if (!number) break;
        shop_.start(*number, sweep_.describe(*number));
      }
      bury();
      const bool ended = shop_.reap([&](std::size_t number, const Done& done,
                                        const std::string& result) { end(number, done, result); });
      tick();
      if (!ended) std::this_thread::sleep_for(kTick);
    }
    return SweepEnd::kComplete;
  }

  ~Leader() {
    const bool all_heard = std::ranges::all_of(std::span{others_}.subspan(1), &Other::heard);
    const bool well = all_heard && !ledger_.anyone_dead();
    for (std::uint32_t i = 1; i < others_.size(); ++i) {
      ranks_.send(i, packed({.kind = Kind::kStop, .well = well}));
    }
    if (!well) ranks_.leave();
  }
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

 private:
  struct Other {
    Head last{};  // what it said
    bool heard{};
  };

  bool listen() {
    Packed message;
    while (const auto from = ranks_.poll(message)) {
      Unpacker content{message};
      const Head head = content.take<Head>();
      const std::string text = content.take_text();
      ledger_.heard_of(*from, Clock::now());
      if (head.kind == Kind::kDone) end(head.number, {head.well, head.well ? "" : text}, text);
      if (head.kind != Kind::kAlive) continue;
      if (text != hands_.program) {
        fmt::print(stderr, "nerve sweep: rank {} runs another build of nerve-sim\n", *from);
        return false;
      }
      others_[*from] = {head, true};
      for (std::uint64_t i = 0; i < head.room; ++i) hand_out(*from);
    }
    return true;
  }
  // What was handed out a moment ago is not in the room that the rank spoke of.
  void hand_out(std::uint32_t rank) {
    if (ledger_.held_by(rank) >= others_[rank].last.at_once) return;
    if (const auto number = ledger_.take(rank)) {
      ranks_.send(rank, packed({.kind = Kind::kRun, .number = *number}, sweep_.describe(*number)));
    }
  }
  void end(std::size_t number, const Done& done, const std::string& result) {
    if (ledger_.done(number)) sweep_.on_done(number, done, result);
  }
  void bury() {
    const bool before = ledger_.anyone_dead();
    for (const std::size_t number : ledger_.bury(Clock::now())) {
      sweep_.on_done(number, {false, "the ranks that ran it died"}, "");
    }
    if (before || !ledger_.anyone_dead()) return;
    fmt::print(stderr, "nerve sweep: a rank has died; others do its runs again\n");
  }
  void tick() {
    if (Clock::now() - said_ >= kBetweenSigns) {
      said_ = Clock::now();
      for (std::uint32_t i = 1; i < others_.size(); ++i) {
        if (ledger_.is_alive(i)) ranks_.send(i, packed({.kind = Kind::kAlive}));
      }
    }
    std::size_t running = shop_.pool().running();
    std::uint64_t events = shop_.pool().events();
    for (std::uint32_t i = 1; i < others_.size(); ++i) {
      running += ledger_.is_alive(i) ? others_[i].last.running : 0;
      events += others_[i].last.events;
    }
    sweep_.on_tick(sweep_.runs.size() - ledger_.left(), running, events);
  }

  MpiRanks& ranks_;
  const SharedSweep& sweep_;
  const Hands& hands_;
  Workshop shop_;
  RunLedger ledger_;
  std::vector<Other> others_;
  Clock::time_point said_{};
};

}  // namespace

SweepEnd lead_sweep(MpiRanks& ranks, const SharedSweep& sweep, const Hands& hands) {
  return Leader{ranks, sweep, hands}.run();
}

// It begins by saying how many runs it has room for.
bool serve_sweep(MpiRanks& ranks, const Hands& hands) {
  Workshop shop{hands};
  Clock::time_point said{};
  Clock::time_point heard = Clock::now();
  for (Packed message;;) {
    while (ranks.poll(message)) {
      Unpacker content{message};
      const Head head = content.take<Head>();
      heard = Clock::now();
      if (head.kind == Kind::kRun) shop.start(head.number, content.take_text());
      if (head.kind != Kind::kStop) continue;
      if (!head.well) ranks.leave();
      return true;
    }
    if (Clock::now() - heard > 3 * RunLedger::kSilence) {
      ranks.leave();
      return false;
    }
    const bool ended =
        shop.reap([&](std::size_t number, const Done& done, const std::string& result) {
          ranks.send(0, packed({.kind = Kind::kDone, .well = done.well, .number = number},
                               done.well ? result : done.why));
        });
    if (ended || Clock::now() - said >= kBetweenSigns) {
      said = Clock::now();
      ranks.send(0, packed({.kind = Kind::kAlive,
                            .room = shop.room(),
                            .at_once = hands.at_once,
                            .running = shop.pool().running(),
                            .events = shop.pool().events()},
                           hands.program));
    }
    if (!ended) std::this_thread::sleep_for(kTick);
  }
}

}  // namespace nerve::cli
