// Messages with descriptors between processes of one user, over sockets with abstract names, and
// with the same names in the user's private folder, if there is one (private_folder.h).
//
// An abstract name exists as long as its socket, and belongs to a network namespace: a killed
// process leaves nothing behind, and two containers do not see each other. Any process may bind or
// connect to any name, so both sides check the other's credentials first.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "host/peers/mapping.h"
#include "host/peers/private_folder.h"

namespace nerve::host {

// These return an invalid descriptor, with errno, if the name is taken or no process listens there.
// Holding a name is not listening: until listen_to_calls(), callers are refused at once.
[[nodiscard]] Descriptor hold_name(const std::string& name);
// The same in the private folder. Replaces the socket of a dead process; the caller has made sure
// that no live one has the name.
[[nodiscard]] Descriptor hold_private(const PrivateFolder& folder, const std::string& name);
[[nodiscard]] bool listen_to_calls(int socket);
// Calls the name in the private folder, or if no process listens there, the abstract name.
[[nodiscard]] Descriptor call(const std::string& name);
[[nodiscard]] Descriptor accept_from(int listener);

// The pid of the process at the other end, if it runs under our user.
[[nodiscard]] std::optional<pid_t> own_peer(int socket);

// True if the other end of the connection is still open.
[[nodiscard]] bool is_open(int connection);

struct Message {
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;
};

[[nodiscard]] bool send_message(int socket, Bytes bytes, std::span<const int> descriptors);
// Waits at most `patience`. Nothing on timeout, if the message is too long, or if the connection
// was closed.
[[nodiscard]] std::optional<Message> receive_message(int socket,
                                                     std::chrono::milliseconds patience);

// The abstract names in use that begin with `prefix`, without the prefix. Nothing if /proc/net/unix
// cannot be read.
[[nodiscard]] std::optional<std::vector<std::string>> abstract_names(const std::string& prefix);

}  // namespace nerve::host
