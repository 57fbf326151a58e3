#include "cli/agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "controller/messages.h"
#include "host/diagnostics/log.h"

namespace nerve::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{100};  // with processes that are asked
constexpr milliseconds kBetweenTurns{500};
constexpr std::size_t kMostPaths = 4096;  // of a report
// A report that takes long to make is made less often.
constexpr int kShareOfTime = 20;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "?";
  return name.data();
}

}  // namespace

Result<AgentSettings, std::string> agent_settings(const host::Config& config) {
  auto addresses = controller_addresses(config.controller);
  if (!addresses) return Unexpected{"--controller " + addresses.error()};
  if (config.controller_key.empty()) {
    return Unexpected{std::string{
        "--controller needs --controller-key FILE; `nerve key FILE` creates one for all hosts"}};
  }
  auto key = read_controller_key(config.controller_key);
  if (!key) return Unexpected{"--controller-key " + key.error()};
  return AgentSettings{.controller = config.controller,
                       .addresses = *std::move(addresses),
                       .key = *std::move(key),
                       .port = config.port};
}

Agent::Agent(AgentSettings settings)
    : settings_{std::move(settings)},
      link_{settings_.addresses, settings_.key},
      sockets_{settings_.port},
      wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

void Agent::start() {
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error&) {
    host::say("controller %s: no thread can be started; paths stay as they are",
              settings_.controller.c_str());
  }
}

void Agent::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Agent::wait(milliseconds at_most) {
  std::vector<pollfd> waiting{{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                              link_.waits_for()};
  sockets_.add_to(waiting);
  (void)::poll(waiting.data(), waiting.size(), static_cast<int>(at_most.count()));
}

bool Agent::wait_for_turn() {
  while (!stopping_) {
    turn_ = host::Turn::take(host::TurnTo::kSteer);
    if (turn_) return true;
    pollfd wake{.fd = wake_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&wake, 1, static_cast<int>(kBetweenTurns.count()));
  }
  return false;
}

void Agent::run() {
  if (!wait_for_turn()) return;
  while (!stopping_) {
    const Moment now = Clock::now();
    for (const std::string& body : link_.advance(now)) carry_out(body, now);
    const auto problem = link_.take_problem();
    if (problem && !warned_ && link_.sessions() == 0) {
      warned_ = true;
      host::say("controller %s: %s; paths stay as they are until it answers",
                settings_.controller.c_str(), problem->c_str());
    } else if (problem) {
      host::log(host::LogLevel::kInfo, "controller %s: %s", settings_.controller.c_str(),
                problem->c_str());
    }
    take_answers(now);
    if (now >= look_at_) look_at_flows(now);
    prober_.expire(now);
    report(now);
    const Moment next = std::min({look_at_, prober_.next_deadline(), link_.next_deadline()});
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
    wait(std::clamp(left, milliseconds{0}, kSignOfLife));
  }
}

void Agent::look_at_flows(Moment now) {
  const host::FlowsOfHost host = host::list_flows(kPatience);
  flows_.take(host);
  prober_.use(flows_.flows(), now);
  if (flows_.retransmits()) prober_.hurry();
  // A process that is stopped costs the whole patience each time.
  look_at_ = now + (!host.complete           ? kSignOfLife
                    : flows_.flows().empty() ? kIdle
                                             : kBetweenReports);
}

void Agent::report(Moment now) {
  if (!link_.ready() || now < report_at_) return;
  const bool first = session_ != link_.sessions();
  const bool news = flows_.changed() || flows_.retransmits() || prober_.any_measured();
  if (!first && !news && now < life_at_) return;
  controller::Report report{
      .host = host_name(), .flows = flows_.flows(), .paths = prober_.take_measured(kMostPaths)};
  std::string text = to_text(report);
  while (text.size() > ControllerSession::kMaxBody) {
    report.flows.resize(report.flows.size() / 2);
    text = to_text(report);
  }
  link_.send(text, now);
  flows_.reported();
  session_ = link_.sessions();
  const auto took = Clock::now() - now;
  report_at_ = now + std::max<Clock::duration>(kBetweenReports, took * kShareOfTime);
  life_at_ = now + kSignOfLife;
}

void Agent::carry_out(const std::string& text, Moment now) {
  const auto orders = controller::read_orders(text);
  if (!orders) return link_.fail("it sent an invalid message: " + orders.error(), now);
  for (const controller::ProbeOrder& probe : orders->probes) prober_.measure(probe, now);
  if (!orders->flows.empty()) look_at_ = now;
  std::vector<host::SteeringOrder> steering;
  for (const controller::FlowOrder& order : orders->flows) {
    // The program binds the port when it sends the next packet.
    if (order.port != 0) prober_.release(order.port);
    steering.push_back({.qpn = order.qpn,
                        .peer = order.peer,
                        .source_port = order.port,
                        .rate_limit = order.rate_limit});
  }
  if (steering.empty()) return;
  const host::SteeringResult result = host::steer(steering, kPatience);
  host::log(host::LogLevel::kDebug, "controller: %llu flows redirected, %llu orders refused",
            static_cast<unsigned long long>(result.redirected),
            static_cast<unsigned long long>(result.refused));
}

void Agent::take_answers(Moment now) {
  for (const int socket : sockets_.sockets()) {
    while (const auto answer = ProbeSockets::receive(socket)) prober_.answered(*answer, now);
  }
}

}  // namespace nerve::cli
