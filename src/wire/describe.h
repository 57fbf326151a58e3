// One-line descriptions of packets for traces, without a newline.
//
//    RC_SEND_ONLY qp=0x000012 psn=0x0a1b2c ack pad=3 payload=1
//    RC_ACKNOWLEDGE qp=0x000011 psn=0x0a1b2c aeth[nak remote access, msn=4] payload=0
//
// These functions allocate and are not for the data path.
#pragma once

#include <string>

#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/packet.h"

namespace nerve::wire {

// "10.0.0.1" or "fd77::1" (RFC 5952).
[[nodiscard]] std::string to_string(const Gid& gid);

// The meaning of a syndrome: "ack, credits=64", "rnr nak, wait=640us", "nak remote access".
[[nodiscard]] std::string describe_syndrome(std::uint8_t syndrome);

// The name of a CM attribute; null when it has none.
[[nodiscard]] const char* cm_attribute_name(std::uint16_t attribute);

// `payload` may be empty when the bytes are not available; payload_length is printed in any case.
[[nodiscard]] std::string describe(const Headers& headers, std::uint32_t payload_length,
                                   Bytes payload = {});
[[nodiscard]] std::string describe(const Packet& packet);

}  // namespace nerve::wire
