#include "host/seal/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/toml.h"
#include "host/seal/policy.h"
#include "link/descriptor.h"

namespace nerve::host {
namespace {

constexpr std::size_t kLongest = 64 * 1024;

template <std::size_t Size>
bool read_hex(std::string_view text, std::span<std::byte, Size> out) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  if (text.size() != 2 * Size) return false;
  for (std::size_t i = 0; i < Size; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

std::string hex_of(Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4U];
    text += kDigits[std::to_integer<unsigned>(b) & 0xfU];
  }
  return text;
}

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

template <std::size_t Size>
bool take_key(const toml::node_view<const toml::node>& node, std::span<std::byte, Size> out) {
  const auto* const text = node.as_string();
  return text != nullptr && read_hex(text->get(), out);
}

}  // namespace

Result<SealKeys, std::string> SealKeys::read(const std::string& path) {
  auto text = read_private(path);
  if (!text) return Unexpected{text.error()};
  const toml::parse_result parsed = toml::parse(*text, path);
  ::explicit_bzero(text->data(), text->size());
  if (!parsed) {
    return Unexpected{path + ": not TOML: " + std::string{parsed.error().description()}};
  }
  const toml::table& table = parsed.table();
  const auto wrong = [&](const std::string& key) {
    return Unexpected{path + ": " + key + " must be 64 hexadecimal digits"};
  };
  SealKeys keys;
  if (const auto node = table["psk"]) {
    if (!take_key(node, keys.preshared_.emplace().key.bytes())) return wrong("psk");
  }
  if (const auto node = table["private"]) {
    if (!take_key(node, keys.own_.emplace().bytes())) return wrong("private");
  }
  if (const toml::table* const peers = table["peers"].as_table()) {
    for (const auto& [name, node] : *peers) {
      const auto address = parse_seal_networks(std::string{name.str()} + "=off");
      if (!address || address->size() != 1 || address->front().bits != 128) {
        return Unexpected{path + ": '" + std::string{name.str()} + "' is not an address"};
      }
      seal::PublicKey key{};
      if (!take_key(toml::node_view<const toml::node>{node}, std::span{key})) {
        return wrong(std::string{name.str()});
      }
      keys.peers_.insert_or_assign(address->front().base.bytes, key);
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
