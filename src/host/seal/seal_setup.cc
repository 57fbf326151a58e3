#include "host/seal/seal_setup.h"

#include "host/diagnostics/log.h"
#include "host/seal/libcrypto.h"

namespace nerve::host {
namespace {

std::shared_ptr<KeyLog> open_key_log(const std::string& path) {
  auto opened = KeyLog::open(path);
  if (!opened) {
    log(LogLevel::kError, "keys are not written: %s", opened.error().c_str());
    return nullptr;
  }
  log(LogLevel::kWarn,
      "the keys of sealed QPs are written to %s (seal_key_log): who reads it can read their "
      "packets",
      path.c_str());
  return *std::move(opened);
}

}  // namespace

std::shared_ptr<const SealSetup> SealSetup::make(const SealPolicy& policy,
                                                 std::vector<seal::Suite> suites,
                                                 const std::string& key_file,
                                                 const std::string& key_log) {
  if (!policy.any()) return nullptr;
  auto setup = std::make_shared<SealSetup>();
  setup->policy = policy;
  setup->suites = std::move(suites);
  auto keys = key_file.empty() ? Result<SealKeys, std::string>{Unexpected{std::string{
                                     "no file with keys is given; set seal_key (NERVE_SEAL_KEY)"}}}
                               : SealKeys::read(key_file);
  const auto library = Libcrypto::load();
  if (!keys || !library) {
    log(LogLevel::kError, "nothing can be sealed: %s",
        (keys ? library.error() : keys.error()).c_str());
    return setup;
  }
  setup->keys = make_secret<SealKeys>(setup->memory, *std::move(keys));
  setup->crypto = *library;
  if (!key_log.empty()) setup->key_log = open_key_log(key_log);
  return setup;
}

}  // namespace nerve::host
