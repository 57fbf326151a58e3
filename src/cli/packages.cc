#include "cli/packages.h"

#include <array>
#include <cstddef>

namespace nerve::cli {
namespace {

constexpr std::array kPackages = {
    Package{"ibverbs-utils", "ibv_devinfo", "ibv_devinfo and the pingpongs", "ibv_"},
    Package{"perftest", "ib_write_bw", "ib_write_bw, ib_send_lat and other benchmarks",
            "ib_write_ ib_read_ ib_send_ ib_atomic_ raw_ethernet_"},
    Package{"rdmacm-utils", "rping", "rping, rstream and others that connect by rdma_cm",
            "rping rstream riostream rcopy ucmatose udaddy udpong mckey cmtime rdma_server "
            "rdma_client rdma_xserver rdma_xclient"},
    Package{"ucx-utils", "ucx_perftest", "ucx_info, ucx_perftest", "ucx_"},
    Package{"libfabric-bin", "fi_pingpong", "fi_info, fi_pingpong", "fi_"},
    Package{"openmpi-bin", "mpirun.openmpi", "mpirun", "mpirun ompi_info"},
    Package{"mpich", "mpiexec.mpich", "mpiexec.mpich", "mpiexec"},
    Package{"qperf", "qperf", "qperf", "qperf"},
    Package{"fio", "fio", "fio", "fio"},
};

}  // namespace

std::span<const Package> packages() { return kPackages; }

std::string_view package_of(std::string_view program) {
  for (const Package& package : kPackages) {
    for (std::string_view rest = package.prefixes; !rest.empty();) {
      const std::size_t space = rest.find(' ');
      const std::string_view prefix = rest.substr(0, space);
      if (program.starts_with(prefix)) return package.name;
      rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
    }
  }
  return {};
}

}  // namespace nerve::cli
