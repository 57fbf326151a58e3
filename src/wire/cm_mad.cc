#include "wire/cm_mad.h"

#include <algorithm>

#include "wire/cm_layout.h"

namespace nerve::wire {
namespace {

// Tries the alternatives of CmMessage in turn and decodes the one with this attribute.
template <std::size_t kAt = 0>
Result<CmMessage, WireError> read_message(CmAttribute attribute, Bytes data) {
  if constexpr (kAt < std::variant_size_v<CmMessage>) {
    using Message = std::variant_alternative_t<kAt, CmMessage>;
    if (attribute != Message::kAttribute) return read_message<kAt + 1>(attribute, data);
    Message message;
    BitReader reader{data};
    lay_out(reader, message);
    return CmMessage{message};
  } else {
    return Unexpected{WireError::kUnsupported};
  }
}

}  // namespace

Result<CmMad, WireError> CmMad::decode(Bytes in) {
  if (in.size() < kSize) return Unexpected{WireError::kTruncated};
  const auto header = MadHeader::decode(in);
  if (!header) return Unexpected{header.error()};
  if (header->base_version != kMadBaseVersion || header->management_class != kCmClass ||
      header->class_version != kCmClassVersion || header->method != kCmMethodSend ||
      header->response) {
    return Unexpected{WireError::kBadField};
  }
  const auto message = read_message(static_cast<CmAttribute>(header->attribute_id),
                                    in.subspan(MadHeader::kSize, kSize - MadHeader::kSize));
  if (!message) return Unexpected{message.error()};
  return CmMad{.transaction_id = header->transaction_id, .message = *message};
}

void CmMad::encode(std::span<std::byte, kSize> out) const {
  const MadHeader header{
      .management_class = kCmClass,
      .class_version = kCmClassVersion,
      .method = kCmMethodSend,
      .transaction_id = transaction_id,
      .attribute_id = static_cast<std::uint16_t>(attribute_of(message)),
  };
  header.encode(out.first<MadHeader::kSize>());
  const auto data = out.subspan<MadHeader::kSize>();
  std::ranges::fill(data, std::byte{0});
  BitWriter writer{data};
  std::visit([&](const auto& of) { lay_out(writer, of); }, message);
}

CmAttribute attribute_of(const CmMessage& message) {
  return std::visit([](const auto& of) { return of.kAttribute; }, message);
}

const char* to_string(CmAttribute attribute) {
  switch (attribute) {
    case CmAttribute::kReq:
      return "REQ";
    case CmAttribute::kMra:
      return "MRA";
    case CmAttribute::kRej:
      return "REJ";
    case CmAttribute::kRep:
      return "REP";
    case CmAttribute::kRtu:
      return "RTU";
    case CmAttribute::kDreq:
      return "DREQ";
    case CmAttribute::kDrep:
      return "DREP";
    case CmAttribute::kSidrReq:
      return "SIDR_REQ";
    case CmAttribute::kSidrRep:
      return "SIDR_REP";
    case CmAttribute::kLap:
      return "LAP";
    case CmAttribute::kApr:
      return "APR";
  }
  return "unknown";
}

}  // namespace nerve::wire
