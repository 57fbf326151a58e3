// Goal: `nerve decode` names sealed packets, opens those that it has keys for, and calls no others
// opened. Method: captures that are built here, sealed by the real library.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "host/seal/key_line.h"
#include "host/seal/libcrypto.h"
#include "seal/outgoing.h"
#include "seal/session.h"
#include "tests/cli/decode_run.h"
#include "wire/packet.h"
#include "wire/pcap.h"

namespace nerve::cli::decode_sealed_test {
namespace {

using Packet = std::vector<std::byte>;

const wire::Flow kThere{.source = wire::Gid::ipv4(10, 0, 0, 1),
                        .destination = wire::Gid::ipv4(10, 0, 0, 2)};
constexpr std::uint32_t kSpi = 0x1a2b3c4d;
constexpr Qpn kQpn{0x12};

// A capture of what this test seals, and a file with keys.
class DecodeSealed : public testing::Test {
 protected:
  DecodeSealed()
      : folder_{testing::TempDir() + "nerve_sealed_" + std::to_string(::getpid())},
        capture{folder_ + "/run.pcap"},
        keys{folder_ + "/keys.log"} {
    std::filesystem::create_directory(folder_);
    std::array<std::byte, wire::PcapReader::kFileHeader> header{};
    wire::encode_pcap_header(header, wire::LinkType::kRaw);
    bytes_.assign(header.begin(), header.end());
    crypto.fill_random(secret.bytes());
  }
  ~DecodeSealed() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Packet seal(seal::Outgoing& with, std::uint32_t size, std::uint32_t psn) const {
    const Packet payload(size, std::byte{0x77});
    const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(payload.data()),
                            .length = size};
    wire::Frame frame{.flow = kThere};
    frame.headers.bth = {.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly),
                         .pad = wire::pad_for(size),
                         .dest_qp = kQpn,
                         .psn = Psn{psn}};
    frame.payload = {&piece, 1};
    frame.payload_length = size;
    Packet out(seal::sealed_size(frame));
    EXPECT_TRUE(with.seal(frame, Time{}, out));
    return out;
  }
  [[nodiscard]] seal::Outgoing sender(seal::Suite suite = seal::Suite::kAes128Gcm) {
    return {crypto, suite, secret, kSpi};
  }
  // Adds a frame with this UDP payload; `captured` bytes of it.
  void add(const Packet& payload, const wire::Flow& flow = kThere, std::size_t captured = 0xffff) {
    Packet frame(payload.size() + wire::kMaxOuterSize);
    frame.resize(wire::encode_packet(flow, {}, payload, frame));
    const std::size_t size = std::min(captured, frame.size());
    std::array<std::byte, wire::PcapReader::kRecordHeader> record{};
    wire::encode_pcap_record(record, 1'000 * ++records_, static_cast<std::uint32_t>(size),
                             static_cast<std::uint32_t>(frame.size()));
    bytes_.insert(bytes_.end(), record.begin(), record.end());
    bytes_.insert(bytes_.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
  }
  [[nodiscard]] std::string key_line(seal::Suite suite = seal::Suite::kAes128Gcm) const {
    return host::KeyLine{.suite = suite,
                         .source = kThere.source,
                         .destination = kThere.destination,
                         .qpn = kQpn,
                         .spi = kSpi,
                         .secret = secret}
        .text();
  }
  [[nodiscard]] DecodeRun decode(std::vector<std::string> arguments) const {
    std::ofstream{capture, std::ios::binary}.write(reinterpret_cast<const char*>(bytes_.data()),
                                                   static_cast<std::streamsize>(bytes_.size()));
    arguments.push_back(capture);
    return run_decode(std::move(arguments));
  }
  [[nodiscard]] DecodeRun decode_with(const std::string& key_text,
                                      std::vector<std::string> arguments = {}) const {
    std::ofstream{keys, std::ios::binary} << key_text;
    arguments.insert(arguments.begin(), {"--keys", keys});
    return decode(std::move(arguments));
  }

 private:
  std::string folder_;
  Packet bytes_;
  std::uint64_t records_{};

 protected:
  const std::string capture;
  const std::string keys;
  seal::Crypto& crypto{**host::Libcrypto::load()};
  seal::ChainSecret secret;
};

TEST_F(DecodeSealed, NamesPacketsWithoutKeys) {
  auto out = sender();
  add(seal(out, 64, 5));
  add(seal(out, 3, 6));
  const DecodeRun run = decode({});
  EXPECT_EQ(run.exit_code, kExitOk) << run.err;
  EXPECT_TRUE(
      run.prints("10.0.0.1:49152 > 10.0.0.2 SEALED qp=0x000012 psn=0x000006 bytes=52 "
                 "sealed[spi=0x1a2b3c4d epoch=0 counter=1] no key\n"))
      << run.out;
  EXPECT_TRUE(run.prints("2 packets, 0 icrc good, 0 bad, 2 sealed: 2 without a key\n")) << run.out;
  EXPECT_FALSE(run.prints("icrc=")) << run.out;
}

TEST_F(DecodeSealed, OpensThemWithKeys) {
  for (const auto suite : {seal::Suite::kAes128Gcm, seal::Suite::kAes256Gcm,
                           seal::Suite::kChaCha20Poly1305, seal::Suite::kAes256Gmac}) {
    auto out = sender(suite);
    add(seal(out, 61, 5));
    const DecodeRun run = decode_with(key_line(suite));
    EXPECT_EQ(run.exit_code, kExitOk) << run.err;
    EXPECT_TRUE(run.prints("RC_SEND_ONLY qp=0x000012 psn=0x000005 pad=3 payload=61 sealed["))
        << run.out;
    EXPECT_TRUE(run.prints("spi=0x1a2b3c4d epoch=0 counter=0]\n")) << run.out;
    EXPECT_TRUE(run.prints(" sealed: 1 opened")) << run.out;
  }
}

TEST_F(DecodeSealed, OpensEveryEpoch) {
  auto out = sender();
  out.change_keys({.packets = 2}, Time{});
  for (std::uint32_t psn = 0; psn < 1000; ++psn) add(seal(out, 8, psn));
  const DecodeRun run = decode_with(key_line());
  EXPECT_EQ(run.exit_code, kExitOk);
  EXPECT_TRUE(run.prints("sealed[aes128-gcm spi=0x1a2b3c4d epoch=499 counter=999]")) << run.err;
  EXPECT_TRUE(run.prints("1000 packets, 0 icrc good, 0 bad, 1000 sealed: 1000 opened\n"));
}

TEST_F(DecodeSealed, NamesPacketsThatWereChanged) {
  auto out = sender();
  Packet changed = seal(out, 64, 5);
  changed[40] ^= std::byte{1};
  add(changed);
  add(seal(out, 64, 6));
  const DecodeRun run = decode_with(key_line());
  EXPECT_EQ(run.exit_code, kExitOk) << run.err;  // as for a bad ICRC
  EXPECT_TRUE(
      run.prints("SEALED qp=0x000012 psn=0x000005 bytes=112 sealed[spi=0x1a2b3c4d epoch=0 "
                 "counter=0] not authentic\n"))
      << run.out;
  EXPECT_TRUE(run.prints("2 sealed: 1 opened, 1 not authentic\n")) << run.out;
}

TEST_F(DecodeSealed, KeysAreForOneDirection) {
  auto out = sender();
  const Packet packet = seal(out, 64, 5);
  add(packet, {.source = kThere.destination, .destination = kThere.source});
  Packet other_qp = packet;
  other_qp[7] = std::byte{0x13};
  add(other_qp);
  Packet other_spi = packet;
  other_spi[16] ^= std::byte{1};
  add(other_spi);
  const DecodeRun run = decode_with(key_line(), {"--check"});
  EXPECT_EQ(run.out, capture + ": 3 packets, 0 icrc good, 0 bad, 3 sealed: 3 without a key\n");
}

TEST_F(DecodeSealed, NamesTheHandshake) {
  const seal::SessionSetup caller{.own = {.gid = kThere.source, .qpn = Qpn{1}},
                                  .peer = {.gid = kThere.destination, .qpn = kQpn},
                                  .credentials = seal::Preshared{},
                                  .suites = {seal::Suite::kAes128Gcm}};
  seal::SessionSetup answerer = caller;
  std::swap(answerer.own, answerer.peer);
  seal::Session a{crypto, caller, Time{}};
  seal::Session b{crypto, answerer, Time{}};
  wire::Frame frame;
  wire::Piece piece;
  Time now{};
  for (int round = 0; round < 20 && !(a.is_open() && b.is_open()); ++round) {
    now += std::chrono::milliseconds{5};
    for (seal::Session* from : {&b, &a}) {
      Packet packet(seal::Session::kMaxPacket);
      packet.resize(from->next_packet(now, packet));
      if (packet.empty()) continue;
      add(packet, from->flow());
      (void)(from == &a ? b : a).receive(from->flow(), packet, now, frame, piece);
    }
  }
  const DecodeRun run = decode({});
  EXPECT_TRUE(run.prints("SEAL_INVITATION qp=0x000001 invitation=0x")) << run.out;
  EXPECT_TRUE(run.prints("SEAL_CALL qp=0x000012 number=0x")) << run.out;
  EXPECT_TRUE(run.prints("SEAL_ANSWER qp=0x000001 number=0x")) << run.out;
  EXPECT_TRUE(run.prints(" handshake\n")) << run.out;
}

TEST_F(DecodeSealed, SplitsPacketsThatWereCapturedAsOne) {
  auto out = sender();
  Packet train;
  for (const std::uint32_t size : {1024U, 1024U, 1024U, 100U}) {
    const Packet packet = seal(out, size, 7);
    train.insert(train.end(), packet.begin(), packet.end());
  }
  add(train);
  EXPECT_TRUE(decode({"--check"}).prints("4 packets, 0 icrc good, 0 bad, 4 sealed: 4 without"));
  const DecodeRun run = decode_with(key_line());
  EXPECT_TRUE(run.prints("payload=1024 sealed[aes128-gcm spi=0x1a2b3c4d epoch=0 counter=2]"))
      << run.out;
  EXPECT_TRUE(run.prints("payload=100 sealed[aes128-gcm spi=0x1a2b3c4d epoch=0 counter=3]"));
  EXPECT_TRUE(run.prints("1 frames contain several packets"));
}

TEST_F(DecodeSealed, JsonHasTheSeal) {
  auto out = sender();
  add(seal(out, 64, 5));
  Packet nothing(seal::Outgoing::kEmptySize);
  ASSERT_TRUE(out.seal_nothing(kThere, kQpn, Time{}, nothing));
  add(nothing);
  std::istringstream lines{decode_with(key_line(), {"--json"}).out};
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) {
    found.push_back(nlohmann::json::parse(line, nullptr, false));
    ASSERT_FALSE(found.back().is_discarded()) << line;
  }
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0]["name"], "RC_SEND_ONLY");
  EXPECT_EQ(found[0]["payload_length"], 64);
  EXPECT_EQ(found[0]["sealed"]["suite"], "aes128-gcm");
  EXPECT_EQ(found[0]["sealed"]["outcome"], "opened");
  EXPECT_FALSE(found[0].contains("icrc"));
  EXPECT_EQ(found[1]["name"], "SEALED_EMPTY");
  EXPECT_EQ(found[2]["summary"]["sealed"], 2);
  EXPECT_EQ(found[2]["summary"]["opened"], 2);
  EXPECT_EQ(found[2]["summary"]["icrc_bad"], 0);
}

// What a sender may have cut short or made up.
TEST_F(DecodeSealed, SurvivesEveryTruncation) {
  auto out = sender();
  const Packet whole = seal(out, 64, 5);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    add({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  const std::string count = std::to_string(whole.size());
  const DecodeRun run = decode_with(key_line(), {"--check"});
  EXPECT_EQ(run.exit_code, kExitFailed);  // some are too short to be a packet
  EXPECT_TRUE(run.prints(": " + count + " packets, ")) << run.out;
  EXPECT_FALSE(run.prints("opened")) << run.out;
  EXPECT_NE(run.err.find("packet 28: truncated in "), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("packet 29:"), std::string::npos) << run.err;
}

TEST_F(DecodeSealed, ReportsAShortCapture) {
  auto out = sender();
  add(seal(out, 64, 5), kThere, 64);
  const DecodeRun run = decode_with(key_line());
  EXPECT_EQ(run.exit_code, kExitFailed);
  EXPECT_NE(run.err.find("captured 64 of 140 bytes"), std::string::npos) << run.err;
}

TEST_F(DecodeSealed, NamesAnUnknownVersion) {
  auto out = sender();
  Packet packet = seal(out, 64, 5);
  packet[12] = std::byte{0x2f};
  add(packet);
  const DecodeRun run = decode_with(key_line());
  EXPECT_EQ(run.exit_code, kExitOk);
  EXPECT_TRUE(run.prints("SEALED qp=0x000012 bytes=112 unknown version or kind\n")) << run.out;
}

TEST_F(DecodeSealed, AKeyFileMayHaveManyLines) {
  auto out = sender();
  add(seal(out, 64, 5));
  constexpr std::uint32_t kLines = 1'000'000;
  std::string text;
  text.reserve(kLines * 130);
  const std::string line = key_line();
  const std::size_t at = line.find("1a2b3c4d");
  for (std::uint32_t i = 0; i < kLines; ++i) {
    std::array<char, 9> spi{};
    (void)std::snprintf(spi.data(), spi.size(), "%08x", i);
    text += line;
    text.replace(text.size() - line.size() + at, 8, spi.data());
  }
  EXPECT_TRUE(decode_with(text + line, {"--check"}).prints("1 sealed: 1 opened"));
}

TEST_F(DecodeSealed, OneNameMayHaveSeveralKeys) {
  auto out = sender();
  add(seal(out, 64, 5));
  const std::string good = key_line();
  crypto.fill_random(secret.bytes());
  EXPECT_TRUE(decode_with(key_line() + good, {"--check"}).prints("1 sealed: 1 opened"));
  // Many of them cost no more than a few.
  std::string many = good;
  for (int i = 0; i < 1000; ++i) {
    crypto.fill_random(secret.bytes());
    many += key_line();
  }
  EXPECT_TRUE(decode_with(many, {"--check"}).prints("1 sealed: 1 opened"));
}

TEST_F(DecodeSealed, WrongLinesOfAKeyFileAreReported) {
  auto out = sender();
  add(seal(out, 64, 5));
  const DecodeRun some =
      decode_with("# a comment\r\n\nnerve-seal what\n" + key_line() + "rubbish\n");
  EXPECT_EQ(some.exit_code, kExitFailed);
  EXPECT_TRUE(some.prints("1 sealed: 1 opened"));
  EXPECT_EQ(some.err, "nerve decode: " + keys +
                          ": line 3: word 2 must be a suite, as in aes128-gcm; 2 wrong lines are "
                          "left out\n");
  for (const std::string& text :
       {std::string{}, std::string(1'000'000, 'x'), std::string(1000, '\0'), std::string{"\n\n"}}) {
    const DecodeRun none = decode_with(text);
    EXPECT_EQ(none.exit_code, kExitFailed);
    EXPECT_EQ(none.out, "");
    EXPECT_NE(none.err.find("it has no keys; give a file that seal_key_log named"),
              std::string::npos)
        << none.err;
  }
  EXPECT_EQ(decode({"--keys", "/no/such/file"}).exit_code, kExitFailed);
}

}  // namespace
}  // namespace nerve::cli::decode_sealed_test
