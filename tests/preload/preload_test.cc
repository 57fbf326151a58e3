// Goal: a program finds the paths it looks for, with the errors of Linux, and all other paths are
// unchanged. Method: this program is linked with the preload library before libc, which is
// equivalent to LD_PRELOAD, and makes the calls that programs make.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>  // before the kernel's, which then does without its own
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

// Functions that programs call although no header declares them: of libibverbs, and of libc before
// 2.33.
extern "C" int ibv_read_sysfs_file(const char* folder, const char* file, char* text, size_t size);
extern "C" int __xstat(int version, const char* path, struct stat* file);
extern "C" int __lxstat(int version, const char* path, struct stat* file);
extern "C" int __fxstatat(int version, int folder, const char* path, struct stat* file, int flags);

namespace nerve {
namespace {

constexpr const char* kDevice = "/sys/class/infiniband/nerve0";
constexpr const char* kLink = "/sys/class/infiniband/nerve0/device/net/lo";
constexpr const char* kNode = "/dev/infiniband/uverbs0";

class PreloadTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("NERVE_DEVICES", "nerve0=lo", 1);
    ::unsetenv("NERVE_OFFER");
    if (::access("/sys/class/net/lo", F_OK) != 0) GTEST_SKIP() << "a machine without loopback";
  }

  static std::string read(const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "re");
    if (file == nullptr) return "(none)";
    char text[256];
    const std::size_t length = std::fread(text, 1, sizeof text, file);
    std::fclose(file);
    return {text, length};
  }

  static std::set<std::string> list(const char* path) {
    std::set<std::string> names;
    DIR* const folder = ::opendir(path);
    if (folder == nullptr) return names;
    while (const dirent* entry = ::readdir(folder)) names.insert(entry->d_name);
    EXPECT_EQ(::closedir(folder), 0);
    return names;
  }

  // The errno of a call that must fail.
  template <class Call>
  static int error_of(Call call) {
    errno = 0;
    return call() == -1 ? errno : 0;
  }

  static std::size_t descriptors() {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      count += entry.path().empty() ? 0 : 1;
    }
    return count;
  }
};

}  // namespace

TEST_F(PreloadTest, AgreesWithLibibverbs) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  ASSERT_EQ(count, 1);
  const std::string folder = list[0]->ibdev_path;
  EXPECT_EQ(folder, kDevice);
  EXPECT_EQ(read(std::string{list[0]->dev_path} + "/ibdev"), "nerve0\n");
  ibv_context* const context = ibv_open_device(list[0]);
  ASSERT_NE(context, nullptr);
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  char lid[16];
  std::snprintf(lid, sizeof lid, "0x%x\n", port.lid);
  EXPECT_EQ(read(folder + "/ports/1/lid"), lid);
  char capabilities[16];
  std::snprintf(capabilities, sizeof capabilities, "0x%08x\n", port.port_cap_flags);
  EXPECT_EQ(read(folder + "/ports/1/cap_mask"), capabilities);
  EXPECT_EQ(read(folder + "/ports/1/state"), "4: ACTIVE\n");
  EXPECT_EQ(PreloadTest::list((folder + "/ports/1/gids").c_str()).size(),
            static_cast<std::size_t>(port.gid_tbl_len) + 2);
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context, &device), 0);
  EXPECT_EQ(read(folder + "/fw_ver"), std::string{device.fw_ver} + "\n");
  char text[64];
  ASSERT_EQ(ibv_read_sysfs_file(folder.c_str(), "ports/1/gid_attrs/types/0", text, sizeof text), 7);
  EXPECT_STREQ(text, "RoCE v2");
  ibv_close_device(context);
  ibv_free_device_list(list);
}

TEST_F(PreloadTest, OpensFilesWithEveryCall) {
  const std::string path = std::string{kDevice} + "/node_type";
  EXPECT_EQ(read(path), "1: CA\n");
  std::string line;
  std::getline(std::ifstream{path}, line);
  EXPECT_EQ(line, "1: CA");
  char text[8]{};
  const int fd = ::openat(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::read(fd, text, sizeof text), 6);
  EXPECT_EQ(::read(fd, text, sizeof text), 0);
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  ::close(fd);
}

TEST_F(PreloadTest, ReturnsTheErrorsOfLinux) {
  const std::string file = std::string{kDevice} + "/fw_ver";
  const auto open_error = [](const std::string& path, int flags) {
    return error_of([&] { return ::open(path.c_str(), flags, 0600); });
  };
  EXPECT_EQ(open_error("/sys/class/infiniband/nerve9", O_RDONLY), ENOENT);
  EXPECT_EQ(open_error(file + "/x", O_RDONLY), ENOTDIR);
  EXPECT_EQ(open_error(file + "/", O_RDONLY), ENOTDIR);
  EXPECT_EQ(open_error(file, O_RDONLY | O_DIRECTORY), ENOTDIR);
  EXPECT_EQ(open_error(file, O_WRONLY), EACCES);
  EXPECT_EQ(open_error(file, O_RDONLY | O_CREAT | O_EXCL), EEXIST);
  EXPECT_EQ(open_error(kDevice, O_RDWR), EISDIR);
  EXPECT_EQ(open_error(kLink, O_RDONLY | O_NOFOLLOW), ELOOP);
  EXPECT_EQ(open_error(std::string{kDevice} + "/" + std::string(5000, 'x'), O_RDONLY),
            ENAMETOOLONG);
  EXPECT_EQ(error_of([&] { return ::access(file.c_str(), W_OK); }), EACCES);
  struct stat status {};
  EXPECT_EQ(error_of([&] { return ::stat("/dev/infiniband/uverbs7", &status); }), ENOENT);
  EXPECT_EQ(std::fopen("/sys/class/infiniband/none", "re"), nullptr);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::opendir(file.c_str()), nullptr);
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_EQ(::realpath("/sys/class/infiniband/none", nullptr), nullptr);
  EXPECT_EQ(errno, ENOENT);
  char text[8];
  EXPECT_EQ(error_of([&] { return ::readlink(file.c_str(), text, sizeof text); }), EINVAL);
}

TEST_F(PreloadTest, TheDeviceIsACharacterDeviceForAll) {
  struct stat status {};
  ASSERT_EQ(::stat(kNode, &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  EXPECT_EQ(major(status.st_rdev), 231U);
  EXPECT_EQ(minor(status.st_rdev), 192U);
  EXPECT_EQ(::access(kNode, R_OK | W_OK), 0);
  const int fd = ::open(kNode, O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::fstat(fd, &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  ::close(fd);
}

TEST_F(PreloadTest, EveryStatCallAgrees) {
  struct stat today {};
  ASSERT_EQ(::stat(kDevice, &today), 0);
  EXPECT_TRUE(S_ISDIR(today.st_mode));
  struct stat then {};
  ASSERT_EQ(__xstat(1, kDevice, &then), 0);
  EXPECT_EQ(then.st_ino, today.st_ino);
  ASSERT_EQ(__fxstatat(1, AT_FDCWD, kDevice, &then, 0), 0);
  EXPECT_EQ(then.st_mode, today.st_mode);
  ASSERT_EQ(::fstatat(AT_FDCWD, kDevice, &then, 0), 0);
  EXPECT_EQ(then.st_ino, today.st_ino);
  struct statx wide {};
  ASSERT_EQ(::statx(AT_FDCWD, kDevice, 0, STATX_BASIC_STATS, &wide), 0);
  EXPECT_EQ(wide.stx_ino, today.st_ino);
  EXPECT_TRUE(S_ISDIR(wide.stx_mode));
  ASSERT_EQ(::lstat(kLink, &today), 0);
  EXPECT_TRUE(S_ISLNK(today.st_mode));
  ASSERT_EQ(__lxstat(1, kLink, &then), 0);
  EXPECT_TRUE(S_ISLNK(then.st_mode));
  ASSERT_EQ(::stat(kLink, &today), 0);
  EXPECT_TRUE(S_ISDIR(today.st_mode));
}

TEST_F(PreloadTest, ListsFolders) {
  EXPECT_EQ(list("/sys/class/infiniband"), (std::set<std::string>{".", "..", "nerve0"}));
  EXPECT_EQ(list("/dev/infiniband"), (std::set<std::string>{".", "..", "uverbs0"}));
  EXPECT_EQ(list("/sys/class/infiniband/nerve0/device/net/"),
            (std::set<std::string>{".", "..", "lo"}));
  EXPECT_TRUE(list(kLink).contains("mtu"));
  dirent** found = nullptr;
  ASSERT_EQ(::scandir("/sys/class/infiniband", &found, nullptr, ::alphasort), 3);
  EXPECT_STREQ(found[2]->d_name, "nerve0");
  for (int i = 0; i < 3; ++i) std::free(found[i]);
  std::free(found);
  DIR* const folder = ::opendir("/sys/class/infiniband");
  ASSERT_NE(folder, nullptr);
  while (::readdir(folder) != nullptr) {
  }
  ::rewinddir(folder);
  EXPECT_STREQ(::readdir(folder)->d_name, ".");
  struct stat status {};
  EXPECT_EQ(::fstatat(::dirfd(folder), "nerve0/ports", &status, 0), 0);
  EXPECT_TRUE(S_ISDIR(status.st_mode));
  ::closedir(folder);
}

TEST_F(PreloadTest, FoldersCanBeWalkedByDescriptor) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{kDevice}) {
    if (entry.is_regular_file()) ++files;
  }
  EXPECT_GT(files, 40U);
  const int fd = ::open(kDevice, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct stat status {};
  ASSERT_EQ(::fstat(fd, &status), 0);
  EXPECT_TRUE(S_ISDIR(status.st_mode));
  EXPECT_EQ(::faccessat(fd, "ports/1/rate", R_OK, 0), 0);
  EXPECT_EQ(error_of([&] { return ::openat(fd, "ports/2", O_RDONLY); }), ENOENT);
  ::close(fd);
}

TEST_F(PreloadTest, FollowsLinks) {
  EXPECT_EQ(read(std::string{kLink} + "/mtu"), read("/sys/class/net/lo/mtu"));
  char text[64]{};
  EXPECT_EQ(::readlink(kLink, text, sizeof text), 17);
  EXPECT_STREQ(text, "/sys/class/net/lo");
  char* const real = ::realpath("/sys/class/infiniband_verbs/uverbs0/device/../device/.", nullptr);
  ASSERT_NE(real, nullptr);
  EXPECT_STREQ(real, "/sys/class/infiniband/nerve0/device");
  std::free(real);
  EXPECT_EQ(read("/sys/class/infiniband/../net/lo/mtu"), read("/sys/class/net/lo/mtu"));
}

TEST_F(PreloadTest, LeavesOtherPathsAlone) {
#ifndef __SANITIZE_ADDRESS__               // it objects to the call itself
  const char* volatile nowhere = nullptr;  // volatile, or the compiler warns
  EXPECT_EQ(error_of([&] { return ::open(nowhere, O_RDONLY); }), EFAULT);
#endif
  EXPECT_EQ(error_of([] { return ::access("/sys/class/infiniband_none", F_OK); }), ENOENT);
  EXPECT_EQ(error_of([] { return ::access("infiniband", F_OK); }), ENOENT);
  EXPECT_EQ(::access("/dev/null", R_OK | W_OK), 0);
  const std::string made = testing::TempDir() + "nerve_preload_" + std::to_string(::getpid());
  const int fd = ::open(made.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640);
  ASSERT_GE(fd, 0);
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode));
  EXPECT_EQ(status.st_mode & 0600, 0600U);
  ::close(fd);
  EXPECT_EQ(::unlink(made.c_str()), 0);
  EXPECT_TRUE(list("/").contains("dev"));
}

TEST_F(PreloadTest, LeavesMountedPathsToTheKernel) {
  ::setenv("NERVE_OFFER", "namespace", 1);
  const bool mounted = ::access(kDevice, F_OK) == 0;
  ::unsetenv("NERVE_OFFER");
  EXPECT_FALSE(mounted);
}

TEST_F(PreloadTest, LeaksNoDescriptors) {
  (void)list(kDevice);
  const std::size_t before = descriptors();
  for (int i = 0; i < 100; ++i) {
    (void)list(kDevice);
    (void)read(std::string{kDevice} + "/fw_ver");
  }
  EXPECT_EQ(descriptors(), before);
}

TEST_F(PreloadTest, RdmaCmIsADeviceThatTakesCommands) {
  constexpr const char* kManager = "/dev/infiniband/rdma_cm";
  struct stat file {};
  ASSERT_EQ(::stat(kManager, &file), 0);
  EXPECT_TRUE(S_ISCHR(file.st_mode));
  EXPECT_EQ(::access(kManager, R_OK | W_OK), 0);
  const int fd = ::open(kManager, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::fstat(fd, &file), 0);
  EXPECT_TRUE(S_ISCHR(file.st_mode));
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  // An unknown command; a pipe or a file would accept it.
  const std::uint32_t command[2] = {99, 0};
  EXPECT_EQ(error_of([&] { return ::write(fd, command, sizeof command) < 0 ? -1 : 0; }), EINVAL);
  EXPECT_EQ(::close(fd), 0);
  EXPECT_EQ(error_of([&] { return ::fcntl(fd, F_GETFD); }), EBADF);
}

// A kernel whose own rdma_cm is loaded: librdmacm opens nothing but the device with its number.
TEST_F(PreloadTest, RdmaCmHasTheNumberOfTheKernels) {
  constexpr int kUnable = 2;
  const std::string user = "0 " + std::to_string(::getuid()) + " 1";
  const std::string group = "0 " + std::to_string(::getgid()) + " 1";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ::_exit(kUnable);
    // Files can be made only by a user and a group that the namespace knows.
    std::ofstream{"/proc/self/setgroups"} << "deny";
    std::ofstream{"/proc/self/uid_map"} << user;
    std::ofstream{"/proc/self/gid_map"} << group;
    if (::mount("none", "/sys/class/misc", "tmpfs", 0, nullptr) != 0) ::_exit(kUnable);
    std::filesystem::create_directory("/sys/class/misc/rdma_cm");
    std::ofstream{"/sys/class/misc/rdma_cm/dev"} << "10:57\n";
    struct stat file {};
    const bool same = ::stat("/dev/infiniband/rdma_cm", &file) == 0 && S_ISCHR(file.st_mode) &&
                      file.st_rdev == makedev(10, 57);
    ::_exit(same ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kUnable) GTEST_SKIP() << "no namespaces for this user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PreloadTest, AThreadThatWaitsForCmEventsCanBeCancelled) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer does not notice that frames of a cancelled thread are gone";
#endif
  int device = ::open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC);
  ASSERT_GE(device, 0) << std::strerror(errno);
  const auto wait = [](void* fd) -> void* {
    rdma_ucm_event_resp event{};
    struct {
      rdma_ucm_cmd_hdr header;
      rdma_ucm_get_event body;
    } command{{RDMA_USER_CM_CMD_GET_EVENT, sizeof command.body, sizeof event},
              {reinterpret_cast<std::uint64_t>(&event)}};
    (void)!::write(*static_cast<int*>(fd), &command, sizeof command);
    return nullptr;
  };
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(&thread, nullptr, wait, &device), 0);
  ::usleep(20'000);  // it waits by now
  ASSERT_EQ(::pthread_cancel(thread), 0);
  void* result{};
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  EXPECT_EQ(::close(device), 0);
}

}  // namespace nerve
