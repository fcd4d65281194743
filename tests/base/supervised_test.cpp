#include "base/supervised.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/cancel.h"
#include "base/error.h"
#include "base/signals.h"

namespace jaxscope {
namespace {

template <class Work>
std::string what_stops(const ChildLimits& limits, const Work& work) {
    try {
        return "exit " + std::to_string(run_supervised(limits, work));
    } catch (const Error& e) {
        return full_text(e);
    } catch (const std::runtime_error& e) {
        return std::string("bug: ") + e.what();
    }
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// A child may have inherited a sanitizer's or gtest's handlers.
int die_of(int number) {
    signal(number, SIG_DFL);
    raise(number);
    return 0;
}

TEST(Supervised, ExitCodesComeThrough) {
    EXPECT_EQ(what_stops({0, 60}, [] { return 7; }), "exit 7");
}

TEST(Supervised, DeathIsAMessage) {
    EXPECT_TRUE(
        has(what_stops({0, 60}, [] { return die_of(SIGILL); }), "bug: the process that ran the program ended by an illegal instruction"));
    EXPECT_TRUE(has(what_stops({0, 60}, [] { return die_of(SIGABRT); }), "an abort (SIGABRT)"));
    EXPECT_TRUE(has(what_stops({0, 60}, [] { return die_of(SIGSEGV); }), "(SIGSEGV)"));
    const std::string killed = what_stops({0, 60}, [] { return die_of(SIGKILL); });
    EXPECT_TRUE(has(killed, "(SIGKILL)") && has(killed, "[cannot-run]") && !has(killed, "its plan needs")) << killed;
    const std::string in_a_run = what_stops({0, 60}, [] {
        const CountedRun run(anonymous_resident(0), 3 << 20);
        return die_of(SIGKILL);
    });
    EXPECT_TRUE(has(in_a_run, "its plan needs 3.00 MiB")) << in_a_run;
}

/// Whoever kills leaves no trace, but the system counts what it ends because memory is short.
TEST(Supervised, WhoKilledIsSaidAsFarAsItIsKnown) {
    const std::string by_the_system = full_text(KilledBy::error(4, 5, 1 << 20)), by_somebody = full_text(KilledBy::error(4, 4, 1 << 20)),
                      by_whom = full_text(KilledBy::error(-1, -1, 0));
    EXPECT_TRUE(has(by_the_system, "expected enough memory, found that the system ended the process") &&
                has(by_the_system, "its plan needs 1.00 MiB") && has(by_the_system, "--memory-limit"))
        << by_the_system;
    EXPECT_TRUE(has(by_somebody, "expected the run to end by itself, found that something outside of it killed the process (SIGKILL)") &&
                has(by_somebody, "the system didn't run out of memory; its plan needs 1.00 MiB") &&
                !has(by_somebody, "expected enough memory"))
        << by_somebody;
    EXPECT_TRUE(has(by_whom, "by whom isn't known, the system does it where memory is short [cannot-run]")) << by_whom;
}

TEST(Supervised, TimeIsHeldToWhateverIsAtWork) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string said = what_stops({0, 0.3}, [] {
        block_signals();  // it doesn't even listen
        while (true) usleep(1000);
        return 0;
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_TRUE(has(said, "expected an end within 300 ms, found it still at work [cannot-run]")) << said;
    EXPECT_LT(seconds, 3);
}

TEST(Supervised, MemoryCountsFromTheRunOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "shadow memory counts, too";
#endif
    const auto take = [](std::size_t bytes) {
        void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::memset(p, 1, bytes);
        usleep(100000);
        munmap(p, bytes);
    };
    const ChildLimits limits{32 << 20, 60};
    EXPECT_EQ(what_stops(limits,
                         [&] {
                             take(96u << 20);  // no run
                             const CountedRun run(anonymous_resident(0), 0);
                             take(16u << 20);
                             return 0;
                         }),
              "exit 0");
    const std::string said = what_stops(limits, [&] {
        const CountedRun run(anonymous_resident(0), 0);
        take(96u << 20);
        return 0;
    });
    EXPECT_TRUE(has(said, "expected the run within 32.0 MiB of memory, found it at")) << said;
}

TEST(Supervised, CancellingEndsTheChild) {
    CancelToken token;
    const CancelScope scope(token);
    std::thread later([&] {
        usleep(100000);
        token.cancel();
    });
    EXPECT_THROW(run_supervised({},
                                [] {
                                    while (true) usleep(1000);
                                    return 0;
                                }),
                 Error);
    later.join();
}

}  // namespace
}  // namespace jaxscope
