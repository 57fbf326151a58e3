// Somebody who sees a connection being established, and then sends requests for it as if the active
// side had lost it and used its QP anew.
#pragma once

#include <cstdint>
#include <map>

#include "base/prng.h"
#include "tests/dst/network.h"
#include "tests/dst/parcel.h"
#include "wire/cm_mad.h"

namespace nerve::dst {

class CmStranger {
 public:
  CmStranger(std::uint64_t seed, Network& network) : prng_{seed ^ 0x57a9U}, network_{network} {}

  void see(std::size_t to, const Parcel& parcel);
  // Whether a request is one of a stranger: no host of these worlds has such IDs.
  [[nodiscard]] static bool made(const wire::CmReq& req) {
    return (req.local_comm_id.value() & kMark) != 0;
  }

 private:
  static constexpr std::uint32_t kMark = 0x8000'0000;

  Prng prng_;
  Network& network_;
  std::map<std::uint32_t, Parcel> requests_;  // by communication ID
};

}  // namespace nerve::dst
