// The global record of a world of connection managers: which host asked which, and what was
// answered. All private data begins with an index into it, so that each message identifies what it
// belongs to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/prng.h"
#include "base/time.h"
#include "wire/cm_codes.h"

namespace nerve::dst {

using Words = std::vector<std::byte>;

// A connect() or resolve().
struct CmAttempt {
  std::size_t from{};
  std::size_t to{};
  bool resolves{};
  bool served{};  // there is a listener
  Qpn qpn{};
  Words words{};
  std::optional<wire::CommId> comm_id{};
  bool unheard{};                        // destroyed or given up: answers may be rejected
  std::optional<std::size_t> replied{};  // the answer reported to the active side
  bool confirmed{};
  bool left{};                     // one of the programs has disconnected or destroyed it
  std::uint32_t requests_alive{};  // at the passive side
};

// An accept(), reject() or resolved().
struct CmAnswer {
  std::size_t attempt{};
  bool accepts{};
  Qpn qpn{};
  Words words{};
};

class CmLedger {
 public:
  explicit CmLedger(std::uint64_t seed) : prng_{seed} {}

  std::size_t add(CmAttempt attempt, std::size_t room) {
    attempt.words = words(attempts_.size(), room);
    attempts_.push_back(std::move(attempt));
    return attempts_.size() - 1;
  }
  std::size_t add(CmAnswer answer, std::size_t room) {
    answer.words = words(answers_.size(), room);
    answers_.push_back(std::move(answer));
    return answers_.size() - 1;
  }
  [[nodiscard]] CmAttempt& attempt(std::size_t number) { return attempts_.at(number); }
  [[nodiscard]] CmAnswer& answer(std::size_t number) { return answers_.at(number); }
  [[nodiscard]] const std::vector<CmAttempt>& attempts() const { return attempts_; }

  // The attempt or answer this is; nullopt when it was corrupted in flight.
  [[nodiscard]] std::optional<std::size_t> attempt_of(Bytes data) const {
    return number_of(data, attempts_);
  }
  [[nodiscard]] std::optional<std::size_t> answer_of(Bytes data) const {
    return number_of(data, answers_);
  }

 private:
  Words words(std::size_t number, std::size_t room) {
    Words all(prng_.between(8, room));
    for (std::byte& b : all) b = static_cast<std::byte>(prng_.next());
    store_be<8>(all, 0, number);
    return all;
  }
  template <class Entry>
  static std::optional<std::size_t> number_of(Bytes data, const std::vector<Entry>& book) {
    const std::size_t number = load_be<8>(data, 0);
    if (number >= book.size()) return std::nullopt;
    const Words& said = book[number].words;
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    if (!std::equal(said.begin(), said.end(), data.begin())) return std::nullopt;
    if (!std::ranges::all_of(data.subspan(said.size()), is_zero)) return std::nullopt;
    return number;
  }

  Prng prng_;
  std::vector<CmAttempt> attempts_;
  std::vector<CmAnswer> answers_;
};

}  // namespace nerve::dst
