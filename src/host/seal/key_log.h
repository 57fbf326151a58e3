// The file to which the keys of sealed QPs are written if the user asks for it (seal_key_log), so
// that `nerve decode --keys` can open a capture of their packets. Who reads it can read them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "host/seal/key_line.h"
#include "link/descriptor.h"

namespace nerve::host {

class KeyLog {
 public:
  // Appends to the file, or creates it with mode 0600. The error is a sentence: the file is a link,
  // not a log of keys, or other users can read it.
  [[nodiscard]] static Result<std::shared_ptr<KeyLog>, std::string> open(const std::string& path);

  // One call to write(): processes share the file.
  void write(const KeyLine& line);

 private:
  KeyLog(std::string path, link::Descriptor file)
      : path_{std::move(path)}, file_{std::move(file)} {}

  std::string path_;
  link::Descriptor file_;
  std::atomic<bool> complained_{};  // shards share the log
};

}  // namespace nerve::host
