// `nerve doctor`: checks the cryptographic library, and the keys if QPs are to be sealed.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <vector>

#include "base/cpu.h"
#include "cli/finding.h"
#include "host/config/config.h"
#include "host/seal/key_file.h"
#include "host/seal/libcrypto.h"

namespace nerve::cli {
namespace {

// An error of ours is "what is wrong; how to fix it".
Finding problem(Verdict verdict, std::string name, const std::string& error) {
  const std::size_t end = error.rfind("; ");
  if (end == std::string::npos) return {verdict, std::move(name), error, ""};
  return {verdict, std::move(name), error.substr(0, end), error.substr(end + 2)};
}

// Bytes per second of one core that seals packets of 4 KB; zero if the library cannot.
double sealing_speed(seal::Crypto& crypto, seal::Suite suite) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongEnough = std::chrono::milliseconds{3};
  constexpr int kPackets = 64;  // between two looks at the clock
  std::array<std::byte, 32> key{};
  const auto cipher = crypto.make_cipher(suite, Bytes{key}.first(seal::key_size(suite)));
  if (cipher == nullptr) return 0;
  std::vector<std::byte> packet(4096);
  std::array<std::byte, seal::kTagSize> tag{};
  seal::Nonce nonce{};
  const Clock::time_point start = Clock::now();
  Clock::duration passed{};
  std::uint64_t sealed = 0;
  while (passed < kLongEnough) {
    for (int i = 0; i < kPackets; ++i) {
      store_be<8>(nonce, 0, sealed++);
      cipher->begin_sealing(nonce, {});
      cipher->add(packet, packet);
      if (!cipher->finish_sealing(tag)) return 0;
    }
    passed = Clock::now() - start;
  }
  return static_cast<double>(sealed * packet.size()) /
         std::chrono::duration<double>(passed).count();
}

std::string suites_text(const std::vector<seal::Suite>& suites) {
  std::string text;
  for (const seal::Suite suite : suites) {
    text += (text.empty() ? "" : ", ") + host::name_of(suite);
  }
  return text;
}

Finding library(const host::Config& config) {
  const std::string name = "libcrypto";
  const auto crypto = host::Libcrypto::load();
  if (!crypto) {
    return problem(config.seal.any() ? Verdict::kMissing : Verdict::kNote, name, crypto.error());
  }
  return {Verdict::kOk, name,
          fmt::format("{}; the CPU has {}AES instructions; aes128-gcm seals {:.1f} GB/s in packets "
                      "of 4 KB; offered: {}",
                      host::Libcrypto::version(), cpu_features().aes ? "" : "no ",
                      sealing_speed(**crypto, seal::Suite::kAes128Gcm) / 1e9,
                      suites_text(config.seal_suites)),
          ""};
}

const char* text_of(host::SealMode mode) {
  switch (mode) {
    case host::SealMode::kOff:
      return "off";
    case host::SealMode::kPrefer:
      return "prefer";
    case host::SealMode::kRequire:
      break;
  }
  return "require";
}

// A shared key is also for peers that the file does not name.
std::string kind_of(const host::SealKeys& keys) {
  const wire::Gid nobody{};
  return keys.for_peer(nobody) ? "a key that all hosts have" : "a key pair";
}

Finding sealing(const host::Config& config) {
  const std::string name = "sealing";
  if (!config.seal.any()) return {Verdict::kOk, name, "off: packets are not encrypted", ""};
  std::string mode = text_of(config.seal.mode);
  if (const std::size_t networks = config.seal.networks.size(); networks > 0) {
    mode += fmt::format(", and {} networks of their own", networks);
  }
  if (config.seal_key.empty()) {
    return {Verdict::kMissing, name, mode + "; no file with keys is given",
            "nerve key ~/.nerve-key, then set seal_key (NERVE_SEAL_KEY) on all hosts"};
  }
  const auto keys = host::SealKeys::read(config.seal_key);
  if (!keys) return problem(Verdict::kMissing, name, mode + "; " + keys.error());
  return {
      Verdict::kOk, name,
      fmt::format("{}; {}: {}, only its owner can read it", mode, config.seal_key, kind_of(*keys)),
      ""};
}

Finding key_log(const host::Config& config) {
  return {Verdict::kNote, "key log",
          fmt::format("the keys of sealed QPs are written to {}: who reads it can read their "
                      "packets",
                      config.seal_key_log),
          "unset seal_key_log (NERVE_SEAL_KEY_LOG) when the captures are done"};
}

}  // namespace

void examine_seal(Findings& findings) {
  const host::Config config = host::load_process_config();
  findings.push_back(library(config));
  findings.push_back(sealing(config));
  if (config.seal.any() && !config.seal_key_log.empty()) findings.push_back(key_log(config));
}

}  // namespace nerve::cli
