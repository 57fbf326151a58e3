// The list of devices: names, GUIDs, and their sysfs paths.
#include "verbs/device.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "host/host.h"

namespace nerve::verbs {
namespace {

// Devices that a list or a context refers to, so that a program gets the same pointer each time.
// Never destroyed: programs close devices in their exit handlers.
struct DeviceRegistry {
  std::mutex lock;
  std::vector<VerbsDevice*> devices;
};

DeviceRegistry& device_registry() {
  static DeviceRegistry* const only = new DeviceRegistry;
  return *only;
}

std::uint64_t big_endian(std::uint64_t value) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

VerbsDevice* make_device(const host::Device& info) {
  auto* fresh = new VerbsDevice;
  fresh->info = info;
  ibv_device& device = fresh->device;
  device.node_type = IBV_NODE_CA;  // as RoCE adapters report
  device.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(device.name, sizeof device.name, "%s", info.name.c_str());
  std::snprintf(device.dev_name, sizeof device.dev_name, "uverbs%u", info.index);
  std::snprintf(device.dev_path, sizeof device.dev_path, "%s/class/infiniband_verbs/uverbs%u",
                ibv_get_sysfs_path(), info.index);
  std::snprintf(device.ibdev_path, sizeof device.ibdev_path, "%s/class/infiniband/%s",
                ibv_get_sysfs_path(), info.name.c_str());
  return fresh;
}

// Called with the registry's lock held.
VerbsDevice* find_or_make(const host::Device& info) {
  for (VerbsDevice* known : device_registry().devices) {
    if (known->info.name != info.name || known->info.interface != info.interface) continue;
    known->info = info;
    return known;
  }
  return device_registry().devices.emplace_back(make_device(info));
}

// Called with the registry's lock held.
void drop(VerbsDevice& device) {
  if (--device.references > 0) return;
  std::erase(device_registry().devices, &device);
  delete &device;
}

}  // namespace

void retain(VerbsDevice& device) {
  const std::scoped_lock guard{device_registry().lock};
  ++device.references;
}

void release(VerbsDevice& device) {
  const std::scoped_lock guard{device_registry().lock};
  drop(device);
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_device** ibv_get_device_list(int* count) VERBS_NOEXCEPT {
  if (count != nullptr) *count = 0;
  const std::vector<host::Device> found = host::Host::current().devices();
  auto** list = static_cast<ibv_device**>(std::calloc(found.size() + 1, sizeof(void*)));
  if (list == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::scoped_lock guard{device_registry().lock};
  for (std::size_t i = 0; i < found.size(); ++i) {
    VerbsDevice* device = find_or_make(found[i]);
    ++device->references;
    list[i] = &device->device;
  }
  if (count != nullptr) *count = static_cast<int>(found.size());
  return list;
}

void ibv_free_device_list(ibv_device** list) VERBS_NOEXCEPT {
  if (list == nullptr) return;
  const std::scoped_lock guard{device_registry().lock};
  for (ibv_device** entry = list; *entry != nullptr; ++entry) drop(ours(*entry));
  std::free(list);
}

const char* ibv_get_device_name(ibv_device* device) VERBS_NOEXCEPT { return device->name; }

// The kernel assigns this index, and programs pass it back to the kernel over netlink. Our devices
// have none: -1 keeps programs from querying a device of the kernel that has the same number.
int ibv_get_device_index(ibv_device* /*device*/) VERBS_NOEXCEPT { return -1; }

__be64 ibv_get_device_guid(ibv_device* device) VERBS_NOEXCEPT {
  return big_endian(ours(device).info.node_guid);
}

const char* ibv_get_sysfs_path(void) VERBS_NOEXCEPT {
  static const std::string* const path = [] {
    const char* given = ::secure_getenv("SYSFS_PATH");
    auto* text = new std::string{given != nullptr ? given : "/sys"};
    while (text->size() > 1 && text->back() == '/') text->pop_back();
    return text;
  }();
  return path->c_str();
}

// Reads the first line of a file, without its newline. Returns -1 if there is no such file.
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer,
                        size_t size) VERBS_NOEXCEPT {
  const std::string path = std::string{directory} + '/' + file;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t length = ::read(fd, buffer, size);
  ::close(fd);
  if (length > 0 && buffer[length - 1] == '\n') --length;
  if (length >= 0 && static_cast<size_t>(length) < size) buffer[length] = '\0';
  return static_cast<int>(length);
}

}  // extern "C"
