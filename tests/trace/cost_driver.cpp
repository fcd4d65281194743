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
    const Array large = jnp::ones(16 << 20);
    time_of("call_large_result", 2, [&] { one(large); });
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

struct Block {
    Array q, k, v, o, up, down, scale1, scale2;
};
struct Lm {
    Array embed, scale;
    std::vector<Block> blocks;
};
struct LmState {
    Lm params, mu, nu;
    Array count;
};
constexpr int kBatch = 4, kTokens = 64, kWide = 64, kHeads = 4, kLayers = 12, kVocabulary = 256;

Array norm(Array x, Array scale) { return x * jax::lax::rsqrt(jnp::mean(jnp::square(x), {.axis = -1, .keepdims = true}) + 1e-6) * scale; }
Array attention(const Block& b, Array x) {
    const auto heads = [](Array y) { return jnp::transpose(y.reshape({kBatch, kTokens, kHeads, kWide / kHeads}), {0, 2, 1, 3}); };
    const Array q = heads(jnp::matmul(x, b.q)), k = heads(jnp::matmul(x, b.k)), v = heads(jnp::matmul(x, b.v));
    const Array scores = jnp::matmul(q, jnp::swapaxes(k, -1, -2)) / 4.;
    const Array y = jnp::matmul(jax::nn::softmax(scores), v);
    return jnp::matmul(jnp::transpose(y, {0, 2, 1, 3}).reshape({kBatch, kTokens, kWide}), b.o);
}
Array lm_loss(const Lm& p, Array tokens) {
    Array x = jnp::take(p.embed, tokens, 0);
    for (const Block& b : p.blocks) {
        x = x + attention(b, norm(x, b.scale1));
        x = x + jnp::matmul(jax::nn::gelu(jnp::matmul(norm(x, b.scale2), b.up)), b.down);
    }
    const Array logits = jnp::matmul(norm(x, p.scale), p.embed.T());
    return -jnp::mean(jax::nn::log_softmax(logits) * jax::nn::one_hot(tokens, kVocabulary));
}
std::pair<LmState, Array> lm_step(LmState s, Array tokens) {
    const auto [value, grads] = jax::value_and_grad(lm_loss)(s.params, tokens);
    s.count = s.count + 1;
    s.mu = jax::tree_map([](Array m, Array g) { return 0.9 * m + 0.1 * g; }, s.mu, grads);
    s.nu = jax::tree_map([](Array v, Array g) { return 0.999 * v + 0.001 * g * g; }, s.nu, grads);
    const Array c1 = 1 - jnp::power(0.9, s.count), c2 = 1 - jnp::power(0.999, s.count);
    s.params =
        jax::tree_map([&](Array p, Array m, Array v) { return p - 1e-3 * (m / c1) / (jnp::sqrt(v / c2) + 1e-8); }, s.params, s.mu, s.nu);
    return {s, value};
}
/// Tracing the train step of a transformer of twelve blocks: forward, autodiff, Adam.
void tracing() {
    const auto matrix = [](int n, int m) { return jnp::full({n, m}, 0.02, jnp::float32); };
    const Array one = jnp::ones(kWide);
    const Block block{matrix(kWide, kWide),
                      matrix(kWide, kWide),
                      matrix(kWide, kWide),
                      matrix(kWide, kWide),
                      matrix(kWide, 4 * kWide),
                      matrix(4 * kWide, kWide),
                      one,
                      one};
    const Lm p{matrix(kVocabulary, kWide), one, std::vector<Block>(kLayers, block)};
    const auto zeros = [&] { return jax::tree_map([](Array a) { return jnp::zeros_like(a); }, p); };
    const LmState state{p, zeros(), zeros(), jnp::array(0)};
    const Array tokens = jnp::zeros({kBatch, kTokens}, jnp::int32);
    std::size_t equations = 0;
    double best = 1e9;
    for (int round = 0; round < 10; ++round) {
        const Clock::time_point start = Clock::now();
        equations = jax::make_jaxpr(lm_step)(state, tokens).num_equations();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::printf("trace_step %.3f ms\ntrace_equations %zu\ntrace_per_equation %.3f us\n", best * 1e3, equations,
                best * 1e6 / static_cast<double>(equations));
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
    else if (std::strcmp(what, "tracing") == 0)
        tracing();
    else
        leaks();
}
