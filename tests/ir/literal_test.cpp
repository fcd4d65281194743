#include "ir/types/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace jaxscope {
namespace {

std::string text(DType d, double v) { return value_text(*make_literal(AvalRef(d, {}), v)); }

// What str(np.float32(v).item()) prints, as JAX's printer does: the double's digits.
TEST(Literal, PrintsFloatsAsPythonDoes) {
    EXPECT_EQ(text(DType::F32, 2.0), "2.0");
    EXPECT_EQ(text(DType::F32, 0.1), "0.10000000149011612");
    EXPECT_EQ(text(DType::F32, 1e-6), "9.999999974752427e-07");
    EXPECT_EQ(text(DType::F32, -1e9), "-1000000000.0");
    EXPECT_EQ(text(DType::F64, 1e16), "1e+16");
    EXPECT_EQ(text(DType::F64, 0.0001), "0.0001");
    EXPECT_EQ(text(DType::F64, 0.00001), "1e-05");
    EXPECT_EQ(text(DType::F64, 0.1), "0.1");
    EXPECT_EQ(text(DType::F64, 1.0 / 3), "0.3333333333333333");
    EXPECT_EQ(text(DType::F32, std::numeric_limits<double>::infinity()), "inf");
    EXPECT_EQ(text(DType::F32, std::nan("")), "nan");
    EXPECT_EQ(text(DType::F32, -0.0), "-0.0");
}

TEST(Literal, PrintsIntegersBoolsAndComplex) {
    EXPECT_EQ(value_text(*make_literal(AvalRef(DType::S32, {}), std::int64_t{-7})), "-7");
    EXPECT_EQ(value_text(*make_literal(AvalRef(DType::Bool, {}), std::int64_t{1})), "True");
    EXPECT_EQ(value_text(*make_literal(AvalRef(DType::C64, {}), std::complex<double>(1, 2))), "(1+2j)");
    EXPECT_EQ(value_text(*make_literal(AvalRef(DType::C64, {}), std::complex<double>(0, -2))), "-2j");
}

TEST(Literal, RoundsToItsDtype) {
    EXPECT_EQ(round_to(DType::BF16, 1.00390625), 1.0);  // halfway: ties to even
    EXPECT_EQ(round_to(DType::F16, 65520.0), std::numeric_limits<double>::infinity());
    EXPECT_EQ(round_to(DType::F16, 6e-8), std::ldexp(1.0, -24));  // subnormal
    EXPECT_TRUE(std::isnan(round_to(DType::F8E4M3FN, 1e6)));      // no infinities in fn kinds
    EXPECT_EQ(round_to(DType::F8E4M3FN, 449.0), 448.0);
}

TEST(Literal, InternsByBits) {
    const AvalRef f32(DType::F32, {});
    EXPECT_EQ(make_literal(f32, std::nan("")), make_literal(f32, std::nan("")));
    EXPECT_FALSE(make_literal(f32, 0.0) == make_literal(f32, -0.0));
    EXPECT_FALSE(make_literal(f32, 1.0) == make_literal(AvalRef(DType::F32, {}, true), 1.0));
}

}  // namespace
}  // namespace jaxscope
