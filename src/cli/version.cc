#include "cli/version.h"

#include <unistd.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/run_plan.h"
#include "cli/this_program.h"

namespace nerve::cli {
namespace {

constexpr const char* kCompiler =
#if defined(__clang__)
    "Clang " __clang_version__;
#else
    "GCC " __VERSION__;
#endif

constexpr const char* kMachine =
#if defined(__aarch64__)
    "arm64";
#elif defined(__x86_64__)
    "x86-64";
#else
        "another machine";
#endif

}  // namespace

std::string version_text(const std::string& library) {
  return std::string{"nerve " NERVE_VERSION "\ncommit     "} + commit() + "\ncompiler   " +
         kCompiler + " for " + kMachine + "\nfeatures   " NERVE_FEATURES "\nlibrary    " +
         (library.empty() ? "not found; " + how_to_restore() : library + "/libibverbs.so.1") + "\n";
}

int print_version() {
  const std::filesystem::path program = this_program();
  const auto folder = find_library_folder(program.string());
  (void)std::fputs(version_text(folder.value_or("")).c_str(), stdout);
  (void)std::fflush(stdout);
  const std::string simulator = simulator_of(program).string();
  ::execl(simulator.c_str(), "nerve-sim", "--version", nullptr);
  (void)std::fprintf(stdout, "simulator  not found; %s\n", how_to_restore().c_str());
  return folder ? kExitOk : kExitFailed;
}

}  // namespace nerve::cli
