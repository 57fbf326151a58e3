#include "tests/dst/cm_stranger.h"

#include <utility>

namespace nerve::dst {

void CmStranger::see(std::size_t to, const Parcel& parcel) {
  auto mad = wire::CmMad::decode(parcel.payload);
  if (!mad) return;
  if (const auto* req = std::get_if<wire::CmReq>(&mad->message)) {
    requests_[req->local_comm_id.value()] = parcel;
  }
  const auto* rtu = std::get_if<wire::CmRtu>(&mad->message);
  if (rtu == nullptr || !prng_.chance(500)) return;
  Parcel forged = requests_[rtu->local_comm_id.value()];
  mad = wire::CmMad::decode(forged.payload);
  auto& req = std::get<wire::CmReq>(mad->message);
  req.local_comm_id = wire::CommId{kMark | (static_cast<std::uint32_t>(prng_.next()) & 0xff'ffffU)};
  mad->encode(MutableBytes{forged.payload}.first<wire::CmMad::kSize>());
  const std::chrono::microseconds delay{prng_.between(1, 300'000)};
  network_.inject(to, std::move(forged), delay);
}

}  // namespace nerve::dst
