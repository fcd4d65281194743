// SPDX-License-Identifier: Apache-2.0
#include "jit/run/roofline.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "ir/builder.h"
#include "ir/primitive.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/products.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t kSide = 768;           ///< of the matrices: 0.9 GFLOP
constexpr std::int64_t kCopied = 64ll << 20;  ///< bytes
constexpr int kRounds = 4;                    ///< the best counts: a neighbour takes time, and gives none

template <class Fn>
double best_seconds(const Fn& fn) {
    double best = 1e30;
    for (int r = 0; r < kRounds; ++r) {
        const Clock::time_point begin = Clock::now();
        fn();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return best;
}

double product_seconds(int threads) {
    JaxprBuilder b;
    const AvalRef matrix(DType::F32, {kSide, kSide});
    const Value x = b.add_input(matrix), y = b.add_input(matrix);
    JitOptions options;
    options.threads = threads;
    const auto product =
        Executable::compile(b.finish({b.bind1(kDotGeneral, {x, y}, make_params(DotGeneralParams{{{1}, {0}, {}, {}}}))}), {}, {}, options);
    RunOptions run;
    run.repeats = kRounds + 1;
    run.measure = false;
    return product->run({}, run).best_seconds;
}

double copy_seconds(int threads) {
    const auto from = std::make_unique<char[]>(kCopied), to = std::make_unique<char[]>(kCopied);
    return best_seconds([&] {
        parallel_shares(threads, kCopied, 4096, [&](int, std::int64_t begin, std::int64_t end) {
            std::memcpy(to.get() + begin, from.get() + begin, static_cast<std::size_t>(end - begin));
        });
    });
}

}  // namespace

Roofline measure_roofline(int threads) {
    Roofline r;
    r.flops_per_second = 2.0 * kSide * kSide * kSide / product_seconds(threads);
    r.bytes_per_second = 2.0 * kCopied / copy_seconds(threads);  // read and written
    return r;
}

}  // namespace jaxscope::exec
