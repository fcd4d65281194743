// What calls of the front end cost: time of a cached call, memory of a training step, what a thousand steps leave behind. Prints one figure
// a line, "NAME VALUE". tests/differential/test_front_end_costs.py holds them to their limits, tests/bench/compare_front_end.py puts JAX's
// beside them.
#include <jaxscope/jax.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;

namespace {

using Clock = std::chrono::steady_clock;

template <class F>
void time_of(const char* name, int repeats, F f) {
    f();
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
        const Clock::time_point start = Clock::now();
        for (int i = 0; i < repeats; ++i) f();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / repeats);
    }
    std::printf("%s %.3f us\n", name, best * 1e6);
}

struct Layer {
    Array w, b;
};
struct Hundred {
    std::array<Layer, 50> layers;
};

void overhead() {
    const auto one = jax::jit([](Array x) { return x + 1; });
    const Array x = jnp::ones(1);
    time_of("call_one_array", 20000, [&] { one(x); });
    Hundred many;
    for (Layer& l : many.layers) l = {jnp::ones(1), jnp::zeros(1)};
    const auto first = jax::jit([](const Hundred& h) { return h.layers[0].w + h.layers[49].b; });
    time_of("call_hundred_leaves", 5000, [&] { first(many); });
    const auto all = jax::jit([](const Hundred& h) { return jax::tree_map([](Array a) { return a + 1; }, h); });
    time_of("call_hundred_leaves_and_results", 2000, [&] { all(many); });
    const auto donated =
        jax::jit([](const Hundred& h) { return jax::tree_map([](Array a) { return a + 1; }, h); }, {.donate_argnums = {0}});
    time_of("call_hundred_donated_leaves", 2000, [&] { many = donated(many); });
}

/// Of this program alone: what getrusage says counts the process that started it, too.
double highest_mib() {
    std::ifstream f("/proc/self/status");
    for (std::string line; std::getline(f, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
    return 0;
}
double resident_mib() {
    std::ifstream f("/proc/self/statm");
    long all = 0, resident = 0;
    f >> all >> resident;
    return static_cast<double>(resident) * 4096 / (1 << 20);
}

/// An update of 64 MiB, donated or not: how much memory did the process take for it, beyond what it takes for a small one?
void memory(bool donate) {
    const auto step =
        jax::jit([](Array w, Array g) { return w - 0.1 * g * w; }, {.donate_argnums = donate ? std::vector<int>{0} : std::vector<int>{}});
    step(jnp::ones({2, 4}), jnp::ones(4));
    const double before = highest_mib();
    Array w = jnp::ones({1 << 12, 1 << 12});
    const Array g = jnp::ones(1 << 12);
    for (int i = 0; i < 5; ++i) w = step(w, g);
    std::printf("%s %.1f MiB\n", donate ? "donated_highest" : "plain_highest", highest_mib() - before);
}

void leaks() {
    const auto loss = [](const Layer& p, Array x) { return jnp::mean(jnp::square(jnp::tanh(jnp::matmul(x, p.w)) + p.b)); };
    const auto step = jax::jit(
        [&](const Layer& p, Array x) {
            const Layer g = jax::grad(loss)(p, x);
            return jax::tree_map([](Array a, Array d) { return a - 0.01 * d; }, p, g);
        },
        {.donate_argnums = {0}});
    Layer p{jnp::ones({64, 64}), jnp::zeros(64)};
    const Array x = jnp::ones({32, 64});
    const auto steps = [&](int n) {
        for (int i = 0; i < n; ++i) {
            p = step(p, x * (1.0 + i % 7));  // an eager operation beside it
            if (i % 100 == 0) (void)p.w.sum().item<double>();
        }
    };
    steps(200);
    const double before = resident_mib();
    steps(1000);
    std::printf("leak_of_1000_steps %.2f MiB\n", resident_mib() - before);
}

}  // namespace

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "overhead";
    if (std::strcmp(what, "overhead") == 0)
        overhead();
    else if (std::strcmp(what, "donated") == 0)
        memory(true);
    else if (std::strcmp(what, "plain") == 0)
        memory(false);
    else
        leaks();
}
