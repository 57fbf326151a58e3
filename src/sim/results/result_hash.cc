// hash_of: SipHash of each word, keyed with the hash of the words before it.
#include <bit>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/siphash.h"
#include "sim/results/fields.h"

namespace nerve::sim {
namespace {

class Hasher {
 public:
  template <class T>
  void operator()(const char*, const T& value) {
    add(value);
  }
  // The first version called the unit "octets". Its hashes remain valid.
  void operator()(const char* name, const std::string& value) {
    add(name == std::string_view{"unit"} && value == "bytes" ? "octets" : value);
  }
  template <class T>
  void aside(const char*, const T&) {}
  template <class T>
  void later(const char* name, const T& value) {
    if (value == T{}) return;
    // Several of these may be absent, so each says which it is. The first one did not have to.
    if (name != std::string_view{"watchdog_trips"}) add(std::string{name});
    add(value);
  }
  template <class T>
  void comment(const char*, const T&) {}
  void unless_empty(const char*, const std::string& value) {
    if (!value.empty()) add(value);
  }

  [[nodiscard]] std::uint64_t hash() const { return state_; }

 private:
  void word(std::uint64_t value) { state_ = siphash({state_, kKey}, value); }

  template <class T>
  void add(const T& value) {
    if constexpr (std::is_integral_v<T>) {
      word(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_same_v<T, double>) {
      word(value == 0 ? 0 : std::bit_cast<std::uint64_t>(value));  // -0 is 0
    } else {
      each_field(value, *this);
    }
  }
  void add(Time value) { word(value.picoseconds()); }
  void add(Duration value) { word(static_cast<std::uint64_t>(value.count())); }
  // Packs eight bytes into a word by value, independent of the byte order of the machine.
  void add(const std::string& text) {
    word(text.size());
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      bytes = bytes << 8U | static_cast<unsigned char>(text[i]);
      if (i % 8 == 7 || i + 1 == text.size()) word(std::exchange(bytes, 0));
    }
  }
  template <class T>
  void add(const std::vector<T>& values) {
    word(values.size());
    for (const T& value : values) add(value);
  }

  static constexpr std::uint64_t kKey = 0x6e65'7276'6520'7369;
  std::uint64_t state_{};
};

}  // namespace

std::uint64_t hash_of(const RunResult& result) {
  Hasher hasher;
  each_field(result, hasher);
  return hasher.hash();
}

}  // namespace nerve::sim
