#include <cstring>

#include "jit/kernels/library.h"
#include "jit/kernels/random/random_bits.h"
#include "jit/kernels/threads/parallel.h"
#include "lax/params/placement.h"
#include "lax/primitives.h"
#include "lax/routine_primitives.h"

// rng_bit_generator with XLA's bits on a CPU, and the 64-bit counters of iota_2x32_shape.
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

}  // namespace

LibraryCallPtr make_generator_routine(const Op& op) {
    if (op.prim == &kRngBitGenerator) return std::make_shared<Generator>(op);
    if (op.prim == &kIota2x32) return std::make_shared<Counters>(op);
    return nullptr;
}

}  // namespace jaxscope::exec
