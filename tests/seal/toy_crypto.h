// Cryptography that protects nothing and notices misuse: deterministic, and strict about nonces.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "seal/crypto.h"

namespace nerve::seal {

// What happened with each key, shared by all toys of a test.
struct ToyLedger {
  std::map<std::uint64_t, std::set<Nonce>> sealed_with;  // by key
  std::vector<std::string> violations;
};

class ToyCrypto final : public Crypto {
 public:
  ToyCrypto(std::uint64_t seed, ToyLedger& ledger) : random_{seed}, ledger_{ledger} {}

  std::unique_ptr<Cipher> make_cipher(Suite suite, Bytes key) override;
  HashValue hash(Bytes in) override;
  HashValue authenticate(Bytes key, Bytes in) override;
  void fill_random(MutableBytes out) override;
  PublicKey public_key(const ExchangeKey& own) override;
  bool exchange(const ExchangeKey& own, const PublicKey& peer, ExchangeKey& result) override;

 private:
  Prng random_;
  ToyLedger& ledger_;
};

}  // namespace nerve::seal
