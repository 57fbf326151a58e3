// compare -d DEVICE -g GID_INDEX -m MTU -p PORT [-n] [SERVER]: every operation of a reliable
// connection, and whether the received bytes are those that were sent. The client is the requester;
// run without SERVER first, on the other machine.
//
// The stock programs measure, and check data only in SENDs. This one writes, reads back and
// compares, adds with atomics, sends to a receiver that is not ready, and makes requests that must
// be refused. -n: no fences, for a device that does not handle them.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/interop/compare/endpoint.h"

namespace compare {
namespace {

// The memory layout of both ends.
constexpr std::size_t kSource = 0, kBack = 300'000, kInbox = 600'000, kWord = 900'000;
constexpr std::uint32_t kLargest = 200'003;
constexpr int kTries = 5;

std::vector<std::uint32_t> sizes(int mtu) {
  const auto unit = static_cast<std::uint32_t>(mtu);
  return {0, 1, 2, 3, 4, unit - 1, unit, unit + 1, 3 * unit, 20'001, kLargest};
}

void fill(Endpoint& end, std::size_t offset, std::uint32_t length, std::uint32_t seed) {
  for (std::uint32_t i = 0; i < length; ++i) {
    seed = seed * 1664525U + 1013904223U;
    end.memory(offset)[i] = static_cast<std::byte>(seed >> 24U);
  }
}

void must_equal(Endpoint& end, std::size_t a, std::size_t b, std::uint32_t length,
                const char* what) {
  if (std::memcmp(end.memory(a), end.memory(b), length) != 0) {
    fail(std::string{what} + " of " + std::to_string(length) + " bytes: others arrived");
  }
}

ibv_send_wr request(ibv_wr_opcode opcode) {
  ibv_send_wr wr{};
  wr.opcode = opcode;
  return wr;
}

ibv_send_wr request(ibv_wr_opcode opcode, const Endpoint& end, std::size_t offset) {
  ibv_send_wr wr = request(opcode);
  wr.wr.rdma.remote_addr = end.remote(offset);
  wr.wr.rdma.rkey = end.peer_key();
  return wr;
}

// Writes and reads back; the remote program does nothing.
void write_and_read(Endpoint& end, int mtu) {
  for (const std::uint32_t size : sizes(mtu)) {
    fill(end, kSource, size, size);
    fill(end, kBack, size, ~size);
    end.post(request(IBV_WR_RDMA_WRITE, end, kInbox), kSource, size);
    end.post(request(IBV_WR_RDMA_READ, end, kInbox), kBack, size);  // must see the WRITE's data
    end.expect(IBV_WC_RDMA_WRITE);
    end.expect(IBV_WC_RDMA_READ);
    must_equal(end, kSource, kBack, size, "WRITE and READ");
  }
}

std::uint64_t atomic(Endpoint& end, ibv_wr_opcode opcode, std::uint64_t compare_add,
                     std::uint64_t swap) {
  ibv_send_wr wr = request(opcode);
  wr.wr.atomic = {end.remote(kWord), compare_add, swap, end.peer_key()};
  end.post(wr, kBack, 8);
  end.expect(opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
  std::uint64_t before{};
  std::memcpy(&before, end.memory(kBack), sizeof before);
  return before;
}

void must_be(std::uint64_t value, std::uint64_t expected, const char* what) {
  if (value != expected) {
    char line[128];
    std::snprintf(line, sizeof line, "%s gave 0x%016llx, not 0x%016llx", what,
                  static_cast<unsigned long long>(value),
                  static_cast<unsigned long long>(expected));
    fail(line);
  }
}

void atomics(Endpoint& end) {
  std::uint64_t word = 0x0123'4567'89ab'cdefU;
  std::memcpy(end.memory(kSource), &word, sizeof word);
  end.post(request(IBV_WR_RDMA_WRITE, end, kWord), kSource, 8);
  end.expect(IBV_WC_RDMA_WRITE);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const std::uint64_t sum = i << (3 * i);
    must_be(atomic(end, IBV_WR_ATOMIC_FETCH_AND_ADD, sum, 0), word, "fetch and add");
    word += sum;
  }
  must_be(atomic(end, IBV_WR_ATOMIC_CMP_AND_SWP, word + 1, 7), word, "a swap that must not happen");
  must_be(atomic(end, IBV_WR_ATOMIC_CMP_AND_SWP, word, 0xfeed'beef'0000'0001U), word,
          "compare and swap");
  must_be(atomic(end, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0), 0xfeed'beef'0000'0001U, "the last look");
}

// More requests at once than may be outstanding. Each WRITE has its own place; or all have the same
// place and a fence, without which one may overtake the READ before it.
void many_at_once(Endpoint& end, int mtu, bool fenced) {
  const auto size = static_cast<std::uint32_t>(2 * mtu + 5);
  for (std::uint32_t i = 0; i < 16; ++i) fill(end, kSource + i * size, size, i + 1);
  for (std::uint32_t i = 0; i < 16; ++i) {
    const std::size_t place = kInbox + (fenced ? 0 : i * size);
    ibv_send_wr write = request(IBV_WR_RDMA_WRITE, end, place);
    if (fenced) write.send_flags = IBV_SEND_FENCE;
    end.post(write, kSource + i * size, size);
    end.post(request(IBV_WR_RDMA_READ, end, place), kBack + i * size, size);
  }
  for (std::uint32_t i = 0; i < 16; ++i) {
    end.expect(IBV_WC_RDMA_WRITE);
    end.expect(IBV_WC_RDMA_READ);
  }
  for (std::uint32_t i = 0; i < 16; ++i) {
    must_equal(end, kSource + i * size, kBack + i * size, size, "one READ of many");
  }
}

// Two-sided. Both ends know what is sent, so the server can compare.
void send_all(Endpoint& end, int mtu) {
  for (const std::uint32_t size : sizes(mtu)) {
    fill(end, kSource, size, size + 7);
    ibv_send_wr send = request(IBV_WR_SEND_WITH_IMM);
    send.imm_data = htobe32(size);
    end.post(send, kSource, size);
    end.expect(IBV_WC_SEND);
    ibv_send_wr write = request(IBV_WR_RDMA_WRITE_WITH_IMM, end, kInbox);
    write.imm_data = htobe32(size + 1);
    end.post(write, kSource, size);
    end.expect(IBV_WC_RDMA_WRITE);
  }
}

void receive_all(Endpoint& end, int mtu) {
  for (const std::uint32_t size : sizes(mtu)) {
    ::usleep(30'000);  // so that the sender finds no receive posted, and gets an RNR NAK
    fill(end, kSource, size, size + 7);
    end.post_receive(kBack, kLargest);
    const ibv_wc sent = end.expect(IBV_WC_RECV);
    must_be(sent.byte_len, size, "the length of a SEND");
    must_be(be32toh(sent.imm_data), size, "the immediate of a SEND");
    must_equal(end, kSource, kBack, size, "SEND");
    end.post_receive(kBack, 0);
    const ibv_wc written = end.expect(IBV_WC_RECV_RDMA_WITH_IMM);
    must_be(written.byte_len, size, "the length of a WRITE with immediate");
    must_be(be32toh(written.imm_data), size + 1, "the immediate of a WRITE");
    must_equal(end, kSource, kInbox, size, "WRITE with immediate");
  }
}

// Each on its own connection, which it ends. The only answer may be lost, and an ended connection
// gives no second one: then the requester exceeds its retries, and tries again on the next
// connection.
template <class Attempt>
void refused(Endpoint& end, Attempt attempt) {
  for (int i = 0; i < kTries; ++i) {
    end.connect();
    if (end.meet(attempt() != IBV_WC_RETRY_EXC_ERR)) return;
  }
  fail("a request that must be refused is not answered");
}

void refusals(Endpoint& end, bool client) {
  for (const bool read : {false, true}) {
    for (const bool beyond : {false, true}) {
      refused(end, [&] {
        if (!client) return IBV_WC_SUCCESS;
        ibv_send_wr wr =
            request(read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, end, beyond ? kMemory - 100 : 0);
        if (!beyond) wr.wr.rdma.rkey ^= 0x5500U;
        end.post(wr, kSource, 5000);
        const ibv_wc_status status = end.completion().status;
        if (status != IBV_WC_RETRY_EXC_ERR) {
          must_be(status, IBV_WC_REM_ACCESS_ERR, "a forbidden access");
        }
        return status;
      });
    }
  }
  refused(end, [&] {
    if (!client) {
      end.post_receive(kInbox, 100);
      if (end.completion().status == IBV_WC_SUCCESS) fail("a receive took more than it could");
      return IBV_WC_SUCCESS;
    }
    end.post(request(IBV_WR_SEND), kSource, 5000);
    const ibv_wc_status status = end.completion().status;
    // The standard specifies "invalid request"; Soft-RoCE returns "operational error".
    if (status != IBV_WC_REM_INV_REQ_ERR && status != IBV_WC_REM_OP_ERR &&
        status != IBV_WC_RETRY_EXC_ERR) {
      fail(std::string{"a SEND that is too long: "} + ibv_wc_status_str(status));
    }
    return status;
  });
}

void run(const Options& options) {
  const bool client = !options.server.empty();
  Endpoint end{options};
  end.connect();
  if (client) {
    write_and_read(end, options.mtu);
    atomics(end);
    many_at_once(end, options.mtu, false);
    if (options.fences) many_at_once(end, options.mtu, true);
  }
  end.meet();
  client ? send_all(end, options.mtu) : receive_all(end, options.mtu);
  end.meet();
  refusals(end, client);
  std::printf("all as it should be\n");
}

}  // namespace
}  // namespace compare

int main(int count, char** words) {
  compare::Options options;
  for (int option = 0; (option = ::getopt(count, words, "d:g:m:np:")) != -1;) {
    switch (option) {
      case 'd':
        options.device = ::optarg;
        break;
      case 'g':
        options.gid_index = std::atoi(::optarg);
        break;
      case 'm':
        options.mtu = std::atoi(::optarg);
        break;
      case 'n':
        options.fences = false;
        break;
      case 'p':
        options.port = ::optarg;
        break;
      default:
        return 2;
    }
  }
  if (::optind < count) options.server = words[::optind];
  compare::run(options);
  return 0;
}
