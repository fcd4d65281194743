#include "ir/params.h"

#include <gtest/gtest.h>

namespace jaxscope {
namespace {

struct AxesA {
    Dims dimensions;
    static constexpr auto kFields = std::tuple(field("dimensions", &AxesA::dimensions));
};
/// The same field in another struct: parameters are interned by content, so both read the same object.
struct AxesB {
    std::string padding = "not where AxesA has its field";
    Dims dimensions;
    static constexpr auto kFields = std::tuple(field("dimensions", &AxesB::dimensions));
};

TEST(Params, EqualParametersOfTwoStructsHaveAViewEach) {
    const ParamsRef a = make_params(AxesA{{3, 1}});
    const ParamsRef b = make_params(AxesB{{}, {3, 1}});
    EXPECT_EQ(&*a, &*b);
    EXPECT_EQ(a->as<AxesA>().dimensions, (Dims{3, 1}));
    EXPECT_EQ(b->as<AxesB>().dimensions, (Dims{3, 1}));
    EXPECT_EQ(b->as<AxesB>().padding, "not where AxesA has its field");
    EXPECT_EQ(&a->as<AxesA>(), &b->as<AxesA>());
}

TEST(Params, AMissingOrWrongFieldIsNamed) {
    const ParamsRef p = Params::make({{Sym("dimensions"), Attr(true)}});
    try {
        p->as<AxesA>();
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.fact(), "expected a sequence of integers, found a bool");
        EXPECT_EQ(e.context.at(0), "parameter dimensions");
    }
    EXPECT_THROW(ParamsRef()->as<AxesA>(), Error);
}

}  // namespace
}  // namespace jaxscope
