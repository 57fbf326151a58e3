// Goal: keys lie in memory that is locked and not in core dumps, and nowhere else. Method: the
// flags of mappings in /proc/self/smaps, and a search of the heap for the bytes of a key.
#include "host/seal/secret_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "host/seal/seal_table.h"
#include "tests/host/endpoint.h"
#include "tests/host/process.h"
#include "tests/host/setting.h"

namespace nerve::host {
namespace {

struct Mapping {
  std::uintptr_t begin{};
  std::uintptr_t end{};
  std::string name;
  std::string flags;  // " rd wr mr mw me lo ac dd "
};

std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::ifstream in{"/proc/self/smaps"};
  for (std::string line; std::getline(in, line);) {
    Mapping mapping;
    char dash = 0;
    std::istringstream words{line};
    if (words >> std::hex >> mapping.begin >> dash >> mapping.end && dash == '-') {
      std::string skipped;
      words >> skipped >> skipped >> skipped >> skipped >> mapping.name;
      all.push_back(mapping);
    } else if (line.starts_with("VmFlags:") && !all.empty()) {
      all.back().flags = line.substr(8) + " ";
    }
  }
  return all;
}

std::string flags_of(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Mapping& mapping : mappings()) {
    if (at >= mapping.begin && at < mapping.end) return mapping.flags;
  }
  return "";
}

bool has(const std::string& flags, const std::string& flag) {
  return flags.find(" " + flag + " ") != std::string::npos;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

bool may_lock() {
  if (kSanitized) return false;  // they replace mlock() by nothing
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return ::geteuid() == 0 || limit.rlim_cur >= 256 * 1024;
}

void expect_secret(const void* address) {
  const std::string flags = flags_of(address);
  EXPECT_TRUE(has(flags, "dd")) << "in core dumps:" << flags;
  EXPECT_TRUE(has(flags, "lo") || !may_lock()) << "not locked:" << flags;
}

// A byte of the key. Nothing here holds it as a whole, and no other test fills memory like this.
constexpr unsigned key_byte(unsigned i) { return (i * i * 37 + i * 11 + 13) & 0xffU; }

bool is_key(const std::byte* at) {
  for (unsigned i = 0; i < 32; ++i) {
    if (at[i] != static_cast<std::byte>(key_byte(i))) return false;
  }
  return true;
}

std::size_t copies_in(const Mapping& mapping) {
  if (!has(mapping.flags, "rd")) return 0;
  std::size_t found = 0;
  for (std::uintptr_t at = mapping.begin; at + 32 <= mapping.end; ++at) {
    if (is_key(reinterpret_cast<const std::byte*>(at))) ++found;
  }
  return found;
}

std::size_t secret_copies() {
  std::size_t found = 0;
  for (const Mapping& mapping : mappings()) {
    if (has(mapping.flags, "dd") && has(mapping.flags, "wr")) found += copies_in(mapping);
  }
  return found;
}

class KeyFileWithPattern {
 public:
  KeyFileWithPattern()
      : path_{
            (std::filesystem::temp_directory_path() / ("nerve-arena-" + std::to_string(::getpid())))
                .string()} {
    std::filesystem::remove(path_);
    std::FILE* const out = std::fopen(path_.c_str(), "w");
    std::fprintf(out, "psk = \"");
    for (unsigned i = 0; i < 32; ++i) std::fprintf(out, "%02x", key_byte(i));
    std::fprintf(out, "\"\n");
    std::fclose(out);
    EXPECT_EQ(::chmod(path_.c_str(), 0600), 0);
  }
  ~KeyFileWithPattern() { std::filesystem::remove(path_); }
  KeyFileWithPattern(const KeyFileWithPattern&) = delete;
  KeyFileWithPattern& operator=(const KeyFileWithPattern&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(SecretMemory, IsLockedAndNotDumped) {
  EXPECT_FALSE(has(flags_of(std::make_unique<int>().get()), "dd"));  // unlike other memory
  SecretMemory memory;
  std::vector<SecretPtr<std::array<std::byte, 3000>>> objects;
  for (int i = 0; i < 100; ++i) {
    objects.push_back(make_secret<std::array<std::byte, 3000>>(memory));
    expect_secret(objects.back()->data());
    expect_secret(objects.back()->data() + 2999);
  }
  const auto large = make_secret<std::array<std::byte, 100'000>>(memory);
  expect_secret(large->data());
  expect_secret(large->data() + 99'999);
}

TEST(SecretMemory, IsGivenBack) {
  const void* address = nullptr;
  {
    SecretMemory memory;
    address = make_secret<std::array<std::byte, 100'000>>(memory).get();
  }
  EXPECT_FALSE(has(flags_of(address), "dd"));
}

// A connected QP has copies of the key, and all of them lie in secret memory.
TEST(SecretMemory, HasTheKeysOfSealedQps) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have memory that cannot be searched";
  const KeyFileWithPattern file;
  const auto setup = SealSetup::make({.mode = SealMode::kRequire, .networks = {}},
                                     {seal::Suite::kAes128Gcm}, file.path(), "");
  ASSERT_NE(setup->crypto, nullptr);
  expect_secret(setup->keys.get());
  SealTable table{setup};
  for (std::uint32_t qpn = 1; qpn <= 10; ++qpn) {
    table.connect({.gid = wire::Gid::ipv4(10, 0, 0, 1), .qpn = Qpn{qpn}},
                  {.gid = wire::Gid::ipv4(10, 0, 0, 2), .qpn = Qpn{qpn}}, Time{});
  }
  for (const Mapping& mapping : mappings()) {
    if (mapping.name == "[heap]") {
      EXPECT_EQ(copies_in(mapping), 0U) << "a key on the heap";
    }
  }
  EXPECT_EQ(secret_copies(), 11U);  // of the setup and of each session
  table.leave();
  EXPECT_EQ(secret_copies(), 1U);  // of the setup, which this test holds
}

TEST(SecretMemory, IsErasedInAChild) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have memory that cannot be searched";
  const KeyFileWithPattern file;
  test::Process process{[&](test::Line line) {  // which reads these settings
    const test::Setting seal{"NERVE_SEAL", "require"};
    const test::Setting key{"NERVE_SEAL_KEY", file.path().c_str()};
    const test::Endpoint endpoint{4096};
    EXPECT_EQ(secret_copies(), 1U);
    const pid_t child = ::fork();
    if (child == 0) ::_exit(static_cast<int>(secret_copies()));
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    line.say('e');
  }};
  (void)process.line().hear<char>();
}

}  // namespace
}  // namespace nerve::host
