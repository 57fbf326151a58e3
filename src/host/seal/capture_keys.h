// Opens the sealed packets of a capture with the keys of a key log (key_log.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "host/seal/key_line.h"
#include "seal/header.h"
#include "seal/recorded.h"
#include "wire/packet.h"

namespace nerve::host {

enum class SealOutcome : std::uint8_t {
  kOpened,
  kEmpty,  // opened, and without a frame
  kNotAuthentic,
  kNoKey,
  kCall,
  kAnswer,
  kInvitation,
  kUnknown,  // a version or a kind that we do not know
};

// A sealed packet, and the plain one if it was opened.
struct SealedPacket {
  SealOutcome outcome{};
  wire::Packet packet{};            // kOpened: the plain one, in `contents`; otherwise the BTH
  seal::Header header{};            // zero if it is kUnknown
  std::uint64_t epoch{};            // since the first one; if it was not opened, as in the header
  seal::Suite suite{};              // if it was opened
  std::size_t bytes{};              // as a UDP payload
  std::vector<std::byte> contents;  // which `packet` refers to: it can be moved, but not copied

  [[nodiscard]] bool opened() const {
    return outcome == SealOutcome::kOpened || outcome == SealOutcome::kEmpty;
  }
};

// "RC_SEND_ONLY", "SEALED", "SEALED_EMPTY", "SEAL_CALL", ...
[[nodiscard]] std::string name_of(const SealedPacket& sealed);
// "opened", "no key", ...; for packets of the handshake "handshake".
[[nodiscard]] const char* to_string(SealOutcome outcome);

class CaptureKeys {
 public:
  CaptureKeys() = default;  // none

  // Lines that are not keys are counted and skipped; the first one is described.
  struct BadLines {
    std::uint64_t count{};
    std::string first;  // "line 7: ..."
  };
  // The text of a key log. The error is a sentence.
  [[nodiscard]] static Result<CaptureKeys, std::string> read(Bytes text, BadLines& bad);

  // A UDP payload for which seal::is_sealed() is true.
  [[nodiscard]] SealedPacket open(const wire::Flow& flow, Bytes payload);

 private:
  // The packets of one direction of a QP.
  struct Name {
    wire::Gid source{};
    wire::Gid destination{};
    std::uint32_t qpn{};
    std::uint32_t spi{};
    friend bool operator==(const Name&, const Name&) = default;
  };
  struct NameHash {
    std::size_t operator()(const Name& name) const;
  };
  struct Direction {
    seal::Suite suite{};
    seal::ChainSecret secret;
    std::optional<seal::Recorded> recorded;  // made for the first packet
  };

  void add(const KeyLine& line);
  void open_with(Direction& direction, SealedPacket& sealed);

  seal::Crypto* crypto_{};
  // Several if sessions of the same QPs chose the same SPI by chance.
  std::unordered_map<Name, std::vector<Direction>, NameHash> directions_;
};

// The length of each packet but the last, if the bytes are several sealed packets of one QP that
// were captured before segmentation; otherwise the length of all bytes.
[[nodiscard]] std::size_t sealed_segment(Bytes payload);

}  // namespace nerve::host
