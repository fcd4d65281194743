// What a run asks of its threads: no signal handler on them, and all of the work done by however many come.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

#include <omp.h>
#include <unistd.h>

#include "io/text/parser.h"
#include "jit/code_cache.h"
#include "jit/jit.h"
#include "jit/kernels/threads/parallel.h"

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
    RunOptions options;
    options.repeats = 30;
    int on_computing = 0;
    {
        const Sender signals;
        executable->run({}, {});  // from here on the threads are the run's
        taken = 0;
        // On a busy machine the sender may hardly get a turn in one run.
        const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
        do {
            taken_elsewhere = 0;
            const auto before = executable->run({}, options);
            on_computing = std::max<int>(on_computing, taken_elsewhere);
            EXPECT_EQ(before.outputs.size(), 1u);
        } while (taken <= 20 && std::chrono::steady_clock::now() < end);
    }
    EXPECT_GT(taken, 20);
    // This thread takes signals until a run begins and as soon as it is over: a few may come there. Within the runs it would be dozens.
    EXPECT_LE(on_computing, 5);
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

TEST(Threads, SharesCoverEverythingAndNoTwoThreadsAreOne) {
    for (const std::int64_t n : {1, 63, 64, 65, 1000, 4097})
        for (const std::int64_t unit : {1, 64})
            for (const int threads : {1, 2, 3, 8}) {
                std::vector<std::atomic<int>> done(static_cast<std::size_t>(n));
                std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(threads));
                exec::parallel_shares(threads, n, unit, [&](int thread, std::int64_t begin, std::int64_t end) {
                    ASSERT_LT(thread, threads);
                    EXPECT_FALSE(busy[static_cast<std::size_t>(thread)].exchange(true));
                    EXPECT_EQ(begin % unit, 0);
                    for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
                    busy[static_cast<std::size_t>(thread)] = false;
                });
                for (const auto& times : done) ASSERT_EQ(times, 1) << n << " by " << unit << " on " << threads;
            }
}

TEST(Threads, SeveralCallersAtATimeAndCallsInsideOfShares) {
    std::atomic<std::int64_t> sum{0};
    {
        std::vector<std::jthread> callers;
        for (int c = 0; c < 4; ++c)
            callers.emplace_back([&] {
                for (int i = 0; i < 500; ++i)
                    exec::run_shares(3, 5, [&](int, std::int64_t share) {
                        exec::run_shares(2, 3, [&](int, std::int64_t inner) { sum += share * 3 + inner; });
                    });
            });
    }
    EXPECT_EQ(sum, 4 * 500 * (14 * 15 / 2));
}

/// What Debian's alternatives chose may not be made for several callers.
TEST(Threads, DecompositionsOfSeveralCallersDontMeet) {
    const auto executable = [] {
        return Executable::compile(read_jaxpr_text(R"({ lambda ; a:f32[40,70,70] s:f32[]. let
    d:f32[40,70,70] = add a s
    b:f32[40,70,70] c:i32[40,70] _:i32[40,70] = lu d
    e:f32[40,70,70] = triangular_solve[conjugate_a=False left_side=True lower=True transpose_a=False unit_diagonal=True] b a
  in (b, e) })",
                                                   "t")
                                       ->jaxpr,
                                   {}, {}, JitOptions{.threads = 1});
    };
    const auto bytes = [](const RunResult& r) {
        std::vector<std::byte> all;
        for (const auto& out : r.outputs) all.insert(all.end(), out->data.begin(), out->data.end());
        return all;
    };
    const std::vector<std::byte> alone = bytes(executable()->run({}, {}));
    std::atomic<int> others{0};
    {
        std::vector<std::jthread> callers;
        for (int t = 0; t < 4; ++t)
            callers.emplace_back([&] {
                const auto own = executable();
                for (int k = 0; k < 120; ++k) others += bytes(own->run({}, {})) != alone;
            });
    }
    EXPECT_EQ(others, 0);
}

TEST(Threads, CompilersMeetAPreparation) {
    const auto objects = [] { return code_cache_use().compiled + code_cache_use().found; };
    const int before = objects();
    const Preparation first, second;
    std::vector<std::thread> callers;
    for (int t = 0; t < 3; ++t)
        callers.emplace_back([t] {
            const std::string text =
                "{ lambda ; a:f32[9]. let b:f32[9] = mul a 41" + std::to_string(t) + ".5:f32[]; c:f32[9] = exp b in (c,) }";
            EXPECT_EQ(Executable::compile(read_jaxpr_text(text, "t")->jaxpr)->run({}).outputs.size(), 1U);
        });
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(objects() - before, 3);  // what is compiled to be ready counts for no program
}

TEST(Threads, IdleWorkersSleep) {
    exec::run_shares(4, 16, [](int, std::int64_t) {});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.02);
}

TEST(Threads, OpenMPsEnvironmentSaysHowMany) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(3);
    EXPECT_EQ(exec::usable_threads(0), std::min(3, omp_get_thread_limit()));
    EXPECT_EQ(exec::usable_threads(2), std::min(2, omp_get_thread_limit()));
    omp_set_num_threads(before);
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
        const exec::SerialLibraries one;
        EXPECT_EQ(omp_get_max_threads(), 1);
    }
    EXPECT_EQ(omp_get_max_threads(), before);
}

}  // namespace
}  // namespace jaxscope
