#include "host/peers/flow_messages.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace nerve::host {
namespace {

constexpr std::size_t kFlowSize = 64;
constexpr std::size_t kOrderSize = 20;

void store_gid(MutableBytes out, std::size_t at, const wire::Gid& gid) {
  std::ranges::copy(gid.bytes, out.begin() + static_cast<std::ptrdiff_t>(at));
}

wire::Gid load_gid(Bytes in, std::size_t at) {
  wire::Gid gid;
  std::ranges::copy(in.subspan(at, gid.bytes.size()), gid.bytes.begin());
  return gid;
}

void encode(const FlowReport& flow, MutableBytes out) {
  store_be<4>(out, 0, flow.qpn.value());
  store_be<4>(out, 4, flow.peer.value());
  store_gid(out, 8, flow.source);
  store_gid(out, 24, flow.destination);
  store_be<2>(out, 40, flow.source_port);
  store_be<1>(out, 42, flow.traffic_class);
  store_be<8>(out, 48, flow.bytes_sent);
  store_be<8>(out, 56, flow.packets_retransmitted);
}

std::optional<FlowReport> decode(Bytes in) {
  const std::uint64_t qpn = load_be<4>(in, 0);
  const std::uint64_t peer = load_be<4>(in, 4);
  FlowReport flow{.qpn = Qpn{static_cast<std::uint32_t>(qpn & Qpn::kMask)},
                  .peer = Qpn{static_cast<std::uint32_t>(peer & Qpn::kMask)},
                  .source = load_gid(in, 8),
                  .destination = load_gid(in, 24),
                  .source_port = static_cast<std::uint16_t>(load_be<2>(in, 40)),
                  .traffic_class = static_cast<std::uint8_t>(load_be<1>(in, 42)),
                  .bytes_sent = load_be<8>(in, 48),
                  .packets_retransmitted = load_be<8>(in, 56)};
  const bool valid = qpn <= Qpn::kMask && peer <= Qpn::kMask && flow.source_port != 0 &&
                     !flow.source.is_zero() && !flow.destination.is_zero();
  return valid ? std::optional{flow} : std::nullopt;
}

// The whole text is that many numbers, with a space between two.
template <std::size_t N>
std::optional<std::array<std::uint64_t, N>> numbers_in(std::string_view text) {
  std::array<std::uint64_t, N> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < N; ++i) {
    if (i > 0 && (at == end || *at++ != ' ')) return std::nullopt;
    const auto [stop, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc{}) return std::nullopt;
    at = stop;
  }
  return at == end ? std::optional{numbers} : std::nullopt;
}

}  // namespace

bool send_flows(int connection, std::span<const FlowReport> flows) {
  flows = flows.first(std::min(flows.size(), kMostFlows));
  const auto count = encode_answer(std::to_string(flows.size()));
  if (flows.empty()) return send_message(connection, count, {});
  const auto memory = make_shared_memory(flows.size() * kFlowSize, Others::kRead);
  if (!memory) return false;
  MutableBytes out = memory->mapping.bytes();
  for (const FlowReport& flow : flows) {
    encode(flow, out);
    out = out.subspan(kFlowSize);
  }
  const int descriptor = memory->descriptor.get();
  return send_message(connection, count, {&descriptor, 1});
}

std::optional<std::vector<FlowReport>> read_flows(const Message& answer) {
  const auto text = decode_answer(answer.bytes);
  const auto count = text ? numbers_in<1>(*text) : std::nullopt;
  if (!count || (*count)[0] > kMostFlows) return std::nullopt;
  const auto flows = static_cast<std::size_t>((*count)[0]);
  std::vector<FlowReport> read;
  if (flows == 0) return read;
  if (answer.descriptors.size() != 1) return std::nullopt;
  const std::size_t size = flows * kFlowSize;
  const auto mapping = map_shared_memory(answer.descriptors[0].get(), size, size, Others::kRead);
  if (!mapping) return std::nullopt;
  // Copied first: what was checked must be what is used.
  const std::vector<std::byte> copy{mapping->bytes().begin(), mapping->bytes().end()};
  for (std::size_t i = 0; i < flows; ++i) {
    const auto flow = decode(Bytes{copy}.subspan(i * kFlowSize, kFlowSize));
    if (!flow) return std::nullopt;
    read.push_back(*flow);
  }
  return read;
}

std::vector<std::byte> encode_orders(std::span<const SteeringOrder> orders) {
  const auto head = Request{.kind = RequestKind::kSteer, .slot = 0}.encode();
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.resize(Request::kSize + orders.size() * kOrderSize);
  MutableBytes out = MutableBytes{bytes}.subspan(Request::kSize);
  for (const SteeringOrder& order : orders) {
    store_be<4>(out, 0, order.qpn.value());
    store_be<4>(out, 4, order.peer.value());
    store_be<2>(out, 8, order.source_port);
    store_be<8>(out, 12, order.rate_limit);
    out = out.subspan(kOrderSize);
  }
  return bytes;
}

std::optional<std::vector<SteeringOrder>> decode_orders(Bytes request) {
  if (request.size() < Request::kSize) return std::nullopt;
  Bytes in = request.subspan(Request::kSize);
  if (in.size() % kOrderSize != 0 || in.size() / kOrderSize > kMostOrders) return std::nullopt;
  std::vector<SteeringOrder> orders;
  for (; !in.empty(); in = in.subspan(kOrderSize)) {
    const std::uint64_t qpn = load_be<4>(in, 0);
    const std::uint64_t peer = load_be<4>(in, 4);
    if (qpn > Qpn::kMask || peer > Qpn::kMask) return std::nullopt;
    orders.push_back({.qpn = Qpn{static_cast<std::uint32_t>(qpn)},
                      .peer = Qpn{static_cast<std::uint32_t>(peer)},
                      .source_port = static_cast<std::uint16_t>(load_be<2>(in, 8)),
                      .rate_limit = load_be<8>(in, 12)});
  }
  return orders;
}

std::vector<std::byte> encode_result(const SteeringResult& result) {
  return encode_answer(std::to_string(result.redirected) + " " + std::to_string(result.refused));
}

std::optional<SteeringResult> decode_result(Bytes answer) {
  const auto text = decode_answer(answer);
  const auto numbers = text ? numbers_in<2>(*text) : std::nullopt;
  if (!numbers) return std::nullopt;
  return SteeringResult{.redirected = (*numbers)[0], .refused = (*numbers)[1]};
}

}  // namespace nerve::host
