#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ai/rendezvous.h"

namespace nerve::ai {
namespace {

class FileStore final : public Store {
 public:
  explicit FileStore(std::string folder) : folder_{std::move(folder)} {}

  // Written under another name and linked to its own, so that readers never see a part of it and a
  // second writer of the same key fails.
  Status set(const std::string& key, const std::string& value) override {
    const std::string file = folder_ + "/" + key;
    const std::string draft = file + "." + std::to_string(::getpid()) + "." +
                              std::to_string(reinterpret_cast<std::uintptr_t>(this));
    const Descriptor out{::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (!out.open()) return system_failure("cannot create " + draft);
    const ssize_t written = ::write(out.get(), value.data(), value.size());
    const bool whole = written == static_cast<ssize_t>(value.size());
    const int linked = whole ? ::link(draft.c_str(), file.c_str()) : -1;
    const int error = errno;
    ::unlink(draft.c_str());
    if (linked == 0) return Done{};
    if (error == EEXIST) {
      return failure(Error::Kind::kUsage,
                     file +
                         " exists: two processes have the same rank, or an earlier group left "
                         "its files; use an empty folder for each group");
    }
    errno = error;
    return system_failure("cannot write " + file);
  }

  Result<std::optional<std::string>, Error> get(const std::string& key) override {
    const std::string file = folder_ + "/" + key;
    const Descriptor in{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (!in.open()) {
      if (errno == ENOENT) return std::optional<std::string>{};
      return passed_on(system_failure("cannot read " + file));
    }
    std::string value(kLongestMessage + 1, '\0');
    const ssize_t count = ::read(in.get(), value.data(), value.size());
    if (count < 0) return passed_on(system_failure("cannot read " + file));
    if (static_cast<std::size_t>(count) > kLongestMessage) {
      return failure(Error::Kind::kProtocol, file + " is longer than " +
                                                 std::to_string(kLongestMessage) +
                                                 " bytes: no rank of a group wrote it");
    }
    value.resize(static_cast<std::size_t>(count));
    return std::optional{value};
  }

 private:
  static Status system_failure(const std::string& what) {
    return failure(Error::Kind::kSystem, what + ": " + std::strerror(errno));
  }

  std::string folder_;
};

}  // namespace

Result<std::shared_ptr<Store>, Error> open_file_store(const std::string& folder) {
  if (folder.empty() || folder[0] != '/') {
    return failure(Error::Kind::kUsage,
                   "file://" + folder + " is not an absolute folder; write file:///tmp/group1");
  }
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure(Error::Kind::kSystem,
                   "cannot create the folder " + folder + ": " + std::strerror(errno));
  }
  return std::shared_ptr<Store>{std::make_shared<FileStore>(folder)};
}

}  // namespace nerve::ai
