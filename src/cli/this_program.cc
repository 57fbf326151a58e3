#include "cli/this_program.h"

#include <system_error>

namespace nerve::cli {
namespace fs = std::filesystem;

fs::path this_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

bool in_build_tree(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return folder.filename() == "cli" && folder.parent_path().filename() == "src";
}

fs::path simulator_of(const fs::path& program) {
  const fs::path folder = program.parent_path();
  return in_build_tree(program) ? folder / "nerve-sim"
                                : (folder / "../lib/nerve/nerve-sim").lexically_normal();
}

fs::path page_of(const fs::path& program, std::string_view name) {
  const fs::path folder = program.parent_path();
  if (in_build_tree(program)) return (folder / "../../web/pages" / name).lexically_normal();
  const bool simulator = program.filename() == "nerve-sim";  // in lib/nerve
  return (folder / (simulator ? "pages" : "../lib/nerve/pages") / name).lexically_normal();
}

std::string command_name() { return in_build_tree(this_program()) ? "./nerve" : "nerve"; }

std::string how_to_restore() {
  return in_build_tree(this_program()) ? "build it: ./nerve build"
                                       : "install Nerve again: its files are incomplete";
}

std::string readme() {
  const fs::path program = this_program();
  if (in_build_tree(program)) return "README.md";
  return (program.parent_path() / "../share/doc/nerve/README.md").lexically_normal().string();
}

}  // namespace nerve::cli
