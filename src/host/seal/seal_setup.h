// The settings of sealing, its keys and its library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/seal/key_file.h"
#include "host/seal/key_log.h"
#include "host/seal/policy.h"
#include "host/seal/secret_memory.h"
#include "seal/crypto.h"

namespace nerve::host {

// What all shards of a process share.
struct SealSetup {
  SealPolicy policy;
  std::vector<seal::Suite> suites;
  seal::Crypto* crypto{};           // null: nothing can be sealed
  SecretMemory memory;              // of `keys`
  SecretPtr<SealKeys> keys;         // null if `crypto` is
  std::shared_ptr<KeyLog> key_log;  // null: keys are not written

  // Null if the policy seals nothing. Problems are logged: then packets that must be sealed are
  // dropped.
  [[nodiscard]] static std::shared_ptr<const SealSetup> make(const SealPolicy& policy,
                                                             std::vector<seal::Suite> suites,
                                                             const std::string& key_file,
                                                             const std::string& key_log);
};

}  // namespace nerve::host
