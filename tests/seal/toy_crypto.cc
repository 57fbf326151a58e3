#include "tests/seal/toy_crypto.h"

#include <algorithm>

#include "base/siphash.h"

namespace nerve::seal {
namespace {

class Digest {
 public:
  explicit Digest(std::uint64_t key) : state_{siphash({key, ~key}, 0)} {}
  void add(Bytes in) {
    for (const std::byte b : in) state_ = siphash({state_, 1}, std::to_integer<std::uint64_t>(b));
    state_ = siphash({state_, 2}, in.size());
  }
  [[nodiscard]] std::uint64_t value(std::uint64_t which = 0) const {
    return siphash({state_, 3}, which);
  }

 private:
  std::uint64_t state_;
};

std::uint64_t digest(std::uint64_t key, Bytes in) {
  Digest sum{key};
  sum.add(in);
  return sum.value();
}

HashValue spread(const Digest& sum) {
  HashValue value{};
  for (std::size_t i = 0; i < value.size() / 8; ++i) store_be<8>(value, 8 * i, sum.value(i));
  return value;
}

class ToyCipher final : public Cipher {
 public:
  ToyCipher(std::uint64_t key, ToyLedger& ledger) : key_{key}, ledger_{ledger} {}

  void begin_sealing(const Nonce& nonce, Bytes associated) override {
    if (!ledger_.sealed_with[key_].insert(nonce).second) {
      ledger_.violations.emplace_back("a nonce was used twice with one key");
    }
    begin(nonce, associated);
    opens_ = false;
  }
  void begin_opening(const Nonce& nonce, Bytes associated) override {
    begin(nonce, associated);
    opens_ = true;
  }
  void add(Bytes in, MutableBytes out) override {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::byte before = in[i];
      out[i] = before ^ static_cast<std::byte>(siphash({key_, stream_}, at_++));
      const std::byte text = opens_ ? before : out[i];
      sum_.add({&text, 1});
    }
  }
  bool finish_sealing(std::span<std::byte, kTagSize> tag) override {
    std::ranges::copy(Bytes{spread(sum_)}.first(kTagSize), tag.begin());
    return true;
  }
  bool finish_opening(std::span<const std::byte, kTagSize> tag) override {
    return std::ranges::equal(Bytes{spread(sum_)}.first(kTagSize), tag);
  }

 private:
  void begin(const Nonce& nonce, Bytes associated) {
    stream_ = digest(key_, nonce);
    sum_ = Digest{stream_};
    sum_.add(associated);
    at_ = 0;
  }

  std::uint64_t key_;
  ToyLedger& ledger_;
  bool opens_{};
  std::uint64_t stream_{};
  std::uint64_t at_{};
  Digest sum_{0};
};

// Diffie-Hellman modulo a prime of 31 bits.
constexpr std::uint64_t kPrime = (std::uint64_t{1} << 31U) - 1;

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result = result * base % kPrime;
    base = base * base % kPrime;
  }
  return result;
}

}  // namespace

std::unique_ptr<Cipher> ToyCrypto::make_cipher(Suite suite, Bytes key) {
  return std::make_unique<ToyCipher>(digest(static_cast<std::uint64_t>(suite), key), ledger_);
}

HashValue ToyCrypto::hash(Bytes in) {
  Digest sum{0};
  sum.add(in);
  return spread(sum);
}

HashValue ToyCrypto::authenticate(Bytes key, Bytes in) {
  Digest sum{1};
  sum.add(key);
  sum.add(in);
  return spread(sum);
}

void ToyCrypto::fill_random(MutableBytes out) {
  for (std::byte& b : out) b = static_cast<std::byte>(random_.next());
}

PublicKey ToyCrypto::public_key(const ExchangeKey& own) {
  PublicKey key{};
  store_be<8>(key, 0, power(7, load_be<8>(own.bytes(), 0)));
  return key;
}

bool ToyCrypto::exchange(const ExchangeKey& own, const PublicKey& peer, ExchangeKey& result) {
  const std::uint64_t value = power(load_be<8>(peer, 0) % kPrime, load_be<8>(own.bytes(), 0));
  store_be<8>(result.bytes(), 0, value);
  return value != 0;
}

}  // namespace nerve::seal
