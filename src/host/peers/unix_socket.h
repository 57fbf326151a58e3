// Messages with descriptors between processes of one user, over sockets with abstract names.
//
// An abstract name lives as long as its socket and belongs to a network namespace: a process that
// is killed leaves nothing behind, and two containers do not meet. Anybody may bind or call any
// name, so both sides look at the other's credentials first.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "host/peers/mapping.h"

namespace nerve::host {

// An invalid descriptor, and errno, when the name is taken or nobody listens. Who holds a name is
// not called before he listens: callers hear at once that nobody is there.
[[nodiscard]] Descriptor hold_name(const std::string& name);
[[nodiscard]] bool listen_to_calls(int socket);
[[nodiscard]] Descriptor call(const std::string& name);
[[nodiscard]] Descriptor accept_from(int listener);

// The process at the other end, if it runs under our own user.
[[nodiscard]] std::optional<pid_t> own_peer(int socket);

// Whether the other end of a connection is there.
[[nodiscard]] bool is_open(int connection);

struct Message {
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;
};

[[nodiscard]] bool send_message(int socket, Bytes bytes, std::span<const int> descriptors);
// Waits at most `patience`. Nothing on timeout, on a message that is too long, and at the end.
[[nodiscard]] std::optional<Message> receive_message(int socket,
                                                     std::chrono::milliseconds patience);

// The abstract names in use that begin with `prefix`, without the prefix. Nothing where the
// kernel's table of them cannot be read.
[[nodiscard]] std::optional<std::vector<std::string>> abstract_names(const std::string& prefix);

}  // namespace nerve::host
