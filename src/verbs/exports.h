// Objects that can be imported by number through a context's command descriptor.
//
// With a kernel driver the numbers belong to the open file, and any process with a copy of the
// descriptor can use them. Here the objects live in the engine of this process, so the file only
// identifies the contexts that share them; another process cannot import.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace nerve::verbs {

struct VerbsPd;
struct VerbsMr;
struct VerbsDm;

class Exports {
 public:
  // Null if no descriptor is available.
  static std::shared_ptr<Exports> create(const std::string& device_name);
  // Finds the exports of a descriptor; null if it is not one of ours.
  static std::shared_ptr<Exports> find(int fd);

  ~Exports();
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const std::string& device_name() const { return device_name_; }

  std::mutex lock;
  std::map<std::uint32_t, VerbsPd*> pds;
  std::map<std::uint32_t, VerbsMr*> mrs;
  std::map<std::uint32_t, VerbsDm*> dms;

 private:
  Exports(int fd, std::string device_name);
  int fd_;
  std::string device_name_;
};

}  // namespace nerve::verbs
