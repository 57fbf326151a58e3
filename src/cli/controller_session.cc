#include "cli/controller_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "host/seal/key_file.h"
#include "host/seal/libcrypto.h"

namespace nerve::cli {
namespace {

constexpr std::string_view kMagic = "NRVC";
constexpr char kVersion = 1;
constexpr std::size_t kGreeting = 40;
constexpr std::size_t kLength = 4;
constexpr std::size_t kMac = seal::kHashSize;

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

void append(std::string& text, Bytes bytes) {
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

const char* name_of(ControllerSession::Role role) {
  return role == ControllerSession::Role::kAgent ? "an agent" : "a controller";
}

ControllerSession::Role other(ControllerSession::Role role) {
  using enum ControllerSession::Role;
  return role == kAgent ? kController : kAgent;
}

// Every byte is compared, so that the time tells nothing.
bool same(Bytes a, Bytes b) {
  std::byte differs{};
  for (std::size_t i = 0; i < kMac; ++i) differs |= a[i] ^ b[i];
  return differs == std::byte{};
}

}  // namespace

Result<seal::SharedKey, std::string> read_controller_key(const std::string& path) {
  const auto keys = host::SealKeys::read(path);
  if (!keys) return Unexpected{keys.error()};
  const auto credentials = keys->for_peer({});
  const auto* const shared = credentials ? std::get_if<seal::Preshared>(&*credentials) : nullptr;
  if (shared != nullptr) return shared->key;
  return Unexpected{path +
                    ": has no psk, which agents and controller must share; create one with: "
                    "nerve key ANOTHER_FILE"};
}

Result<ControllerSession, std::string> ControllerSession::begin(Role role,
                                                                std::span<const std::byte> key) {
  const auto crypto = host::Libcrypto::load();
  if (!crypto) return Unexpected{crypto.error()};
  ControllerSession session{**crypto, role};
  seal::expand(**crypto, key, "nerve controller", session.secret_.bytes());
  (*crypto)->fill_random(session.nonce_);
  return session;
}

std::string ControllerSession::greeting_of(Role role, Bytes nonce) const {
  std::string text{kMagic};
  text += kVersion;
  text += static_cast<char>(role);
  text.append(2, '\0');
  append(text, nonce);
  return text;
}

std::string ControllerSession::greeting() const { return greeting_of(role_, nonce_); }

std::optional<std::string> ControllerSession::take_greeting() {
  const std::string_view came = received_;
  const auto begin = came.substr(0, kMagic.size());
  if (begin != kMagic.substr(0, begin.size())) {
    return fmt::format("the peer is not {} of Nerve", name_of(other(role_)));
  }
  if (came.size() > kMagic.size() && came[kMagic.size()] != kVersion) {
    return fmt::format("the peer speaks version {} of the protocol, this program version {}",
                       static_cast<unsigned char>(came[kMagic.size()]), int{kVersion});
  }
  if (came.size() < kGreeting) return std::nullopt;
  const std::string_view greeting = came.substr(0, kGreeting);
  const Bytes nonce = bytes_of(greeting).last(kNonce);
  if (greeting != greeting_of(other(role_), nonce)) {
    return fmt::format("the peer does not greet as {}", name_of(other(role_)));
  }
  derive_keys(greeting);
  received_.erase(0, kGreeting);
  established_ = true;
  return std::nullopt;
}

// Both greetings count, and which end has sent which: a session is never like an earlier one.
void ControllerSession::derive_keys(std::string_view peer_greeting) {
  const std::string own = greeting();
  const bool agent = role_ == Role::kAgent;
  std::string both;
  both += agent ? std::string_view{own} : peer_greeting;
  both += agent ? peer_greeting : std::string_view{own};
  seal::ChainSecret session;
  std::ranges::copy(crypto_->authenticate(secret_.bytes(), bytes_of(both)),
                    session.bytes().begin());
  seal::ChainSecret& from_agent = agent ? out_.key : in_.key;
  seal::ChainSecret& from_controller = agent ? in_.key : out_.key;
  seal::expand(*crypto_, session.bytes(), "nerve controller: from the agent", from_agent.bytes());
  seal::expand(*crypto_, session.bytes(), "nerve controller: to the agent",
               from_controller.bytes());
}

seal::HashValue ControllerSession::mac_of(const Direction& direction, std::string_view body) const {
  std::array<std::byte, 8 + kLength> head{};
  store_be<8>(head, 0, direction.sequence);
  store_be<kLength>(head, 8, static_cast<std::uint32_t>(body.size()));
  std::string text;
  text.reserve(head.size() + body.size());
  append(text, head);
  text += body;
  return crypto_->authenticate(direction.key.bytes(), bytes_of(text));
}

std::string ControllerSession::frame(std::string_view body) {
  std::array<std::byte, kLength> length{};
  store_be<kLength>(length, 0, static_cast<std::uint32_t>(body.size()));
  std::string text;
  text.reserve(kLength + body.size() + kMac);
  append(text, length);
  text += body;
  append(text, mac_of(out_, body));
  ++out_.sequence;
  return text;
}

std::string ControllerSession::wrap(std::string_view body) {
  CHECK(established_ && body.size() <= kMaxBody);
  std::string text;
  if (!proof_sent_) text = frame("");
  proof_sent_ = true;
  return text + frame(body);
}

Result<std::optional<std::string>, std::string> ControllerSession::take_frame(std::size_t& at) {
  const std::string_view left = std::string_view{received_}.substr(at);
  if (left.size() < kLength) return std::optional<std::string>{};
  const std::size_t length = load_be<kLength>(bytes_of(left), 0);
  // A peer without the key finds no buffer to fill.
  if (!proved_ && length != 0) {
    return Unexpected{std::string{"the peer did not prove that it knows the key"}};
  }
  if (length > kMaxBody) {
    return Unexpected{
        fmt::format("the peer announced a frame of {} bytes; the limit is {}", length, kMaxBody)};
  }
  if (left.size() < kLength + length + kMac) return std::optional<std::string>{};
  const std::string_view body = left.substr(kLength, length);
  const Bytes mac = bytes_of(left).subspan(kLength + length, kMac);
  if (!same(mac_of(in_, body), mac)) {
    return Unexpected{proved_
                          ? fmt::format("frame {} is not the one that the peer sent", in_.sequence)
                          : std::string{"the peer has another key"}};
  }
  ++in_.sequence;
  at += kLength + length + kMac;
  return std::optional<std::string>{body};
}

Result<std::vector<std::string>, std::string> ControllerSession::take(std::string_view received) {
  const auto fail = [&](std::string why) {
    failed_ = std::move(why);
    received_ = {};
    return Unexpected{failed_};
  };
  if (!failed_.empty()) return Unexpected{failed_};
  received_ += received;
  if (!established_) {
    if (auto why = take_greeting()) return fail(*std::move(why));
    if (!established_) return std::vector<std::string>{};
  }
  std::vector<std::string> bodies;
  std::size_t at = 0;
  for (;;) {
    auto body = take_frame(at);
    if (!body) return fail(body.error());
    if (!*body) break;
    if (proved_) bodies.push_back(**std::move(body));
    proved_ = true;
  }
  received_.erase(0, at);
  return bodies;
}

std::string ControllerSession::ended() const {
  if (!failed_.empty()) return failed_;
  if (!established_) return "the connection was closed before a greeting";
  if (!proved_) return "the connection was closed; the peer may have another key";
  return received_.empty() ? "the connection was closed"
                           : "the connection was closed within a frame";
}

}  // namespace nerve::cli
