// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "jit/kernels/library.h"
#include "jit/kernels/random/random_bits.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/placement.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"

// rng_bit_generator with XLA's bits on a CPU, rng_uniform, and the 64-bit counters of iota_2x32_shape.
namespace jaxscope::exec {

namespace {

BitAlgorithm algorithm_of(const Attr& a) {
    std::string name;
    if (const auto* e = a.get<Attr::Enum>()) name = e->member.str();
    if (const auto* s = a.get<Sym>()) name = s->str();
    if (const auto* o = a.get<Attr::Object>()) name = o->text.str();
    if (const auto* n = a.get<std::int64_t>()) name = std::to_string(*n);
    if (name.ends_with("RNG_DEFAULT") || name.ends_with("RNG_PHILOX") || name == "0" || name == "2") return BitAlgorithm::Philox;
    if (name.ends_with("RNG_THREE_FRY") || name == "1") return BitAlgorithm::Threefry;
    throw Error(ErrorCode::NoRule, "expected an algorithm RNG_DEFAULT, RNG_THREE_FRY or RNG_PHILOX, found '" + name + "'");
}

class Generator final : public LibraryCall {
public:
    explicit Generator(const Op& op)
        : bits_(algorithm_of(op.as<RngBitGeneratorParams>().algorithm), op.out[1]->shape, byte_size(op.out[1]->dtype)) {}
    void run(void* const* in, void* const* out, void*) const override {
        const BitGenerator::State state = BitGenerator::state_of(in[0]), after = bits_.after(state);
        std::memcpy(out[0], after.data(), sizeof(after));
        parallel_for(threads, bits_.size(), 60.0 * static_cast<double>(bits_.size()), [&](std::int64_t begin, std::int64_t end) {
            bits_.fill(state, begin, end, static_cast<std::byte*>(out[1]) + begin * bits_.width());
        });
    }

private:
    BitGenerator bits_;
};

class Counters final : public LibraryCall {
public:
    explicit Counters(const Op& op) : n_(op.out[0]->size()) {}
    void run(void* const*, void* const* out, void*) const override {
        for (std::int64_t i = 0; i < n_; ++i) {
            const Pair c = counter(i);
            static_cast<std::uint32_t*>(out[0])[i] = c.first;
            static_cast<std::uint32_t*>(out[1])[i] = c.second;
        }
    }

private:
    std::int64_t n_;
};

/// Draws from a stream that all of the process share: what a run gets depends on what was drawn before.
class Uniform final : public LibraryCall {
public:
    explicit Uniform(const Op& op) : type_(op.out[0]->dtype), n_(op.out[0]->size()), bits_(BitAlgorithm::Philox, {n_}, 8) {
        if (type_ != DType::F32 && type_ != DType::F64 && type_ != DType::S32 && type_ != DType::U32)
            throw Error(ErrorCode::NoRule, "expected rng_uniform of f32, f64, i32 or u32, found " + to_text(op.out[0]));
    }
    void run(void* const* in, void* const* out, void*) const override {
        static std::atomic<std::uint64_t> drawn{0};
        std::vector<std::uint64_t> words(static_cast<std::size_t>(n_));
        bits_.fill({0x9e3779b97f4a7c15U, drawn.fetch_add(static_cast<std::uint64_t>(n_))}, 0, n_, words.data());
        switch (type_) {
            case DType::F32:
                return fill<float>(words, in, out);
            case DType::F64:
                return fill<double>(words, in, out);
            case DType::S32:
                return fill<std::int32_t>(words, in, out);
            default:
                return fill<std::uint32_t>(words, in, out);
        }
    }

private:
    template <class T>
    static void fill(const std::vector<std::uint64_t>& words, void* const* in, void* const* out) {
        const T low = *static_cast<const T*>(in[0]), high = *static_cast<const T*>(in[1]);
        for (std::size_t i = 0; i < words.size(); ++i) {
            T& x = static_cast<T*>(out[0])[i];
            if constexpr (std::is_integral_v<T>) {
                const auto span = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - static_cast<std::int64_t>(low));
                x = high > low ? static_cast<T>(static_cast<std::int64_t>(low) + static_cast<std::int64_t>(words[i] % span)) : low;
            } else {
                // As many bits as T has: a rounded sum may reach `high`, which isn't drawn.
                const T unit =
                    std::ldexp(static_cast<T>(words[i] >> (64 - std::numeric_limits<T>::digits)), -std::numeric_limits<T>::digits);
                x = low + unit * (high - low);
                if (high > low && x >= high) x = std::nextafter(high, low);
            }
        }
    }
    DType type_;
    std::int64_t n_;
    BitGenerator bits_;
};

}  // namespace

LibraryCallPtr make_generator_routine(const Op& op) {
    if (op.prim == &kRngBitGenerator) return std::make_shared<Generator>(op);
    if (op.prim == &kRngUniform) return std::make_shared<Uniform>(op);
    if (op.prim == &kIota2x32) return std::make_shared<Counters>(op);
    return nullptr;
}

}  // namespace jaxscope::exec
