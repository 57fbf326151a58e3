// How a plain packet becomes a sealed one.
#pragma once

#include "seal/key_schedule.h"
#include "seal/sealed_packet.h"

namespace nerve::seal {

// Writes sealed_size(frame) bytes. The header's counter makes the nonce. False if the library
// failed: the packet must not be sent.
[[nodiscard]] bool encrypt(const EpochKey& key, const Header& header, const wire::Frame& frame,
                           MutableBytes out);
// The same for a plain packet in bytes, from its BTH to its pad: kOverhead bytes more.
[[nodiscard]] bool encrypt(const EpochKey& key, const Header& header, const wire::Flow& flow,
                           Bytes plain, MutableBytes out);

}  // namespace nerve::seal
