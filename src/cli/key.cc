// `nerve key`: creates a file with keys for sealed QPs.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "host/seal/key_file.h"
#include "host/seal/libcrypto.h"

namespace nerve::cli {
namespace {

constexpr const char* kKeyFooter = R"(
A QP is sealed, that is encrypted and authenticated, if both hosts ask for it:

  nerve key ~/.nerve-key                    on one host; copy the file to the others
  nerve run --seal require --seal-key ~/.nerve-key -- PROGRAM

With --pair each host has a key of its own, which never leaves it. The command prints the public key;
write it below [peers] in the other hosts' files:

  [peers]
  "10.0.0.2" = "PUBLIC KEY"

Nobody but its owner may read the file. docs/security.md has the details.

Exit code: 0  the file was created
           1  it exists, or cannot be created)";

int make_key(const std::string& path, bool pair) {
  const auto library = host::Libcrypto::load();
  if (!library) {
    fmt::print(stderr, "nerve key: {}\n", library.error());
    return kExitFailed;
  }
  if (pair) {
    const auto made = host::make_private_key(**library, path);
    if (made) {
      fmt::print("{}\n", *made);
      return kExitOk;
    }
    fmt::print(stderr, "nerve key: {}\n", made.error());
    return kExitFailed;
  }
  if (const auto problem = host::make_preshared_key(**library, path)) {
    fmt::print(stderr, "nerve key: {}\n", *problem);
    return kExitFailed;
  }
  return kExitOk;
}

}  // namespace

void add_key(CLI::App& program, int& exit_code) {
  struct Options {
    std::string path;
    bool pair{};
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("key", "Create a file with keys for sealed QPs");
  command->add_option("FILE", options->path, "the file to create")->required();
  command->add_flag("--pair", options->pair, "a key pair for this host instead of a shared key");
  command->footer(kKeyFooter);
  command->callback([options, &exit_code] { exit_code = make_key(options->path, options->pair); });
}

}  // namespace nerve::cli
