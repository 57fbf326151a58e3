// `nerve trace`: runs a program and shows every step of its messages.
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/page_file.h"
#include "cli/run.h"
#include "cli/run_folder.h"
#include "cli/trace_document.h"
#include "cli/trace_files.h"
#include "cli/trace_page.h"

namespace nerve::cli {
namespace {

constexpr const char* kTraceFooter = R"(
Runs CMD as `nerve run` does, with the same options, and writes a page that shows what happened to
each message: posted, made into packets, sent, received, checked, placed, acknowledged, completed,
polled. A page has all programs that CMD starts, also those that are killed.

Each QP records its first N messages in each direction, and all retransmissions, NAKs, refused
packets, errors and connection messages.

For two ends in two terminals, give both the same folder; the page of the one that ends last has
both. Without CMD, it makes the page of what the folder has. docs/trace.md explains the page.

Exit code: that of CMD, as with `nerve run`; without CMD, 0, or 1 if there is no trace.

Examples:
    nerve trace -- sh -c 'ib_send_lat & sleep 1; ib_send_lat localhost'
    nerve trace --fault 'drop=3' --out lost.html -- sh -c 'ib_write_bw & sleep 1; ib_write_bw localhost'
    nerve trace --folder both -- ib_send_lat          # in one terminal
    nerve trace --folder both -- ib_send_lat 192.0.2.1    # in another)";

struct TraceOptions {
  RunOptions run;
  std::string page;  // HTML, without a document
  std::string out{"nerve-trace.html"};
  std::string json;
  std::string chrome;
  std::string folder;
  std::uint64_t messages{1000};
};

// A folder for the files of one run, in the user's folder for temporary files.
std::string temporary_folder() {
  std::error_code ignored;
  std::filesystem::path place = std::filesystem::temp_directory_path(ignored);
  if (place.empty()) place = "/tmp";
  std::string name = (place / "nerve-trace-XXXXXX").string();
  return ::mkdtemp(name.data()) != nullptr ? name : std::string{};
}

std::string title_of(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

bool write(const TraceOptions& options, const std::string& folder) {
  TraceFolder found = read_trace_folder(folder);
  for (const std::string& problem : found.problems) {
    fmt::print(stderr, "nerve trace: {}\n", problem);
  }
  if (found.traces.empty()) {
    fmt::print(stderr, "nerve trace: no program opened an RDMA device: nothing was traced\n");
    return false;
  }
  const std::string title = options.run.command.empty() ? folder : title_of(options.run.command);
  const TraceDocument document = make_trace_document(title, found.traces);
  const std::string json = trace_json(document);
  bool written = write_file("trace", options.out, trace_page(options.page, json));
  if (!options.json.empty()) written = write_file("trace", options.json, json) && written;
  if (!options.chrome.empty()) {
    written = write_file("trace", options.chrome, chrome_json(document)) && written;
  }
  for (const std::string& note : document.notes) fmt::print(stderr, "nerve trace: {}\n", note);
  if (!written) return false;
  fmt::print(stderr, "nerve trace: {} messages, {} steps of {} processes: open {} in a browser\n",
             document.messages.size(), document.events.size(), document.ends.size(), options.out);
  return true;
}

int trace(TraceOptions& options) {
  auto page = read_page("trace.html");
  if (!page) {
    fmt::print(stderr, "nerve trace: {}\n", page.error());
    return kExitFailed;
  }
  options.page = *std::move(page);
  const bool kept = !options.folder.empty();
  if (options.run.command.empty()) {
    if (kept) return write(options, options.folder) ? kExitOk : kExitFailed;
    fmt::print(stderr, "nerve trace: no program given; try: nerve trace -- ib_send_lat\n");
    return kExitUsage;
  }
  if (kept && !make_folder("trace", options.folder)) return kExitUsage;
  const std::string folder =
      kept ? std::filesystem::absolute(options.folder).string() : temporary_folder();
  if (folder.empty()) {
    fmt::print(stderr, "nerve trace: no folder for temporary files can be made; set TMPDIR\n");
    return kExitFailed;
  }
  const auto clean = [&] {
    std::error_code ignored;
    if (!kept) std::filesystem::remove_all(folder, ignored);
  };
  options.run.variables = {{"NERVE_TRACE_FOLDER", folder},
                           {"NERVE_TRACE_MESSAGES", std::to_string(options.messages)}};
  options.run.at_end = [&] {
    (void)write(options, folder);
    clean();
  };
  const int code = run_program(options.run);
  clean();
  return code;
}

}  // namespace

void add_trace(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* command = program.add_subcommand(
      "trace", "Run a program and show every step of its messages: nerve trace -- CMD...");
  command->add_option("CMD", options->run.command, "the program and its arguments");
  command->add_option("--out", options->out, "the page to write [nerve-trace.html]")
      ->type_name("FILE");
  command->add_option("--json", options->json, "also write the document as JSON")
      ->type_name("FILE");
  command->add_option("--chrome", options->chrome, "also write Chrome trace events, for Perfetto")
      ->type_name("FILE");
  command->add_option("--messages", options->messages, "messages of each QP and direction [1000]")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--folder", options->folder, "keep the records there; others may add theirs")
      ->type_name("DIR");
  add_settings(*command, options->run, "trace_");
  command->footer(kTraceFooter);
  command->callback([options, &exit_code] { exit_code = trace(*options); });
}

}  // namespace nerve::cli
