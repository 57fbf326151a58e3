// Goal: captures of every format read alike, and no file causes harm. Method: files built here in
// each format and byte order, every truncation of them, and bytes overwritten by seed.
#include "wire/capture.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"
#include "tests/seeds.h"
#include "wire/ethernet.h"

namespace nerve::wire {
namespace {

// Writes bytes in the byte order of a file.
class FileBuilder {
 public:
  explicit FileBuilder(bool little) : little_{little} {}
  FileBuilder& put(std::size_t n, std::uint64_t value) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t shift = 8 * (little_ ? i : n - 1 - i);
      bytes_.push_back(static_cast<std::byte>(value >> shift & 0xffU));
    }
    return *this;
  }
  FileBuilder& put(Bytes bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  bool little_;
  std::vector<std::byte> bytes_;
};

const std::vector<std::byte> kFrame(12, std::byte{0x5a});
constexpr std::uint64_t kTime = 1'700'000'000'123'456'000;

std::vector<std::byte> pcap_file(bool little, bool nanoseconds) {
  FileBuilder file{little};
  file.put(4, nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4).put(2, 2).put(2, 4).put(8, 0);
  file.put(4, 65535).put(4, 1);
  for (int i = 0; i < 2; ++i) {
    file.put(4, 1'700'000'000).put(4, nanoseconds ? 123'456'000 : 123'456);
    file.put(4, kFrame.size()).put(4, 99).put(kFrame);
  }
  return file.bytes();
}

std::vector<std::byte> pcapng_file(bool little) {
  FileBuilder file{little};
  file.put(4, 0x0a0d0d0a)
      .put(4, 28)
      .put(4, 0x1a2b3c4d)
      .put(2, 1)
      .put(2, 0)
      .put(8, ~0ULL)
      .put(4, 28);
  file.put(4, 1).put(4, 32).put(2, 1).put(2, 0).put(4, 0);  // interface
  file.put(2, 9).put(2, 1).put(1, 9).put(1, 0).put(2, 0);   // nanoseconds
  file.put(4, 0).put(4, 32);
  file.put(4, 0xbad).put(4, 16).put(4, 7).put(4, 16);  // a block of unknown type
  file.put(4, 6).put(4, 44).put(4, 0).put(4, kTime >> 32U).put(4, kTime & 0xffff'ffffU);
  file.put(4, kFrame.size()).put(4, 99).put(kFrame).put(4, 44);
  file.put(4, 3).put(4, 28).put(4, kFrame.size()).put(kFrame).put(4, 28);
  return file.bytes();
}

struct Outcome {
  std::vector<CaptureRecord> records;
  std::optional<CaptureError> error;
};

Outcome read(Bytes file) {
  Outcome outcome;
  const auto opened = CaptureReader::open(file);
  if (!opened) {
    outcome.error = opened.error();
    return outcome;
  }
  CaptureReader reader = *opened;
  while (true) {
    const auto record = reader.next();
    if (!record) outcome.error = record.error();
    if (!record || !record->has_value()) return outcome;
    outcome.records.push_back(**record);
  }
}

void expect_frame(const CaptureRecord& record) {
  EXPECT_EQ(record.link, LinkType::kEthernet);
  EXPECT_EQ(std::vector(record.bytes.begin(), record.bytes.end()), kFrame);
}

std::vector<std::vector<std::byte>> all_files() {
  return {pcap_file(false, false), pcap_file(false, true), pcap_file(true, false),
          pcap_file(true, true),   pcapng_file(false),     pcapng_file(true)};
}

}  // namespace

TEST(Capture, ReadsPcapInEveryFlavour) {
  for (const bool little : {false, true}) {
    for (const bool nanoseconds : {false, true}) {
      const auto file = pcap_file(little, nanoseconds);
      const Outcome outcome = read(file);
      EXPECT_FALSE(outcome.error);
      ASSERT_EQ(outcome.records.size(), 2U);
      for (const CaptureRecord& record : outcome.records) {
        expect_frame(record);
        EXPECT_EQ(record.time_ns, kTime);
        EXPECT_EQ(record.original_length, 99U);
      }
    }
  }
}

TEST(Capture, ReadsPcapng) {
  for (const bool little : {false, true}) {
    const auto file = pcapng_file(little);
    const Outcome outcome = read(file);
    EXPECT_FALSE(outcome.error);
    ASSERT_EQ(outcome.records.size(), 2U);
    expect_frame(outcome.records[0]);
    EXPECT_EQ(outcome.records[0].time_ns, kTime);
    EXPECT_EQ(outcome.records[0].original_length, 99U);
    expect_frame(outcome.records[1]);
  }
}

TEST(Capture, PcapngTimesInEveryUnit) {
  EXPECT_EQ(pcapng_time_ns(3, 0), 3'000'000'000U);
  EXPECT_EQ(pcapng_time_ns(1'500'000, 6), 1'500'000'000U);
  EXPECT_EQ(pcapng_time_ns(7, 9), 7U);
  EXPECT_EQ(pcapng_time_ns(7'000, 12), 7U);
  EXPECT_EQ(pcapng_time_ns(3, 0x80 | 1), 1'500'000'000U);
  EXPECT_EQ(pcapng_time_ns((5ULL << 40U) + (1ULL << 39U), 0x80 | 40), 5'500'000'000U);
  for (unsigned unit = 0; unit < 256; ++unit) {
    (void)pcapng_time_ns(~0ULL, static_cast<std::uint8_t>(unit));  // must not trap
  }
}

TEST(Capture, WritesWhatItReads) {
  std::vector<std::byte> file(PcapReader::kFileHeader + PcapReader::kRecordHeader);
  encode_pcap_header(MutableBytes{file}.first<PcapReader::kFileHeader>(), LinkType::kRaw);
  encode_pcap_record(MutableBytes{file}.last<PcapReader::kRecordHeader>(), kTime,
                     static_cast<std::uint32_t>(kFrame.size()), 77);
  file.insert(file.end(), kFrame.begin(), kFrame.end());
  const Outcome outcome = read(file);
  EXPECT_FALSE(outcome.error);
  ASSERT_EQ(outcome.records.size(), 1U);
  EXPECT_EQ(outcome.records[0].time_ns, kTime);
  EXPECT_EQ(outcome.records[0].link, LinkType::kRaw);
  EXPECT_EQ(outcome.records[0].original_length, 77U);
}

// A cut between records yields a shorter file; anywhere else it is an error, never a bogus record.
TEST(Capture, EveryTruncationIsAnErrorOrAShorterFile) {
  for (const auto& file : all_files()) {
    const std::size_t whole = read(file).records.size();
    for (std::size_t n = 0; n < file.size(); ++n) {
      const Outcome outcome = read(Bytes{file}.first(n));
      EXPECT_TRUE(outcome.error || outcome.records.size() < whole) << n << " bytes";
    }
  }
}

TEST(Capture, SurvivesDamage) {
  test::for_each_seed(3000, [](std::uint64_t seed) {
    Prng prng{seed};
    const auto files = all_files();
    auto file = files[prng.below(files.size())];
    for (std::uint64_t i = prng.between(1, 6); i > 0; --i) {
      file[prng.below(file.size())] = static_cast<std::byte>(prng.chance(500) ? 0xff : prng.next());
    }
    const Outcome outcome = read(file);
    for (const CaptureRecord& record : outcome.records) {
      EXPECT_LE(record.bytes.size(), file.size());
      (void)find_ip(record.link, record.bytes);
    }
  });
}

TEST(Capture, RejectsOtherFiles) {
  EXPECT_EQ(read({}).error, CaptureError::kEmpty);
  const std::vector<std::byte> garbage(100, std::byte{0x42});
  EXPECT_EQ(read(garbage).error, CaptureError::kUnknownFormat);
  EXPECT_EQ(read(Bytes{garbage}.first(3)).error, CaptureError::kUnknownFormat);
  const auto file = pcap_file(true, false);
  EXPECT_EQ(read(Bytes{file}.first(10)).error, CaptureError::kTruncatedHeader);
  EXPECT_EQ(read(Bytes{file}.first(30)).error, CaptureError::kTruncatedRecord);
}

TEST(FindIp, LooksBehindEveryLinkHeader) {
  const std::vector<std::byte> ip(20, std::byte{0x45});
  const auto behind = [&](std::vector<std::byte> header) {
    header.insert(header.end(), ip.begin(), ip.end());
    return header;
  };
  const auto expect_ip = [&](LinkType link, const std::vector<std::byte>& frame) {
    const auto found = find_ip(link, frame);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size(), ip.size());
  };
  EthernetHeader ethernet{.ether_type = kEtherTypeIpv4};
  for (std::uint8_t tags = 0; tags <= EthernetHeader::kMaxTags; ++tags) {
    ethernet.tag_count = tags;
    std::vector<std::byte> header(ethernet.size());
    ethernet.encode(header);
    EXPECT_EQ(*EthernetHeader::decode(header), ethernet);
    expect_ip(LinkType::kEthernet, behind(header));
  }
  std::vector<std::byte> sll(16);
  store_be<2>(sll, 14, kEtherTypeIpv6);
  expect_ip(LinkType::kLinuxSll, behind(sll));
  std::vector<std::byte> sll2(20);
  store_be<2>(sll2, 0, kEtherTypeIpv4);
  expect_ip(LinkType::kLinuxSll2, behind(sll2));
  expect_ip(LinkType::kNull, behind(std::vector<std::byte>(4)));
  expect_ip(LinkType::kRaw, ip);

  EXPECT_EQ(find_ip(LinkType::kEthernet, behind(std::vector<std::byte>(14))).error(),
            WireError::kNotRoce);
  EXPECT_EQ(find_ip(static_cast<LinkType>(247), ip).error(), WireError::kNotRoce);
}

TEST(Ethernet, RefusesAThirdTag) {
  std::vector<std::byte> bytes(40);
  for (std::size_t at = 12; at < 24; at += 4) store_be<2>(bytes, at, 0x8100);
  EXPECT_EQ(EthernetHeader::decode(bytes).error(), WireError::kBadField);
}

}  // namespace nerve::wire
