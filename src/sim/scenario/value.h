// One value of a scenario file: read into a Spec, or described for the reference.
//
// A key is one line of code: `v.rate(network.nic_rate)`. With a node, the call reads the value and
// reports errors. Without a node, it records what the key takes and its default. Both come from the
// same call, so the reference matches the reader.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rate.h"
#include "base/time.h"
#include "sim/scenario/document.h"

namespace nerve::sim::scenario_file {

// The errors of a file in the order found. Stops at a limit, so that the list fits a screen.
class Errors {
 public:
  explicit Errors(std::string file) : file_{std::move(file)} {}

  void add(const Node& where, std::string key, std::string message);
  [[nodiscard]] bool none() const { return errors_.empty(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::vector<ScenarioError> take() { return std::move(errors_); }

 private:
  static constexpr std::size_t kMost = 50;
  std::string file_;
  std::vector<ScenarioError> errors_;
};

// What a key takes and its default, as text for the reference.
struct KeyWords {
  std::string takes;
  std::string fallback;
};

template <class T>
struct Named {
  std::string_view name;
  T value;
};

class Value {
 public:
  Value(const Node& node, std::string key, Errors& errors)
      : node_{&node}, key_{std::move(key)}, errors_{&errors} {}
  explicit Value(KeyWords& words) : words_{&words} {}

  void text(std::string& where);
  // A file name, relative to the scenario unless it is absolute.
  void file(std::string& where);
  void on_off(bool& where);
  void number(double& where, double least, double most);
  void bytes(std::uint64_t& where, std::uint64_t least, std::uint64_t most = kMostBytes);
  void bytes(std::uint32_t& where, std::uint32_t least, std::uint32_t most);
  void time(Duration& where, Duration least, Duration most);
  void power(double& watts, double least, double most);
  void rate(Rate& where) { any_rate(where, kLeastRate); }
  // Zero is allowed and has a special meaning.
  void rate_or_zero(Rate& where) { any_rate(where, Rate{}); }

  template <class T>
  void count(T& where, std::uint64_t least, std::uint64_t most = std::numeric_limits<T>::max()) {
    std::uint64_t value = where;
    any_count(value, least, most);
    where = static_cast<T>(value);
  }
  // One of several numbers.
  void count_among(std::uint32_t& where, std::span<const std::uint32_t> all);
  // A fraction, stored as a number of 1/parts_of_one.
  void parts(std::uint32_t& where, std::uint32_t parts_of_one, double least, double most);

  // One of several words.
  template <class T, std::size_t N>
  void word(T& where, const Named<T> (&names)[N]) {
    std::vector<std::string_view> all;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < N; ++i) {
      all.push_back(names[i].name);
      if (names[i].value == where) chosen = i;
    }
    where = names[any_word(all, chosen)].value;
  }

  // A list of values that `read_one(value, element)` reads; a single value is a list of one. No
  // element may occur twice.
  template <class T, class Read>
  void list(std::vector<T>& where, Read read_one) {
    if (describes()) {
      T first = where.empty() ? T{} : where.front();
      read_one(*this, first);
      words_->takes = "one or several of: " + words_->takes;
      return;
    }
    std::vector<T> all;
    for (std::size_t i = 0; i < elements(); ++i) {
      Value one{element(i), key_ + "." + std::to_string(i), *errors_};
      T read{};
      read_one(one, read);
      for (const T& before : all) {
        if (before == read) one.wrong("is in the list twice");
      }
      all.push_back(read);
    }
    if (!all.empty()) where = std::move(all);
  }

  void wrong(std::string message);

  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50U;
  static constexpr Rate kLeastRate = Rate::megabits(1);
  static constexpr Rate kMostRate = Rate::gigabits(100'000);

 private:
  [[nodiscard]] bool describes() const { return words_ != nullptr; }
  void describe(std::string takes, std::string fallback);
  void refuse(const std::string& takes);
  [[nodiscard]] std::size_t elements();  // zero, after an error, if there are none or too many
  [[nodiscard]] const Node& element(std::size_t i) const;
  void any_count(std::uint64_t& where, std::uint64_t least, std::uint64_t most);
  void any_rate(Rate& where, Rate least);
  [[nodiscard]] std::size_t any_word(std::span<const std::string_view> all, std::size_t chosen);
  // The text of an amount with a unit. Empty if the value is not one; the error has been reported.
  [[nodiscard]] std::string_view amount(const std::string& takes, std::string_view example);

  const Node* node_{};
  std::string key_;
  Errors* errors_{};
  KeyWords* words_{};
};

// `"emcp" is not known; did you mean "ecmp"? (ecmp, spray, flowlet, adaptive, valiant,
// controlled)`
[[nodiscard]] std::string not_known(std::string_view word, std::span<const std::string_view> all);

}  // namespace nerve::sim::scenario_file
