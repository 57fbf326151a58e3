// The lines of the table. The aims are the project's own; a ratio is always ours to the
// baseline's.
#include <fmt/format.h>

#include "bench/live/plan.h"

namespace nerve::bench {
namespace {

using Words = std::vector<std::string>;

constexpr std::uint32_t kSmall = 8;
constexpr std::uint32_t kMiddle = 64U << 10U;
constexpr std::uint32_t kLarge = 1U << 20U;

std::string size_text(std::uint32_t bytes) {
  if (bytes >= 1U << 20U) return fmt::format("{} MB", bytes >> 20U);
  return bytes >= 1U << 10U ? fmt::format("{} KB", bytes >> 10U) : fmt::format("{} B", bytes);
}

Aim at_most(double limit) { return {Aim::Kind::kAtMost, limit}; }
Aim at_least(double limit) { return {Aim::Kind::kAtLeast, limit}; }
Aim below(double limit) { return {Aim::Kind::kBelow, limit}; }

// How each figure is measured. Latencies are medians if the program reports them.
class Figures {
 public:
  explicit Figures(Effort effort) : quick_{effort == Effort::kQuick} {}

  [[nodiscard]] Figure latency(const std::string& program, const std::string& transport) const {
    return perftest(program, kSmall, transport, Unit::kMicroseconds, {"-n", count(50'000, 5'000)});
  }
  [[nodiscard]] Figure bandwidth(const std::string& program, std::uint32_t size,
                                 const std::string& transport) const {
    return perftest(program, size, transport, Unit::kGigabytes,
                    {"-D", seconds(), "--report_gbits"});
  }
  [[nodiscard]] Figure messages(const std::string& transport) const {
    return perftest("ib_write_bw", kSmall, transport, Unit::kMillions,
                    {"-D", seconds(), "--report_gbits"});
  }
  // The same with all packets sealed.
  [[nodiscard]] static Figure sealed(Figure figure) {
    figure.name += ", sealed";
    figure.settings["NERVE_SEAL"] = "require";
    return figure;
  }
  [[nodiscard]] Figure idle(const std::string& transport) const {
    Figure figure = own("idle, 1000 QPs, " + transport, Unit::kPercent);
    figure.program = "nerve_live_idle";
    figure.options = {"1000", count(5, 2)};
    figure.settings = {{"NERVE_TRANSPORT", transport}};
    return figure;
  }

  [[nodiscard]] Figure ucx_latency(const std::string& transport) const {
    return ucx("tag_lat", kSmall, transport, Unit::kMicroseconds,
               {"-n", count(200'000, 20'000), "-w", "1000"});
  }
  [[nodiscard]] Figure ucx_bandwidth(const std::string& transport) const {
    return ucx("tag_bw", kLarge, transport, Unit::kGigabytes,
               {"-n", count(10'000, 3'000), "-w", "100"});
  }
  [[nodiscard]] Figure fabric_latency(const std::string& provider) const {
    return fabric(kSmall, provider, Unit::kMicroseconds, count(50'000, 5'000));
  }
  [[nodiscard]] Figure fabric_bandwidth(const std::string& provider) const {
    return fabric(kLarge, provider, Unit::kGigabytes, count(2'000, 500));
  }
  [[nodiscard]] Figure iperf3() const {
    return {.name = "iperf3, TCP",
            .tool = Tool::kIperf3,
            .program = "iperf3",
            .package = "iperf3",
            .options = {"-J", "-t", seconds(), "-l", "1M"},
            .settings = {},
            .unit = Unit::kGigabytes};
  }
  [[nodiscard]] Figure udp_pingpong() const {
    return baseline("UDP ping-pong 8 B", "udp", Unit::kMicroseconds, count(100'000, 20'000));
  }
  [[nodiscard]] Figure placing() const {
    return baseline("process_vm_writev ping-pong 8 B", "place", Unit::kMicroseconds,
                    count(200'000, 50'000));
  }
  [[nodiscard]] Figure memory_copy() const {
    return baseline("memcpy 1 MB", "memcpy", Unit::kGigabytes, count(20'000, 5'000));
  }

 private:
  [[nodiscard]] std::string count(int whole, int quick) const {
    return std::to_string(quick_ ? quick : whole);
  }
  [[nodiscard]] std::string seconds() const { return count(2, 1); }

  [[nodiscard]] static Figure perftest(const std::string& program, std::uint32_t size,
                                       const std::string& transport, Unit unit,
                                       const Words& options) {
    Figure figure{.name = fmt::format("{} {}, {}", program, size_text(size), transport),
                  .tool = Tool::kPerftest,
                  .program = program,
                  .package = "perftest",
                  .options = {"-s", std::to_string(size)},
                  .settings = {{"NERVE_TRANSPORT", transport}},
                  .unit = unit};
    figure.options.insert(figure.options.end(), options.begin(), options.end());
    return figure;
  }
  [[nodiscard]] static Figure ucx(const std::string& test, std::uint32_t size,
                                  const std::string& transport, Unit unit, const Words& options) {
    Figure figure{.name = fmt::format("UCX {} {}, {}", test, size_text(size), transport),
                  .tool = Tool::kUcx,
                  .program = "ucx_perftest",
                  .package = "ucx-utils",
                  .options = {"-t", test, "-s", std::to_string(size)},
                  .settings = {{"UCX_TLS", transport + ",self"}},
                  .unit = unit};
    if (transport == "tcp") figure.settings["UCX_NET_DEVICES"] = "lo";
    figure.options.insert(figure.options.end(), options.begin(), options.end());
    return figure;
  }
  [[nodiscard]] static Figure fabric(std::uint32_t size, const std::string& provider, Unit unit,
                                     const std::string& iterations) {
    return {.name = fmt::format("fi_pingpong {}, {}", size_text(size), provider),
            .tool = Tool::kFabric,
            .program = "fi_pingpong",
            .package = "libfabric-bin",
            .options = {"-p", provider, "-e", provider == "tcp" ? "msg" : "rdm", "-S",
                        std::to_string(size), "-I", iterations},
            .settings = {},
            .unit = unit};
  }
  [[nodiscard]] static Figure own(const std::string& name, Unit unit) {
    return {.name = name,
            .tool = Tool::kOwn,
            .program = "nerve_live_baseline",
            .package = {},
            .options = {},
            .settings = {},
            .unit = unit};
  }
  [[nodiscard]] static Figure baseline(const std::string& name, const std::string& what, Unit unit,
                                       const std::string& iterations) {
    Figure figure = own(name, unit);
    figure.options = {what, iterations};
    return figure;
  }

  bool quick_;
};

void add_aims(const Figures& of, Plan& plan) {
  plan.add(of.latency("ib_send_lat", "shm"), of.ucx_latency("posix"), at_most(1.5));
  plan.add(of.latency("ib_write_lat", "shm"), of.placing(), at_most(1.5));
  plan.add(of.bandwidth("ib_write_bw", kLarge, "shm"), of.ucx_bandwidth("posix"), at_least(1));
  plan.add(of.bandwidth("ib_send_bw", kLarge, "shm"), of.ucx_bandwidth("posix"), at_least(1));
  plan.add(of.messages("shm"), std::nullopt, at_least(5));
  plan.add(of.messages("udp"), std::nullopt, at_least(2));
  plan.add(of.latency("ib_send_lat", "udp"), of.udp_pingpong(), at_most(1.4));
  plan.add(of.bandwidth("ib_write_bw", kMiddle, "udp"), of.iperf3(), at_least(1));
  plan.add(of.bandwidth("ib_write_bw", kLarge, "udp"), of.iperf3(), at_least(1));
  plan.add(Figures::sealed(of.bandwidth("ib_write_bw", kLarge, "udp")),
           of.bandwidth("ib_write_bw", kLarge, "udp"), at_least(0.5));
  plan.add(of.idle("shm"), std::nullopt, below(1));
  plan.add(of.idle("udp"), std::nullopt, below(1));
}

// READ latency has no baseline: it is a full round trip, all others are half of one.
void add_others(const Figures& of, Plan& plan) {
  plan.add(of.latency("ib_send_lat", "shm"), of.fabric_latency("shm"), std::nullopt);
  plan.add(of.latency("ib_read_lat", "shm"), std::nullopt, std::nullopt);
  plan.add(of.bandwidth("ib_write_bw", kLarge, "shm"), of.fabric_bandwidth("shm"), std::nullopt);
  plan.add(of.bandwidth("ib_write_bw", kLarge, "shm"), of.memory_copy(), std::nullopt);
  plan.add(of.bandwidth("ib_write_bw", kMiddle, "shm"), of.memory_copy(), std::nullopt);
  plan.add(of.bandwidth("ib_read_bw", kLarge, "shm"), of.ucx_bandwidth("posix"), std::nullopt);
  plan.add(of.latency("ib_send_lat", "udp"), of.ucx_latency("tcp"), std::nullopt);
  plan.add(of.latency("ib_send_lat", "udp"), of.fabric_latency("tcp"), std::nullopt);
  plan.add(of.latency("ib_write_lat", "udp"), of.udp_pingpong(), std::nullopt);
  plan.add(of.latency("ib_read_lat", "udp"), std::nullopt, std::nullopt);
  plan.add(of.bandwidth("ib_write_bw", kLarge, "udp"), of.ucx_bandwidth("tcp"), std::nullopt);
  plan.add(of.bandwidth("ib_write_bw", kLarge, "udp"), of.fabric_bandwidth("tcp"), std::nullopt);
  plan.add(of.bandwidth("ib_send_bw", kLarge, "udp"), of.iperf3(), std::nullopt);
  plan.add(of.bandwidth("ib_read_bw", kLarge, "udp"), of.iperf3(), std::nullopt);
  plan.add(Figures::sealed(of.latency("ib_send_lat", "udp")), of.latency("ib_send_lat", "udp"),
           std::nullopt);
}

}  // namespace

Plan make_plan(Effort effort) {
  const Figures figures{effort};
  Plan plan;
  add_aims(figures, plan);
  if (effort == Effort::kWhole) add_others(figures, plan);
  return plan;
}

}  // namespace nerve::bench
