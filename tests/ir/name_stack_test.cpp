#include "ir/name_stack.h"

#include <gtest/gtest.h>

#include "ir/source.h"

namespace jaxscope {
namespace {

TEST(NameStack, TextOfCapturesStays) {
    for (const char* text : {"",
                             "loss",
                             "jvp(loss)/dot",
                             "transpose(jvp(loss))/dot",
                             "jvp()",
                             "transpose(jvp())",
                             "vmap(jvp(a/b))/c",
                             "a/jvp()",
                             "jvp(a)/jvp(b)",
                             "transpose(jvp(outer))/jvp(outer)",
                             "layer # 1 (a)",
                             "jit(f)/sin",
                             "jvp(",
                             "jvp)(",
                             "jvp(a)(b)",
                             "a//b",
                             "/",
                             "/a",
                             "a/",
                             "jvp()/a",
                             "jvp(/)",
                             "f(a/b",
                             "a)/b(c/d)",
                             "jvp(f(x/y)z)/w",
                             "transpose(x)y",
                             "jvp(transpose())"})
        EXPECT_EQ(NameStack::parse(text).str(), text);
}

TEST(NameStack, ScopesAndTransformationsAreEntries) {
    const NameStack s = NameStack::parse("transpose(jvp(loss))/dot");
    EXPECT_EQ(s, NameStack().transform("transpose").transform("jvp").scope("loss").scope("dot"));
    EXPECT_TRUE(s.has_transform("transpose"));
    EXPECT_FALSE(s.has_transform("loss"));
    EXPECT_TRUE(s.has_scope("loss"));
    EXPECT_FALSE(s.has_scope("los"));
    EXPECT_FALSE(NameStack::parse("transpose").has_transform("transpose")) << "a scope of that name";
    EXPECT_FALSE(NameStack::parse("my_transpose(jvp)/x").has_transform("transpose"));
    EXPECT_TRUE(NameStack::parse("jvp(a)/rematted_computation/b").has_scope(stack_names::kRematted));
}

TEST(NameStack, TransformationsWrapTheNextScope) {
    const NameStack inner = NameStack().scope("loss").scope("dot");
    EXPECT_EQ((NameStack().transform("jvp") + inner).str(), "jvp(loss)/dot");
    EXPECT_EQ((NameStack().scope("step").transform("jvp") + inner).str(), "step/jvp(loss)/dot");
    EXPECT_EQ(NameStack().scope("step").transform("vmap").str(), "step/vmap()");
    EXPECT_EQ(NameStack() + inner, inner);
    EXPECT_EQ(inner + NameStack(), inner);
}

TEST(NameStack, SourcesWithinAStackKeepTheirPlace) {
    const SourceRef place = Source{Traceback{{}, "train.py:41:4 (loss)"}, NameStack().scope("dot")};
    SourcesWithin none((NameStack()));
    EXPECT_EQ(none(place), place);
    SourcesWithin within(NameStack().transform("jvp"));
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(within(place)->name_stack.str(), "jvp(dot)");
        EXPECT_EQ(within(place)->summary().str(), "train.py:41:4 (loss)");
        EXPECT_EQ(within(SourceRef())->name_stack.str(), "jvp()");
        EXPECT_EQ(within(SourceRef())->summary(), Sym());
    }
}

}  // namespace
}  // namespace jaxscope
