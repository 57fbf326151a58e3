#include "tests/ai/ranks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace ai_test {
namespace {

struct Child {
  pid_t pid{};
  int pipe{};
};

std::string run_one(const GroupOptions& options, const Work& work) {
  auto group = Group::join(options);
  if (!group) return "joining: " + group.error().text;
  return work(**group);
}

Child start(const GroupOptions& options, const Work& work) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t pid = ::fork();
  if (pid != 0) {
    ::close(ends[1]);
    return {pid, ends[0]};
  }
  ::close(ends[0]);
  const std::string result = run_one(options, work);
  const ssize_t written = ::write(ends[1], result.data(), result.size());
  ::_exit(written == static_cast<ssize_t>(result.size()) ? 0 : 1);
}

std::string finish(const Child& child) {
  std::string text;
  char part[4096];
  for (ssize_t count = 1; count > 0;) {
    count = ::read(child.pipe, part, sizeof part);
    if (count > 0) text.append(part, static_cast<std::size_t>(count));
  }
  ::close(child.pipe);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  if (WIFSIGNALED(status)) return "killed";
  if (WEXITSTATUS(status) != 0) return "exit status " + std::to_string(WEXITSTATUS(status));
  return text;
}

}  // namespace

Folder::Folder() {
  std::string name = std::filesystem::temp_directory_path() / "nerve-ai-XXXXXX";
  path_ = ::mkdtemp(name.data());
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::vector<std::string> run_ranks(const Setup& setup, const Work& work) {
  const Folder folder;
  std::vector<Child> children;
  for (int rank = 0; rank < setup.ranks; ++rank) {
    children.push_back(start({.rank = rank,
                              .size = setup.ranks,
                              .rendezvous = folder.url(),
                              .transport = setup.transport,
                              .qps_per_peer = setup.qps_per_peer,
                              .timeout = setup.timeout},
                             work));
  }
  std::vector<std::string> results;
  for (const Child& child : children) results.push_back(finish(child));
  return results;
}

std::string complaints(const std::vector<std::string>& results) {
  std::string all;
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    if (!results[rank].empty()) all += "rank " + std::to_string(rank) + ": " + results[rank] + "\n";
  }
  return all;
}

}  // namespace ai_test
