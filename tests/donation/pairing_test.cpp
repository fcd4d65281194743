#include "donation/pairing.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace jaxscope {
namespace {

constexpr DType F32 = DType::F32;

/// A program with these inputs and outputs; what it computes doesn't matter to pairing.
Program program(const Avals& in, const Avals& out, std::vector<bool> donated) {
    Program p;
    JaxprBuilder b;
    Values args;
    for (std::size_t i = 0; i < in.size(); ++i) {
        args.push_back(b.add_input(in[i]));
        p.in_paths.emplace_back("x" + std::to_string(i));
    }
    const Values results = b.emit(primitive("made_up"), args, {}, out);
    p.jaxpr = b.finish(results);
    for (std::size_t o = 0; o < out.size(); ++o) p.out_paths.emplace_back("[" + std::to_string(o) + "]");
    p.donated = std::move(donated);
    p.kept.assign(in.size(), true);
    p.jit = "jax";
    return p;
}
AvalRef f32(Dims d) { return AvalRef(F32, std::move(d)); }

// Behaviours B-08: outputs in order, each takes the first free donated input of its type.
TEST(Pairing, B08OutputsTakeTheFirstFreeInput) {
    const DonationReport r = pair_donations(program({f32({4}), f32({4})}, {f32({4}), f32({4}), f32({4})}, {true, true}));
    EXPECT_EQ(r.donated[0].output, 0);
    EXPECT_EQ(r.donated[1].output, 1);
    EXPECT_EQ(r.saved_bytes, 32);
    EXPECT_FALSE(r.warning);
}

// B-04: one warning that lists all such inputs by aval.
TEST(Pairing, B04WarnsAsJaxDoes) {
    const DonationReport r = pair_donations(program({f32({2}), AvalRef(DType::S32, {3, 4})}, {f32({})}, {true, true}));
    EXPECT_EQ(*r.warning,
              "Some donated buffers were not usable: float32[2], int32[3,4].\nSee an explanation at "
              "https://docs.jax.dev/en/latest/faq.html#buffer-donation.");
    EXPECT_FALSE(r.donated[0].used);
    EXPECT_EQ(r.donated[0].reason, "no output has its type");
}

// The reason names what was missing, the same one for every leaf; the warning marks weak types as str(aval) does.
TEST(Pairing, ReasonsNameWhatIsReturnedInstead) {
    Program p = program({f32({2, 3}), AvalRef(Aval{.dtype = DType::S32, .weak_type = true})}, {AvalRef(DType::BF16, {2, 3})}, {true, true});
    p.out_paths = {"[0]['w']"};
    const DonationReport r = pair_donations(p);
    EXPECT_EQ(
        r.donated[0].reason,
        "silently lost: no output of its type is left, and the one with as many elements has another size in bytes; one of its shape is "
        "returned as bf16 at [0]");
    EXPECT_EQ(r.warning->substr(0, 53), "Some donated buffers were not usable: ~int32[].\nSee a");
}

// JAX: "Attempt to donate the same buffer twice".
TEST(Pairing, OneArrayUnderTwoArguments) {
    Program p = program({f32({2}), f32({2}), f32({2})}, {f32({2})}, {true, false, false});
    p.same_arrays = {{0, 2}};
    EXPECT_NE(pair_donations(p).findings.at(0).find("JAX refuses to run this"), std::string::npos);
    p.same_arrays = {{1, 2}};
    for (const std::string& f : pair_donations(p).findings) EXPECT_EQ(f.find("JAX refuses"), std::string::npos) << f;
}

TEST(Pairing, ArgumentsWithoutNamesAreNumbered) {
    Program p = program({f32({2}), f32({1024})}, {f32({1024})}, {true, false});
    p.in_paths.clear();
    p.same_arrays = {{0, 1}};
    const DonationReport r = pair_donations(p);
    EXPECT_EQ(r.donated[0].path, "arg0");
    ASSERT_EQ(r.findings.size(), 2u);
    EXPECT_EQ(r.findings[1].rfind("arg1 (f32[1024]) could be donated", 0), 0u) << r.findings[1];
    EXPECT_EQ(r.findings[0].rfind("arg0 and arg1 are one array", 0), 0u) << r.findings[0];
}

// B-10: as many elements but another size: given to XLA, which can't use it, and nobody says so.
TEST(Pairing, B10LostSilently) {
    const DonationReport r = pair_donations(program({f32({4})}, {AvalRef(DType::S8, {2, 2})}, {true}));
    EXPECT_FALSE(r.donated[0].used);
    EXPECT_FALSE(r.warning);
    ASSERT_EQ(r.findings.size(), 1u);
    EXPECT_NE(r.findings[0].find("lost without a warning"), std::string::npos);
}

// Seen with JAX 0.10.2: float32[4] donated, int32[4] out: JAX leaves it to XLA, XLA aliases equal sizes.
TEST(Pairing, XlaAliasesEqualSizesOfAnotherType) {
    const DonationReport r = pair_donations(program({f32({4})}, {AvalRef(DType::S32, {4})}, {true}));
    EXPECT_TRUE(r.donated[0].used);
    EXPECT_FALSE(r.donated[0].at_lowering);
}

// Seen with JAX 0.10.2: two donors, one output of as many elements: the first is used, the second warned about.
TEST(Pairing, DonorsBeyondTheOutputsAreWarnedAbout) {
    const DonationReport r = pair_donations(program({f32({4}), f32({4})}, {f32({2, 2})}, {true, true}));
    EXPECT_TRUE(r.donated[0].used);
    EXPECT_FALSE(r.donated[1].used);
    EXPECT_EQ(r.warning->substr(0, 51), "Some donated buffers were not usable: float32[4].\nS");
}

// B-07: an argument that jit prunes is neither donated nor warned about.
TEST(Pairing, B07PrunedArgumentsStayValid) {
    Program p = program({f32({2}), f32({2})}, {f32({2})}, {true, false});
    p.kept[0] = false;
    const DonationReport r = pair_donations(p);
    EXPECT_FALSE(r.donated[0].used);
    EXPECT_FALSE(r.warning);
    EXPECT_NE(r.donated[0].reason.find("stays valid"), std::string::npos);
}

// B-38: filter_jit has an int32 scalar output in front, which takes a donated int32 scalar.
TEST(Pairing, B38FilterJitHasAnExtraOutput) {
    Program p = program({AvalRef(DType::S32, {}), f32({2})}, {f32({2}), AvalRef(DType::S32, {})}, {true, true});
    p.jit = "eqx";
    const DonationReport r = pair_donations(p);
    EXPECT_TRUE(r.donated[0].used);
    EXPECT_FALSE(r.donated[0].output);
    EXPECT_EQ(r.donated[1].output, 0);
}

TEST(Pairing, WeakTypesDontMatter) {
    const DonationReport r = pair_donations(program({AvalRef(F32, {}, true)}, {f32({})}, {true}));
    EXPECT_TRUE(r.donated[0].used);
}

}  // namespace
}  // namespace jaxscope
