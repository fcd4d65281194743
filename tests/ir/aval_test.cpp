#include "ir/types/aval.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace jaxscope {
namespace {

TEST(Aval, PrintsAsJaxDoes) {
    EXPECT_EQ(to_text(AvalRef(DType::F32, {3, 4})), "f32[3,4]");
    EXPECT_EQ(to_text(AvalRef(DType::BF16, {}, true)), "bf16[]");
    EXPECT_EQ(to_text(AvalRef(DType::KeyFry, {2})), "key<fry>[2]");
    EXPECT_EQ(to_text(AvalRef(DType::Bool, {0})), "bool[0]");
    Aval host = *AvalRef(DType::F32, {2, 2});
    host.space = MemorySpace::Host;
    EXPECT_EQ(to_text(host), "f32<host>[2,2]");
}

TEST(Aval, CountsBytesAndRefusesOverflow) {
    EXPECT_EQ(AvalRef(DType::F32, {4, 2})->bytes(), 32);
    EXPECT_EQ(AvalRef(DType::Float0, {4})->bytes(), 0);
    EXPECT_EQ(AvalRef(DType::KeyFry, {3})->bytes(), 24);
    EXPECT_EQ(AvalRef(DType::F32, {1'000'000'000'000, 0})->bytes(), 0);
    EXPECT_THROW(AvalRef(DType::F32, {1'000'000'000'000, 1'000'000'000'000})->bytes(), Error);
}

TEST(Aval, EqualAvalsAreOneRef) {
    EXPECT_EQ(AvalRef(DType::F32, {3}), AvalRef(DType::F32, {3}));
    EXPECT_FALSE(AvalRef(DType::F32, {3}) == AvalRef(DType::F32, {3}, true));
    EXPECT_EQ(tangent_aval(AvalRef(DType::S32, {3}))->dtype, DType::Float0);
}

}  // namespace
}  // namespace jaxscope
