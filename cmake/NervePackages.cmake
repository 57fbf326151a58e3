# Packages of what NerveInstall installs: `./nerve package` runs cpack. Two Debian packages, nerve and
# nerve-dev, and one archive with both, which runs from any folder.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_COMPONENTS_ALL nerve dev)
set(CPACK_PACKAGE_NAME nerve)
set(CPACK_PACKAGE_CONTACT "The Nerve developers <nerve@invalid>")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_NERVE_PACKAGE_NAME nerve)
set(CPACK_DEBIAN_NERVE_PACKAGE_SECTION net)
set(CPACK_DEBIAN_NERVE_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_NERVE_PACKAGE_RECOMMENDS "ibverbs-utils, perftest, libssl3")
set(CPACK_DEBIAN_NERVE_PACKAGE_SUGGESTS "iperf3, qperf, rdmacm-utils")
set(CPACK_COMPONENT_NERVE_DESCRIPTION
"software RDMA NIC in user space
Runs unmodified RDMA programs (libibverbs, rdma_cm) without an RDMA adapter,
a kernel module or privileges, through shared memory or RoCEv2 over UDP, and
simulates data centres with the same protocol engine. Start: nerve demo.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME nerve-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "g++, pkg-config, cmake")
set(CPACK_COMPONENT_DEV_DESCRIPTION
"RDMA protocol engine of Nerve as a library
A complete RNIC without I/O, clock or threads, to embed in simulators, tests
and drivers: static library, headers, pkg-config and CMake files, and an
example.")

include(CPack)
