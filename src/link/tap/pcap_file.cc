#include "link/tap/pcap_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "link/system_calls.h"
#include "wire/pcap.h"

namespace nerve::link {
namespace {

using wire::PcapReader;
using FileHeader = std::array<std::byte, PcapReader::kFileHeader>;

constexpr std::size_t kRecordRoom = PcapReader::kRecordHeader + kMaxPcapPacket;
// The buffer may grow to this size while another process holds the lock; then records are dropped.
constexpr std::size_t kMaxBuffer = std::size_t{16} << 20;

// Locked bytes of the file, far beyond its end.
constexpr off_t kWriting = off_t{1} << 61;  // exclusive, while records are appended
constexpr off_t kInUse = kWriting + 1;      // shared, as long as the file is open

// Raw IP, not Ethernet: every reader supports it, and no MAC addresses have to be invented.
FileHeader file_header() {
  FileHeader header;
  wire::encode_pcap_header(header, wire::LinkType::kRaw);
  return header;
}

struct flock lock_of(short type, off_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

// A file system without locks (ENOLCK, EINVAL) is acceptable: appending alone keeps the records of
// one write together.
bool try_lock(int fd, short type, off_t byte) {
  struct flock lock = lock_of(type, byte);
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool is_locked(int fd, off_t byte) {
  struct flock lock = lock_of(F_WRLCK, byte);
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::string with_pid(std::string name) {
  const std::string pid = std::to_string(::getpid());
  for (std::size_t at = 0; (at = name.find("%p", at)) != std::string::npos; at += pid.size()) {
    name.replace(at, 2, pid);
  }
  return name;
}

std::string refusal(const std::string& file, const char* why, const char* advice) {
  return "capture " + file + ": " + why + "; " + advice;
}

// Why records must not be appended to this file; empty if they may.
std::string unfit(int fd, const std::string& file) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return refusal(file, std::strerror(errno), "name another file");
  if (!S_ISREG(status.st_mode)) return refusal(file, "not a regular file", "name another file");
  // Its owner could read the packets.
  if (status.st_uid != ::geteuid()) {
    return refusal(file, "belongs to another user", "remove it or name another file");
  }
  if (status.st_size == 0) return {};
  FileHeader found{};
  const bool whole = ::pread(fd, found.data(), found.size(), 0) == ssize_t{found.size()};
  if (whole && found == file_header()) return {};
  return refusal(file, "exists and is not a capture of nerve", "remove it or name another file");
}

// A capture contains what programs send, so only their user may read it. A link may lead to a file
// of another user's choice.
int open_file(const std::string& file) {
  return ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                0600);
}

std::string open_refusal(const std::string& file) {
  if (errno == ELOOP) return refusal(file, "a symbolic link", "remove it or name another file");
  return refusal(file, std::strerror(errno), "check that its folder exists and is writable");
}

}  // namespace

Result<std::shared_ptr<PcapFile>, std::string> PcapFile::open(PcapOptions options) {
  options.file = with_pid(std::move(options.file));
  const int fd = open_file(options.file);
  if (fd < 0) {
    return Unexpected{open_refusal(options.file)};
  }
  if (std::string why = unfit(fd, options.file); !why.empty()) {
    ::close(fd);
    return Unexpected{std::move(why)};
  }
  (void)try_lock(fd, F_RDLCK, kInUse);
  return std::shared_ptr<PcapFile>{new PcapFile{std::move(options), fd}};
}

std::string PcapFile::start_anew(const std::string& file) {
  if (file.find("%p") != std::string::npos) return {};
  const int fd = open_file(file);
  if (fd < 0) return open_refusal(file);
  std::string why = unfit(fd, file);
  if (why.empty() && !is_locked(fd, kInUse) && ::ftruncate(fd, 0) != 0) {
    why = refusal(file, std::strerror(errno), "name another file");
  }
  ::close(fd);
  return why;
}

PcapFile::PcapFile(PcapOptions options, int fd) : options_{std::move(options)}, fd_{fd} {
  options_.buffer = std::clamp(options_.buffer, kRecordRoom, kMaxBuffer);
  buffer_.resize(options_.buffer + kRecordRoom);
}

PcapFile::~PcapFile() { finish(); }

void PcapFile::finish() {
  for (int tries = 0; used_ > 0 && tries < 20; ++tries) {
    flush();
    if (used_ == 0) break;
    const timespec moment{.tv_sec = 0, .tv_nsec = 5'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

bool PcapFile::wants_packet() {
  if (options_.packet_limit != 0 && counters_.written >= options_.packet_limit) {
    ++counters_.limited;
    return false;
  }
  if (used_ >= kMaxBuffer) flush();
  if (!failed_ && used_ < kMaxBuffer) return true;
  ++counters_.dropped;
  return false;
}

MutableBytes PcapFile::packet_room() {
  if (buffer_.size() - used_ < kRecordRoom) buffer_.resize(buffer_.size() * 2);
  return MutableBytes{buffer_}.subspan(used_ + PcapReader::kRecordHeader);
}

void PcapFile::record(std::size_t packet_bytes, Time now) {
  const auto original = static_cast<std::uint32_t>(packet_bytes);
  const std::uint32_t kept = std::min(original, options_.snap_length);
  const auto since =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now - options_.start).count();
  const std::uint64_t wall = options_.start_wall_ns + static_cast<std::uint64_t>(since);
  const auto header = MutableBytes{buffer_}.subspan(used_).first<PcapReader::kRecordHeader>();
  wire::encode_pcap_record(header, wall, kept, original);
  used_ += PcapReader::kRecordHeader + kept;
  ++buffered_records_;
  ++counters_.written;
  if (used_ >= options_.buffer) flush();
}

void PcapFile::flush() {
  if (used_ == 0 || !try_lock(fd_.get(), F_WRLCK, kWriting)) return;
  if (!append(Bytes{buffer_}.first(used_))) {
    failed_ = true;  // from here on records are only counted
    counters_.written -= buffered_records_;
    counters_.dropped += buffered_records_;
  }
  (void)try_lock(fd_.get(), F_UNLCK, kWriting);
  used_ = 0;
  buffered_records_ = 0;
}

// All or nothing: a write that a full disk cut short is truncated again, because half a record
// makes the rest of the file unreadable.
bool PcapFile::append(Bytes bytes) {
  struct stat before {};
  if (::fstat(fd_.get(), &before) != 0) return false;
  const FileHeader header = file_header();
  const auto write_all = [this](Bytes left) {
    while (!left.empty()) {
      const ssize_t n = system::write(fd_.get(), left.data(), left.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      left = left.subspan(static_cast<std::size_t>(n));
    }
    return true;
  };
  if ((before.st_size > 0 || write_all(header)) && write_all(bytes)) return true;
  [[maybe_unused]] const int taken_back = ::ftruncate(fd_.get(), before.st_size);
  return false;
}

bool PcapFile::is_shared() const { return is_locked(fd_.get(), kInUse); }

}  // namespace nerve::link
