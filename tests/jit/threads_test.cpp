// What a run asks of its threads: no signal handler on them, and all of the work done by however many come.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <omp.h>
#include <unistd.h>

#include "io/text/parser.h"
#include "jit/jit.h"
#include "jit/kernels/parallel.h"

namespace jaxscope {
namespace {

constexpr const char* kProducts = R"({ lambda ; a:f32[384,384]. let
    b:f32[384,384] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a a
    c:f32[384,384] = tanh b
    d:f32[384,384] = dot_general[dimension_numbers=(([1], [0]), ([], []))] c b
  in (d,) }
)";

std::atomic<pid_t> sender{0};
std::atomic<int> taken{0}, taken_elsewhere{0};
void on_signal(int) { ++(gettid() == sender.load() ? taken : taken_elsewhere); }

/// A process whose handler for SIGUSR1 runs on whatever thread the system chooses, and a thread that sends it without a pause.
class Sender {
public:
    Sender() {
        struct sigaction action {};
        action.sa_handler = on_signal;
        sigaction(SIGUSR1, &action, nullptr);
        thread_ = std::jthread([](const std::stop_token& stop) {
            sender = gettid();
            while (!stop.stop_requested()) {
                kill(getpid(), SIGUSR1);
                std::this_thread::yield();
            }
        });
        while (sender == 0) std::this_thread::yield();
    }

private:
    std::jthread thread_;
};

TEST(Threads, NoHandlerRunsOnAThreadThatComputes) {
    const auto executable = Executable::compile(read_jaxpr_text(kProducts, "t")->jaxpr);
    // Threads that OpenMP has already, and which take signals.
    std::atomic<int> others{0};
#pragma omp parallel
    ++others;
    RunOptions options;
    options.repeats = 30;
    int on_computing = 0;
    {
        const Sender signals;
        executable->run({}, {});  // from here on the threads are the run's
        taken_elsewhere = taken = 0;
        const auto before = executable->run({}, options);
        on_computing = taken_elsewhere;
        EXPECT_EQ(before.outputs.size(), 1u);
    }
    EXPECT_GT(taken, 20);
    // This thread takes signals again as soon as the run is over: one may come before the counter is read.
    EXPECT_LE(on_computing, 1);
}

TEST(Threads, HandlersFindTheirOwnStackAfterwards) {
    Executable::compile(read_jaxpr_text(kProducts, "t")->jaxpr)->run({}, {});
    stack_t stack{};
    ASSERT_EQ(sigaltstack(nullptr, &stack), 0);
    EXPECT_FALSE(stack.ss_flags & SS_DISABLE);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_FALSE(sigismember(&mask, SIGINT));
}

TEST(Threads, SharesCoverEverythingHoweverManyThreadsCome) {
    for (const int levels : {1, 0}) {  // 0: OpenMP gives one thread, whatever is asked for
        const int had = omp_get_max_active_levels();
        omp_set_max_active_levels(levels);
        for (const std::int64_t n : {1, 63, 64, 65, 1000, 4097})
            for (const std::int64_t unit : {1, 64})
                for (const int threads : {1, 2, 3, 8}) {
                    std::vector<std::atomic<int>> done(static_cast<std::size_t>(n));
                    exec::parallel_shares(threads, n, unit, [&](int thread, std::int64_t begin, std::int64_t end) {
                        EXPECT_LT(thread, threads);
                        EXPECT_EQ(begin % unit, 0);
                        for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
                    });
                    for (const auto& times : done) ASSERT_EQ(times, 1) << n << " by " << unit << " on " << threads;
                }
        EXPECT_EQ(exec::threads_given(4) > 1, levels > 0 && omp_get_thread_limit() > 1);
        omp_set_max_active_levels(had);
    }
}

TEST(Threads, ExceptionsOfAnyThreadArriveAtTheCaller) {
    EXPECT_THROW(exec::parallel_shares(4, 4, 1,
                                       [](int, std::int64_t begin, std::int64_t) {
                                           if (begin > 0) throw Error(ErrorCode::BadInput, "here");
                                       }),
                 Error);
}

TEST(Threads, LibrariesFindWhatTheyFoundBefore) {
    const int before = omp_get_max_threads();
    {
        const exec::LibraryThreads one(1);
        EXPECT_EQ(omp_get_max_threads(), 1);
    }
    EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace jaxscope
