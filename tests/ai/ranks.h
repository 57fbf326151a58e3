// Runs one function in several processes that have joined a group, and collects what went wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ai/group.h"

namespace ai_test {

using nerve::ai::Group;
using nerve::ai::GroupOptions;

// Returns an empty text if all is well.
using Work = std::function<std::string(Group& group)>;

struct Setup {
  int ranks{2};
  std::string transport{"rdma"};
  int qps_per_peer{1};
  std::chrono::milliseconds timeout{60'000};
};

// A new empty folder, removed with everything in it at the end.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string url() const { return "file://" + path_ + "/group"; }

 private:
  std::string path_;
};

// What each rank returned; "killed" if a signal ended it, "joining: ..." if it did not join.
std::vector<std::string> run_ranks(const Setup& setup, const Work& work);
// The complaints of all ranks in one text.
std::string complaints(const std::vector<std::string>& results);

}  // namespace ai_test
