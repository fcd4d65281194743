#include "base/subprocess.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/atomic_file.h"
#include "base/cancel.h"
#include "base/error.h"

namespace jaxscope {
namespace {

ProcessRequest shell(const std::string& script) {
    ProcessRequest r;
    r.command = {"sh", "-c", script};
    return r;
}

double seconds_of(const ProcessRequest& r, ProcessResult& result) {
    const auto begin = std::chrono::steady_clock::now();
    result = run_process(r);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Subprocess, GivesOutputErrorAndExitCode) {
    ProcessRequest r = shell("read x; echo \"got $x\"; echo bad >&2; exit 7");
    r.input = "hello\n";
    const ProcessResult result = run_process(r);
    EXPECT_EQ(result.output, "got hello\n");
    EXPECT_EQ(result.error, "bad\n");
    EXPECT_EQ(result.exit_code, 7);
}

TEST(Subprocess, SaysWhichProgramIsMissing) {
    ProcessRequest r;
    r.command = {"no-such-program-anywhere"};
    EXPECT_THROW(run_process(r), Error);
}

TEST(Subprocess, EndsTheWholeGroupAtTheTimeLimit) {
    ProcessRequest r = shell("sleep 30 & sleep 30");
    r.timeout_seconds = 0.3;
    ProcessResult result;
    EXPECT_LT(seconds_of(r, result), 5);
    EXPECT_TRUE(result.timed_out);
}

// A child that closes its streams and goes on must not escape the time limit.
TEST(Subprocess, TimeLimitHoldsForSilentChildren) {
    ProcessRequest r = shell("exec >&- 2>&-; sleep 30");
    r.timeout_seconds = 0.3;
    ProcessResult result;
    EXPECT_LT(seconds_of(r, result), 5);
    EXPECT_TRUE(result.timed_out);
}

// What it leaves in the background holds its streams open: nobody waits for that, and it is ended, out of its group or not.
TEST(Subprocess, EndsWhatStaysInTheBackground) {
    const std::string stays = testing::TempDir() + "/jaxscope_subprocess_test_pid";
    ProcessRequest r = shell("sleep 60 & setsid sh -c 'echo $$ > " + stays + "; exec sleep 60' & sleep 0.3; echo done");
    ProcessResult result;
    EXPECT_LT(seconds_of(r, result), 10);
    EXPECT_EQ(result.output, "done\n");
    EXPECT_EQ(result.exit_code, 0);
    pid_t pid = 0;
    std::ifstream(stays) >> pid;
    ASSERT_GT(pid, 0);
    std::string line;
    std::ifstream command("/proc/" + std::to_string(pid) + "/cmdline");
    EXPECT_FALSE(std::getline(command, line)) << line;
}

TEST(Subprocess, CutsHugeOutputAndSaysSo) {
    ProcessRequest r = shell("head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000 /dev/zero | tr '\\0' e >&2; echo last >&2");
    r.max_output = 1000;
    const ProcessResult result = run_process(r);
    EXPECT_EQ(result.output.size(), 1000u);
    EXPECT_EQ(result.error, std::string(1000, 'e'));
    EXPECT_TRUE(result.error_tail.ends_with("elast\n"));
    EXPECT_TRUE(result.truncated);
}

TEST(Subprocess, CancelEndsIt) {
    CancelToken token;
    const CancelScope scope(token);
    ProcessRequest r = shell("sleep 30");
    std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        token.cancel();
    });
    ProcessResult result;
    EXPECT_LT(seconds_of(r, result), 5);
    EXPECT_TRUE(result.cancelled);
}

TEST(AtomicFile, LeavesTheOldFileUntilCommit) {
    const std::string path = testing::TempDir() + "/jaxscope_atomic_test";
    {
        AtomicFile f(path);
        f.stream() << "old";
        f.commit();
    }
    {
        AtomicFile f(path);
        f.stream() << "new, never finished";
    }
    std::ifstream in(path);
    std::string text;
    std::getline(in, text);
    EXPECT_EQ(text, "old");
}

TEST(AtomicFile, ChangesNothingAfterItsOwnerWasStopped) {
    const std::string first = testing::TempDir() + "/jaxscope_stopped_1", second = testing::TempDir() + "/jaxscope_stopped_2";
    for (const std::string& path : {first, second}) std::filesystem::remove(path);
    const auto write_both = [&] {
        AtomicFile a(first), b(second);
        a.stream() << "a";
        b.stream() << "b";
        AtomicFile::commit({&a, &b});
    };
    ask_before_files_change([] { throw Error(ErrorCode::Cancelled, "cancelled"); });
    EXPECT_THROW(write_both(), Error);
    ask_before_files_change(nullptr);
    EXPECT_FALSE(std::filesystem::exists(first) || std::filesystem::exists(second));
    write_both();
    EXPECT_TRUE(std::filesystem::exists(first) && std::filesystem::exists(second));
}

TEST(AtomicFile, RefusesAFolderThatIsNotThere) { EXPECT_THROW(AtomicFile("/no/such/folder/x"), Error); }

}  // namespace
}  // namespace jaxscope
