// Exports the interface of rdmacm/door.h to the preload library.
#include "rdmacm/door.h"

#include "rdmacm/device.h"

using namespace nerve::rdmacm;

extern "C" [[gnu::visibility("default")]] const Door* nerve_rdmacm_door() noexcept {
  static constexpr Door kDoor{
      .open = [] { return open_device(); },
      .write =
          [](int fd, const void* bytes, std::size_t size) {
            return write_device(fd, {static_cast<const std::byte*>(bytes), size});
          },
      .prepare_close = [](int fd) { prepare_close(fd); },
      .close = [](int fd) { close_device(fd); }};
  return &kDoor;
}
