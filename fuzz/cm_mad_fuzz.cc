// CM MADs come from anyone who can reach QP1. A MAD that decodes must encode to one that decodes to
// the same value, including the addresses in its private data.
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "base/check.h"
#include "wire/cm_mad.h"
#include "wire/ip_cm.h"

namespace nerve::wire {
namespace {

void check_addresses(Bytes private_data) {
  const auto header = IpCmHeader::decode(private_data);
  if (!header) return;
  std::array<std::byte, IpCmHeader::kSize> bytes{};
  header->encode(bytes);
  const auto again = IpCmHeader::decode(bytes);
  CHECK(again && *again == *header);
}

void check_mad(Bytes in) {
  const auto mad = CmMad::decode(in);
  if (!mad) return;
  std::array<std::byte, CmMad::kSize> bytes{};
  mad->encode(bytes);
  const auto again = CmMad::decode(bytes);
  CHECK(again && *again == *mad);
  if (const auto* req = std::get_if<CmReq>(&mad->message)) check_addresses(req->private_data);
  if (const auto* req = std::get_if<CmSidrReq>(&mad->message)) check_addresses(req->private_data);
  if (const auto* rej = std::get_if<CmRej>(&mad->message)) CHECK(rej->info().size() <= 72);
}

}  // namespace
}  // namespace nerve::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nerve::wire::check_mad(std::as_bytes(std::span{data, size}));
  return 0;
}
