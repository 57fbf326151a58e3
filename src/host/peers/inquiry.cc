#include "host/peers/inquiry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>

#include "host/peers/greeting.h"
#include "host/peers/membership.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Call {
  ProcessReport report;
  Descriptor connection;
};

// Nothing if the slot is empty or belongs to another user.
std::optional<Call> begin_call(std::uint32_t slot) {
  Descriptor connection = call(name_of_slot(slot));
  const std::optional<pid_t> pid = connection ? own_peer(connection.get()) : std::nullopt;
  if (!pid) return std::nullopt;
  const auto request = Request{.kind = RequestKind::kReport, .slot = 0}.encode();
  (void)send_message(connection.get(), request, {});
  Call begun{.report = {}, .connection = std::move(connection)};
  begun.report.pid = *pid;
  begun.report.slot = slot;
  return begun;
}

std::string name_of(pid_t pid) {
  std::string name;
  std::ifstream file{"/proc/" + std::to_string(pid) + "/comm"};
  std::getline(file, name);
  return name;
}

std::string printable(std::string_view text) {
  std::string result{text};
  std::ranges::replace_if(
      result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<QpReport> read_qp(std::string_view text) {
  std::array<std::string, 8> words;
  std::size_t count = 0;
  while (!text.empty() && count < words.size()) {
    const std::string_view word = text.substr(0, text.find(' '));
    words[count++] = printable(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  const auto number = number_of(words[1]);
  const auto peer = number_of(words[4]);
  const auto rate = number_of(words[7]);
  if (count != words.size() || !text.empty() || !number || !peer || !rate) return std::nullopt;
  return QpReport{.device = words[0],
                  .number = *number,
                  .type = words[2],
                  .state = words[3],
                  .peer = *peer,
                  .address = words[5],
                  .path = words[6],
                  .rate = *rate};
}

}  // namespace

std::uint64_t ProcessReport::operator[](const std::string& name) const {
  const auto found = counters.find(name);
  return found != counters.end() ? found->second : 0;
}

void read_report(std::string_view text, ProcessReport& into) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, space);
    const std::string_view value = line.substr(space + 1);
    if (name == "program") into.program = printable(value);
    if (name == "qp") {
      if (auto qp = read_qp(value)) into.qps.push_back(*std::move(qp));
    } else if (const auto number = number_of(value)) {
      into.counters.insert_or_assign(printable(name), *number);
    }
  }
}

std::vector<ProcessReport> ask_processes(milliseconds patience) {
  // Send all requests before waiting for the first answer, so that stopped processes cost one
  // timeout together.
  std::vector<Call> calls;
  for (const std::uint32_t slot : live_slots()) {
    if (auto begun = begin_call(slot)) calls.push_back(std::move(*begun));
  }
  const auto give_up = Clock::now() + patience;
  std::vector<ProcessReport> reports;
  for (Call& open : calls) {
    const auto left = std::chrono::ceil<milliseconds>(give_up - Clock::now());
    const auto message = receive_message(open.connection.get(), std::max(left, milliseconds{0}));
    const auto text = message ? decode_answer(message->bytes) : std::nullopt;
    if (text && text->empty()) continue;  // a secondary shard: the primary reports for it
    open.report.answered = text.has_value();
    if (text) read_report(*text, open.report);
    if (open.report.program.empty()) open.report.program = printable(name_of(open.report.pid));
    reports.push_back(std::move(open.report));
  }
  std::ranges::sort(reports, {}, &ProcessReport::pid);
  return reports;
}

}  // namespace nerve::host
