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
    const std::string killed = what_stops({0, 60}, [] { return die_of(SIGKILL); });  // as the system does where memory is short
    EXPECT_TRUE(has(killed, "expected enough memory") && has(killed, "[cannot-run]")) << killed;
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
                             const CountedRun run(anonymous_resident(0));
                             take(16u << 20);
                             return 0;
                         }),
              "exit 0");
    const std::string said = what_stops(limits, [&] {
        const CountedRun run(anonymous_resident(0));
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
