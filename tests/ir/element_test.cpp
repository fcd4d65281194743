#include "ir/types/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace jaxscope {
namespace {

nlohmann::json table() {
    std::ifstream in(std::string(JAXSCOPE_SOURCE_DIR) + "/tests/io/arrays/small_floats.json");
    return nlohmann::json::parse(in);
}

// The judge is ml_dtypes: what every bit pattern means.
TEST(Element, EightBitFloatsMeanWhatMlDtypesSays) {
    const nlohmann::json t = table();
    for (const DType d : {DType::F8E3M4, DType::F8E4M3, DType::F8E4M3B11FNUZ, DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2,
                          DType::F8E5M2FNUZ, DType::F8E8M0FNU, DType::F4E2M1FN}) {
        const auto& values = t.at(info(d).name);
        for (std::size_t bits = 0; bits < values.size(); ++bits) {
            const double v = small_float_value(d, static_cast<std::uint16_t>(bits));
            if (values[bits].is_null())
                EXPECT_TRUE(std::isnan(v)) << info(d).name << " " << bits;
            else if (values[bits].is_string())
                EXPECT_EQ(v, values[bits] == "inf" ? INFINITY : -INFINITY) << info(d).name << " " << bits;
            else
                EXPECT_EQ(std::bit_cast<std::uint64_t>(v), std::bit_cast<std::uint64_t>(values[bits].get<double>()))
                    << info(d).name << " " << bits;
        }
    }
}

TEST(Element, NumbersRoundAsMlDtypesRounds) {
    const nlohmann::json t = table();
    for (const DType d : {DType::F8E3M4, DType::F8E4M3, DType::F8E4M3B11FNUZ, DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2,
                          DType::F8E5M2FNUZ, DType::F8E8M0FNU, DType::F4E2M1FN, DType::BF16, DType::F16}) {
        const std::string name = info(d).name;
        const auto& in = t.at(name + "_in");
        const auto& bits = t.at(name + "_bits");
        for (std::size_t i = 0; i < in.size(); ++i) {
            const double v = std::strtod(in[i].get<std::string>().c_str(), nullptr);
            const std::uint16_t got = small_float_bits(d, v), wanted = bits[i].get<std::uint16_t>();
            if (std::isnan(small_float_value(d, wanted)))
                EXPECT_TRUE(std::isnan(small_float_value(d, got))) << name << " " << v;
            else
                EXPECT_EQ(got, wanted) << name << " " << v;
        }
    }
}

TEST(Element, StoresAndLoadsEveryDtype) {
    for (int i = 0; i <= static_cast<int>(DType::KeyUnsafeRbg); ++i) {
        const auto d = static_cast<DType>(i);
        std::byte buffer[16] = {};
        Element one;
        one.integer = 1;
        one.number = 1.0;
        store_element(d, buffer, one);
        const Element back = load_element(d, buffer);
        const double number = is_inexact(d) ? back.number.real() : static_cast<double>(back.integer);
        EXPECT_EQ(number, d == DType::Float0 ? 0.0 : 1.0) << info(d).name;
    }
    std::byte b{};
    store_element(DType::S4, &b, {.integer = 15, .number = 0});
    EXPECT_EQ(load_element(DType::S4, &b).integer, -1) << "low bits, sign-extended";
}

}  // namespace
}  // namespace jaxscope
