// Goal: `nerve run` starts the right program, with its settings, and returns its exit code. Method:
// the parts as functions, and the built program as a user calls it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/packages.h"
#include "cli/run_plan.h"
#include "tests/cli/program.h"

namespace nerve::cli::run_test {
namespace {

using test::nerve;
using test::Outcome;
using Words = std::vector<std::string>;

class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "nerve_run_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string make(const std::string& name, const std::string& text = "") {
    const std::filesystem::path file = folder_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file} << text;
    return file;
  }

  std::string folder_;
};

}  // namespace

TEST_F(RunTest, FindsWhereTheProgramBegins) {
  EXPECT_EQ(mark_command({"run", "ls", "-l"}), (Words{"run", "--", "ls", "-l"}));
  EXPECT_EQ(mark_command({"run", "--", "ls", "--"}), (Words{"run", "--", "ls", "--"}));
  EXPECT_EQ(mark_command({"run", "--pcap", "f", "--summary", "ls", "--pcap", "g"}),
            (Words{"run", "--pcap", "f", "--summary", "--", "ls", "--pcap", "g"}));
  EXPECT_EQ(mark_command({"run", "--pcap=f", "ls"}), (Words{"run", "--pcap=f", "--", "ls"}));
  EXPECT_EQ(mark_command({"run", "--help"}), (Words{"run", "--help"}));
  EXPECT_EQ(mark_command({"run", "--pcap"}), (Words{"run", "--pcap"}));
  EXPECT_EQ(mark_command({"run"}), Words{"run"});
  EXPECT_EQ(mark_command({"decode", "run", "ls"}), (Words{"decode", "run", "ls"}));
  EXPECT_EQ(mark_command({}), Words{});
}

TEST_F(RunTest, FindsTheBuiltAndTheInstalledLibrary) {
  make("build/lib/libibverbs.so.1");
  make("usr/lib/nerve/libibverbs.so.1");
  EXPECT_EQ(find_library_folder(folder_ + "/build/src/cli/nerve"), folder_ + "/build/lib");
  EXPECT_EQ(find_library_folder(folder_ + "/usr/bin/nerve"), folder_ + "/usr/lib/nerve");
  EXPECT_EQ(find_library_folder(folder_ + "/elsewhere/bin/nerve"), std::nullopt);
  make("lib/libibverbs.so.1");  // as a distribution has it beside /usr: not ours
  EXPECT_EQ(find_library_folder(folder_ + "/elsewhere/bin/nerve"), std::nullopt);
}

TEST_F(RunTest, FindsCommandsAsAShellDoes) {
  const std::string plain = make("one/tool");
  const std::string tool = make("two/tool");
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  const std::string path = folder_ + "/none:" + folder_ + "/one:" + folder_ + "/two";
  EXPECT_EQ(find_command("tool", path), tool);
  EXPECT_EQ(find_command(plain, path), plain);
  EXPECT_EQ(find_command("two", folder_), "");  // a folder is not a program
  EXPECT_EQ(find_command("none", path), "");
  EXPECT_EQ(find_command("tool", ""), "");
}

TEST_F(RunTest, PutsOurLibraryFirst) {
  EXPECT_EQ(run_environment({{"NERVE_LOG", "info"}}, "/n", host::Offer::kOff,
                            {{"LD_LIBRARY_PATH", "/a:/b"}}),
            (host::Environment{{"LD_LIBRARY_PATH", "/n:/a:/b"}, {"NERVE_LOG", "info"}}));
  EXPECT_EQ(run_environment({}, "/n", host::Offer::kOff, {{"LD_LIBRARY_PATH", ""}}),
            (host::Environment{{"LD_LIBRARY_PATH", "/n"}}));
}

TEST_F(RunTest, GpuDirectSetsNcclsVariablesUnlessTheUserHas) {
  const auto changes = run_environment({{"NERVE_GPU_DIRECT", "on"}}, "/n", host::Offer::kOff,
                                       {{"NCCL_NET_GDR_LEVEL", "PHB"}});
  EXPECT_FALSE(changes.contains("NCCL_NET_GDR_LEVEL"));
  EXPECT_EQ(changes.at("NCCL_NET_GDR_READ"), "1");
  EXPECT_EQ(changes.at("CUDA_MODULE_LOADING"), "EAGER");
  EXPECT_FALSE(run_environment({{"NERVE_GPU_DIRECT", "off"}}, "/n", host::Offer::kOff, {})
                   .contains("NCCL_NET_GDR_READ"));
}

TEST_F(RunTest, DetectsSetuidPrograms) {
  const std::string file = make("tool");
  EXPECT_EQ(ignores_library_path(file), std::nullopt);
  EXPECT_EQ(ignores_library_path(folder_ + "/none"), std::nullopt);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change the owner of a file";
  ASSERT_EQ(::chown(file.c_str(), 1, 1), 0);
  std::filesystem::permissions(file,
                               std::filesystem::perms::set_uid | std::filesystem::perms::owner_all);
  EXPECT_EQ(ignores_library_path(file), "it is setuid");
}

TEST_F(RunTest, TheProgramGetsItsSettings) {
  const Outcome run = nerve("run --transport shm --device a=lo --device b=eth0 --summary --pcap " +
                            folder_ + "/x.pcap -- env");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  for (const std::string line : {"NERVE_TRANSPORT=shm\n", "NERVE_DEVICES=a=lo,b=eth0\n",
                                 "NERVE_SUMMARY=on\n", "LD_LIBRARY_PATH="}) {
    EXPECT_NE(run.text.find(line), std::string::npos) << line << "not in:\n" << run.text;
  }
  EXPECT_NE(run.text.find("NERVE_PCAP=" + folder_ + "/x.pcap\n"), std::string::npos);
}

TEST_F(RunTest, MisspeltProgramsAreNamedBeforePackages) {
  const auto answer = [&](const std::string& word) {
    return nerve("run -- " + word, "PATH=" + folder_).text;
  };
  make("ib_write_bw");
  make("ping");
  EXPECT_EQ(answer("ib_write_bw0"),
            "nerve run: ib_write_bw0: not found in PATH; did you mean `ib_write_bw`?\n");
  EXPECT_EQ(answer("ib_read_bw"),
            "nerve run: ib_read_bw: not found in PATH; sudo apt-get install -y perftest\n");
  EXPECT_EQ(answer("rping"),
            "nerve run: rping: not found in PATH; sudo apt-get install -y rdmacm-utils\n");
}

TEST_F(RunTest, ReturnsTheProgramsExitCode) {
  EXPECT_EQ(nerve("run -- sh -c 'exit 7'").exit_code, 7);
  EXPECT_EQ(nerve("run sh -c 'exit 8'").exit_code, 8);
  EXPECT_EQ(nerve("run sh -c 'echo \"$@\"' x -a -- --pcap f").text, "-a -- --pcap f\n");
  const Outcome missing = nerve("run -- no-such-program");
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(missing.text,
            "nerve run: no-such-program: not found in PATH; check the name, or install its "
            "package\n");
  const std::string plain = make("plain");
  EXPECT_EQ(nerve("run -- " + plain).exit_code, 126);
  EXPECT_EQ(nerve("run -- " + folder_ + "/none").exit_code, 127);
}

TEST_F(RunTest, NamesThePackageOfAMissingProgram) {
  EXPECT_EQ(package_of("ib_write_bw"), "perftest");
  EXPECT_EQ(package_of("rdma_xclient"), "rdmacm-utils");
  EXPECT_EQ(package_of("fi_info"), "libfabric-bin");
  EXPECT_EQ(package_of("ib"), "");
  EXPECT_EQ(package_of(""), "");
}

TEST_F(RunTest, SuggestsTheNearestCommand) {
  const Outcome slip = nerve("docter");
  EXPECT_EQ(slip.exit_code, kExitUsage);
  EXPECT_EQ(slip.text, "nerve: unknown command `docter`; did you mean `doctor`?\n");
  const Outcome option = nerve("run --pcapp x -- true");
  EXPECT_EQ(option.exit_code, kExitUsage);
  EXPECT_EQ(
      option.text,
      "nerve run: unknown option `--pcapp`; did you mean `--pcap`?; see `nerve run --help`\n");
  EXPECT_EQ(nerve("frobnicate").exit_code, kExitUsage);
}

TEST_F(RunTest, ExplainsInvalidOptions) {
  const Outcome bad = nerve("run --transport tcp -- true");
  EXPECT_EQ(bad.exit_code, kExitUsage);
  EXPECT_EQ(bad.text, "nerve run: --transport 'tcp': transport takes auto, shm or udp\n");
  EXPECT_EQ(nerve("run").exit_code, kExitUsage);
  EXPECT_EQ(nerve("run --bogus -- true").exit_code, kExitUsage);
  EXPECT_EQ(nerve("run --fault loss=2 -- true").exit_code, kExitUsage);
  const std::string notes = make("notes.txt", "mine");
  EXPECT_EQ(nerve("run --pcap " + notes + " -- true").exit_code, kExitUsage);
  EXPECT_EQ(std::filesystem::file_size(notes), 4U);
}

TEST_F(RunTest, ListsRequestedDevices) {
  const Outcome text = nerve("devices");
  EXPECT_EQ(nerve("devices --bogus").exit_code, kExitUsage);
  if (text.exit_code != kExitOk) GTEST_SKIP() << "a machine without any interface";
  EXPECT_EQ(text.text.rfind("nerve0  interface ", 0), 0U) << text.text;
  const Outcome json = nerve("devices --json");
  EXPECT_EQ(json.text.rfind("{\"name\":\"nerve0\",\"interface\":\"", 0), 0U) << json.text;
  // One of two may appear later; without any, the program is not started.
  const Outcome one = nerve("run --device x=none0 --device y=lo -- true");
  EXPECT_EQ(one.exit_code, kExitOk);
  EXPECT_EQ(one.text, "nerve run: x=none0: no such interface; `ip link` lists the interfaces\n");
  const Outcome none = nerve("run --device x=none0 -- " NERVE_PROGRAM " devices");
  EXPECT_EQ(none.exit_code, kExitUsage);
  EXPECT_EQ(none.text, "nerve run: x=none0: no such interface; `ip link` lists the interfaces\n");
}

}  // namespace nerve::cli::run_test
