#include "host/seal/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/toml.h"
#include "host/seal/hex.h"
#include "host/seal/policy.h"
#include "link/descriptor.h"

namespace nerve::host {
namespace {

constexpr std::size_t kLongest = 64 * 1024;

// The contents, if nobody else can read or change them.
Result<std::string, std::string> read_private(const std::string& path) {
  const link::Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return Unexpected{path + ": cannot be read: " + std::strerror(errno) +
                      "; create it with: nerve key " + path};
  }
  if (!S_ISREG(status.st_mode)) return Unexpected{path + ": not a file"};
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return Unexpected{path + ": belongs to user " + std::to_string(status.st_uid) +
                      "; a file with keys must be yours or root's"};
  }
  if ((status.st_mode & 077U) != 0) {
    return Unexpected{path + ": other users may read or change it; run: chmod 600 " + path};
  }
  if (static_cast<std::size_t>(status.st_size) > kLongest) return Unexpected{path + ": too long"};
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  return text;
}

std::optional<std::string> write_private(const std::string& path, const std::string& text) {
  const link::Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  const bool written =
      file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written) return std::nullopt;
  return path + ": cannot be created: " + std::strerror(errno) +
         (errno == EEXIST ? "; remove it first if its key is not used any more" : "");
}

// Reads a key and erases its digits.
bool take_key(toml::node& node, MutableBytes out) {
  auto* const text = node.as_string();
  if (text == nullptr) return false;
  const bool good = read_hex(text->get(), out);
  ::explicit_bzero(text->get().data(), text->get().size());
  return good;
}

}  // namespace

Result<SealKeys, std::string> SealKeys::read(const std::string& path) {
  auto text = read_private(path);
  if (!text) return Unexpected{text.error()};
  toml::parse_result parsed = toml::parse(*text, path);
  ::explicit_bzero(text->data(), text->size());
  if (!parsed) {
    return Unexpected{path + ": not TOML: " + std::string{parsed.error().description()}};
  }
  toml::table& table = parsed.table();
  const auto wrong = [&](const std::string& key) {
    return Unexpected{path + ": " + key + " must be 64 hexadecimal digits"};
  };
  SealKeys keys;
  if (toml::node* const node = table.get("psk")) {
    if (!take_key(*node, keys.preshared_.emplace().key.bytes())) return wrong("psk");
  }
  if (toml::node* const node = table.get("private")) {
    if (!take_key(*node, keys.own_.emplace().bytes())) return wrong("private");
  }
  if (toml::table* const peers = table["peers"].as_table()) {
    for (auto&& [name, node] : *peers) {
      const auto address = parse_address(name.str());
      if (!address) {
        return Unexpected{path + ": '" + std::string{name.str()} + "' is not an address"};
      }
      seal::PublicKey key{};
      if (!take_key(node, key)) {
        return wrong(std::string{name.str()});
      }
      keys.peers_.insert_or_assign(address->bytes, key);
    }
  }
  if (!keys.preshared_ && !keys.own_) {
    return Unexpected{path + ": has neither psk nor private; create one with: nerve key " + path};
  }
  return keys;
}

std::optional<seal::Credentials> SealKeys::for_peer(const wire::Gid& peer) const {
  const auto pinned = peers_.find(peer.bytes);
  if (own_ && pinned != peers_.end()) return seal::Pinned{.own = *own_, .peer = pinned->second};
  if (preshared_) return *preshared_;
  return std::nullopt;
}

std::optional<std::string> make_preshared_key(seal::Crypto& crypto, const std::string& path) {
  seal::SharedKey key;
  crypto.fill_random(key.bytes());
  return write_private(path, "psk = \"" + hex_of(key.bytes()) + "\"\n");
}

Result<std::string, std::string> make_private_key(seal::Crypto& crypto, const std::string& path) {
  seal::ExchangeKey key;
  crypto.fill_random(key.bytes());
  const auto error = write_private(path, "private = \"" + hex_of(key.bytes()) + "\"\n[peers]\n");
  if (error) return Unexpected{*error};
  return hex_of(crypto.public_key(key));
}

}  // namespace nerve::host
