#include "host/peers/greeting.h"

namespace nerve::host {
namespace {

constexpr std::uint32_t kMagic = 0x4e72'7665;  // "Nrve"
constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kAnswerHeader = 8;

void stamp(MutableBytes out) {
  store_be<4>(out, 0, kMagic);
  store_be<4>(out, 4, kVersion);
}

bool stamped(Bytes in, std::size_t size) {
  return in.size() >= size && load_be<4>(in, 0) == kMagic && load_be<4>(in, 4) == kVersion;
}

}  // namespace

std::array<std::byte, Request::kSize> Request::encode() const {
  std::array<std::byte, kSize> out{};
  stamp(out);
  store_be<4>(out, 8, static_cast<std::uint32_t>(kind));
  store_be<4>(out, 12, slot);
  return out;
}

std::optional<Request> Request::decode(Bytes in) {
  if (!stamped(in, kSize)) return std::nullopt;
  return Request{.kind = static_cast<RequestKind>(load_be<4>(in, 8)),
                 .slot = static_cast<std::uint32_t>(load_be<4>(in, 12))};
}

std::vector<std::byte> encode_answer(std::string_view text) {
  std::vector<std::byte> out(kAnswerHeader + text.size());
  stamp(out);
  for (std::size_t i = 0; i < text.size(); ++i) {
    out[kAnswerHeader + i] = static_cast<std::byte>(text[i]);
  }
  return out;
}

std::optional<std::string> decode_answer(Bytes in) {
  if (!stamped(in, kAnswerHeader)) return std::nullopt;
  std::string text;
  for (const std::byte byte : in.subspan(kAnswerHeader)) {
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

}  // namespace nerve::host
