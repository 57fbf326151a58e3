// A frame in flight. It owns its data, because the engine's references are valid only until its
// next call.
//
// It has one of three equivalent representations: headers and payload as values (as a fabric
// simulator forwards them), the bytes of a real link with their ICRC, or those of a sealed QP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/no_contents.h"
#include "wire/frame.h"

namespace nerve::dst {

enum class Carriage : std::uint8_t { kValues, kBytes, kSealed };

struct Parcel {
  wire::Flow flow{};
  wire::Headers headers{};
  std::uint32_t length{};
  std::vector<std::byte> payload{};  // empty when the memory behind it has no contents
  bool has_contents{true};
  bool placed{};   // only if it is carried as values
  bool trimmed{};  // likewise
};

// Copies a transmitted frame while its references are valid.
[[nodiscard]] Parcel capture(const wire::Frame& frame);

// The frame that the receiving engine sees; refers to `parcel` and to `piece`.
[[nodiscard]] wire::Frame view(const Parcel& parcel, wire::Piece& piece);

// The whole packet, from the IP header to the ICRC.
[[nodiscard]] std::vector<std::byte> to_bytes(const Parcel& parcel);

// One line for the trace.
[[nodiscard]] std::string describe(const Parcel& parcel);

// The memory of simulated hosts that carry no data.
NoContents& no_contents();

}  // namespace nerve::dst
