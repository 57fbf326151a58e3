#include "host/seal/libcrypto.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/planted.h"

namespace nerve::host {
namespace {

constexpr const char* kFile = "libcrypto.so.3";

// The functions that are used, under their own names.
struct Functions {
  decltype(&::EVP_CIPHER_CTX_new) EVP_CIPHER_CTX_new{};
  decltype(&::EVP_CIPHER_CTX_free) EVP_CIPHER_CTX_free{};
  decltype(&::EVP_CIPHER_CTX_ctrl) EVP_CIPHER_CTX_ctrl{};
  decltype(&::EVP_CipherInit_ex) EVP_CipherInit_ex{};
  decltype(&::EVP_CipherUpdate) EVP_CipherUpdate{};
  decltype(&::EVP_CipherFinal_ex) EVP_CipherFinal_ex{};
  decltype(&::EVP_aes_128_gcm) EVP_aes_128_gcm{};
  decltype(&::EVP_aes_256_gcm) EVP_aes_256_gcm{};
  decltype(&::EVP_chacha20_poly1305) EVP_chacha20_poly1305{};
  decltype(&::EVP_sha256) EVP_sha256{};
  decltype(&::EVP_Digest) EVP_Digest{};
  decltype(&::HMAC) HMAC{};
  decltype(&::RAND_priv_bytes) RAND_priv_bytes{};
  decltype(&::EVP_PKEY_new_raw_private_key) EVP_PKEY_new_raw_private_key{};
  decltype(&::EVP_PKEY_new_raw_public_key) EVP_PKEY_new_raw_public_key{};
  decltype(&::EVP_PKEY_get_raw_public_key) EVP_PKEY_get_raw_public_key{};
  decltype(&::EVP_PKEY_free) EVP_PKEY_free{};
  decltype(&::EVP_PKEY_CTX_new) EVP_PKEY_CTX_new{};
  decltype(&::EVP_PKEY_CTX_free) EVP_PKEY_CTX_free{};
  decltype(&::EVP_PKEY_derive_init) EVP_PKEY_derive_init{};
  decltype(&::EVP_PKEY_derive_set_peer) EVP_PKEY_derive_set_peer{};
  decltype(&::EVP_PKEY_derive) EVP_PKEY_derive{};
  decltype(&::OPENSSL_init_crypto) OPENSSL_init_crypto{};
  decltype(&::OpenSSL_version) OpenSSL_version{};

  // The name of one that the library does not have; null if it has them all.
  const char* find(void* library) {
    const char* missing = nullptr;
    const auto look_up = [&]<class Function>(const char* name, Function& into) {
      into = reinterpret_cast<Function>(::dlsym(library, name));
      if (into == nullptr) missing = name;
    };
    look_up("EVP_CIPHER_CTX_new", EVP_CIPHER_CTX_new);
    look_up("EVP_CIPHER_CTX_free", EVP_CIPHER_CTX_free);
    look_up("EVP_CIPHER_CTX_ctrl", EVP_CIPHER_CTX_ctrl);
    look_up("EVP_CipherInit_ex", EVP_CipherInit_ex);
    look_up("EVP_CipherUpdate", EVP_CipherUpdate);
    look_up("EVP_CipherFinal_ex", EVP_CipherFinal_ex);
    look_up("EVP_aes_128_gcm", EVP_aes_128_gcm);
    look_up("EVP_aes_256_gcm", EVP_aes_256_gcm);
    look_up("EVP_chacha20_poly1305", EVP_chacha20_poly1305);
    look_up("EVP_sha256", EVP_sha256);
    look_up("EVP_Digest", EVP_Digest);
    look_up("HMAC", HMAC);
    look_up("RAND_priv_bytes", RAND_priv_bytes);
    look_up("EVP_PKEY_new_raw_private_key", EVP_PKEY_new_raw_private_key);
    look_up("EVP_PKEY_new_raw_public_key", EVP_PKEY_new_raw_public_key);
    look_up("EVP_PKEY_get_raw_public_key", EVP_PKEY_get_raw_public_key);
    look_up("EVP_PKEY_free", EVP_PKEY_free);
    look_up("EVP_PKEY_CTX_new", EVP_PKEY_CTX_new);
    look_up("EVP_PKEY_CTX_free", EVP_PKEY_CTX_free);
    look_up("EVP_PKEY_derive_init", EVP_PKEY_derive_init);
    look_up("EVP_PKEY_derive_set_peer", EVP_PKEY_derive_set_peer);
    look_up("EVP_PKEY_derive", EVP_PKEY_derive);
    look_up("OPENSSL_init_crypto", OPENSSL_init_crypto);
    look_up("OpenSSL_version", OpenSSL_version);
    return missing;
  }
};

const unsigned char* input(Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* output(MutableBytes bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
int length_of(Bytes bytes) { return static_cast<int>(bytes.size()); }

class EvpCipher final : public seal::Cipher {
 public:
  EvpCipher(const Functions& evp, seal::Suite suite, Bytes key)
      : evp_{evp},
        authenticates_only_{suite == seal::Suite::kAes256Gmac},
        context_{evp.EVP_CIPHER_CTX_new()} {
    const EVP_CIPHER* const type = [&] {
      switch (suite) {
        case seal::Suite::kAes128Gcm:
          return evp.EVP_aes_128_gcm();
        case seal::Suite::kChaCha20Poly1305:
          return evp.EVP_chacha20_poly1305();
        case seal::Suite::kAes256Gcm:
        case seal::Suite::kAes256Gmac:
          break;
      }
      return evp.EVP_aes_256_gcm();
    }();
    ok_ = context_ != nullptr &&
          evp.EVP_CipherInit_ex(context_, type, nullptr, input(key), nullptr, 1) == 1;
  }
  ~EvpCipher() override { evp_.EVP_CIPHER_CTX_free(context_); }  // which erases the key
  EvpCipher(const EvpCipher&) = delete;
  EvpCipher& operator=(const EvpCipher&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }

  void begin_sealing(const seal::Nonce& nonce, Bytes associated) override {
    begin(nonce, associated, 1);
  }
  void begin_opening(const seal::Nonce& nonce, Bytes associated) override {
    begin(nonce, associated, 0);
  }

  void add(Bytes in, MutableBytes out) override {
    if (in.empty()) return;
    int done = 0;
    if (!authenticates_only_) {
      ok_ =
          evp_.EVP_CipherUpdate(context_, output(out), &done, input(in), length_of(in)) == 1 && ok_;
      return;
    }
    if (in.data() != out.data()) std::memcpy(out.data(), in.data(), in.size());
    ok_ = evp_.EVP_CipherUpdate(context_, nullptr, &done, input(out), length_of(out)) == 1 && ok_;
  }

  bool finish_sealing(std::span<std::byte, seal::kTagSize> tag) override {
    return finish() && evp_.EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG,
                                                static_cast<int>(tag.size()), tag.data()) == 1;
  }

  bool finish_opening(std::span<const std::byte, seal::kTagSize> tag) override {
    const int compared = planted(Bug::kShortTag) ? 4 : static_cast<int>(tag.size());
    auto* const expected = const_cast<std::byte*>(tag.data());  // read only
    return evp_.EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_SET_TAG, compared, expected) == 1 &&
           finish();
  }

 private:
  void begin(const seal::Nonce& nonce, Bytes associated, int seals) {
    int done = 0;
    ok_ = evp_.EVP_CipherInit_ex(context_, nullptr, nullptr, nullptr, input(nonce), seals) == 1 &&
          evp_.EVP_CipherUpdate(context_, nullptr, &done, input(associated),
                                length_of(associated)) == 1;
  }
  bool finish() {
    unsigned char none[seal::kTagSize];
    int done = 0;
    return ok_ && evp_.EVP_CipherFinal_ex(context_, none, &done) == 1;
  }

  const Functions& evp_;
  bool authenticates_only_;
  EVP_CIPHER_CTX* context_;
  bool ok_{};
};

class LoadedCrypto final : public seal::Crypto {
 public:
  explicit LoadedCrypto(const Functions& functions) : evp_{functions} {}

  std::unique_ptr<seal::Cipher> make_cipher(seal::Suite suite, Bytes key) override {
    CHECK(key.size() == seal::key_size(suite));
    auto cipher = std::make_unique<EvpCipher>(evp_, suite, key);
    if (!cipher->ok()) return nullptr;
    return cipher;
  }

  seal::HashValue hash(Bytes in) override {
    seal::HashValue value{};
    unsigned size = 0;
    CHECK(evp_.EVP_Digest(in.data(), in.size(), output(value), &size, evp_.EVP_sha256(), nullptr) ==
          1);
    return value;
  }

  seal::HashValue authenticate(Bytes key, Bytes in) override {
    seal::HashValue value{};
    unsigned size = 0;
    CHECK(evp_.HMAC(evp_.EVP_sha256(), key.data(), length_of(key), input(in), in.size(),
                    output(value), &size) != nullptr);
    return value;
  }

  void fill_random(MutableBytes out) override {
    CHECK(evp_.RAND_priv_bytes(output(out), length_of(out)) == 1);
  }

  seal::PublicKey public_key(const seal::ExchangeKey& own) override {
    seal::PublicKey key{};
    std::size_t size = key.size();
    EVP_PKEY* const pair = private_pair(own);
    CHECK(evp_.EVP_PKEY_get_raw_public_key(pair, output(key), &size) == 1);
    evp_.EVP_PKEY_free(pair);
    return key;
  }

  bool exchange(const seal::ExchangeKey& own, const seal::PublicKey& peer,
                seal::ExchangeKey& result) override {
    EVP_PKEY* const pair = private_pair(own);
    EVP_PKEY* const other =
        evp_.EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, input(peer), peer.size());
    EVP_PKEY_CTX* const context = evp_.EVP_PKEY_CTX_new(pair, nullptr);
    std::size_t size = result.bytes().size();
    const bool done = other != nullptr && context != nullptr &&
                      evp_.EVP_PKEY_derive_init(context) == 1 &&
                      evp_.EVP_PKEY_derive_set_peer(context, other) == 1 &&
                      evp_.EVP_PKEY_derive(context, output(result.bytes()), &size) == 1;
    evp_.EVP_PKEY_CTX_free(context);
    evp_.EVP_PKEY_free(other);
    evp_.EVP_PKEY_free(pair);
    return done;
  }

 private:
  EVP_PKEY* private_pair(const seal::ExchangeKey& own) {
    EVP_PKEY* const pair = evp_.EVP_PKEY_new_raw_private_key(
        EVP_PKEY_X25519, nullptr, input(own.bytes()), own.bytes().size());
    CHECK(pair != nullptr);
    return pair;
  }

  const Functions& evp_;
};

struct Loaded {
  Functions functions{};
  std::string error;
  LoadedCrypto crypto{functions};

  Loaded() {
    void* const library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      error = std::string{"sealing needs "} + kFile + ": " + ::dlerror() + "; install libssl3";
    } else if (const char* const missing = functions.find(library)) {
      error = std::string{"sealing needs "} + kFile + ": it has no " + missing +
              "; OpenSSL 3.0 or later has it";
    } else {
      // Connections end at exit, with packets that are sealed: the library must still work then.
      (void)functions.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    }
  }
};

Loaded& loaded() {
  static Loaded& once = *new Loaded;  // never destroyed: other threads may still seal at exit
  return once;
}

}  // namespace

Result<seal::Crypto*, std::string> Libcrypto::load() {
  Loaded& library = loaded();
  if (!library.error.empty()) return Unexpected{library.error};
  return static_cast<seal::Crypto*>(&library.crypto);
}

std::string Libcrypto::version() {
  Loaded& library = loaded();
  return library.error.empty() ? library.functions.OpenSSL_version(OPENSSL_VERSION) : "";
}

}  // namespace nerve::host
