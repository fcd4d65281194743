#include "ir/interpret.h"

#include <gtest/gtest.h>

namespace jaxscope {
namespace {

AvalRef f32(const Dims& shape) { return AvalRef(DType::F32, shape); }

SourceRef line_of(const char* file, int line) {
    Traceback at;
    at.frames.push_back({.file = file, .function = "f", .line = line});
    return Source{at, {}};
}

/// neg of the input at line 1, mul of the result and a literal at line 2.
JaxprPtr two_equations() {
    JaxprBuilder b;
    const Value x = b.add_input(f32({}));
    b.source = line_of("f.py", 1);
    const Value y = b.bind1(primitive("neg"), {x});
    b.source = line_of("f.py", 2);
    const Value z = b.bind1(primitive("mul"), {y, make_literal(f32({}), 2.0)});
    return b.finish({z, y});
}

TEST(Interpreter, KeepsAColumnForEachTypeAndItsUnsetValueWhereNothingIsWritten) {
    const JaxprPtr j = two_equations();
    struct Counted {
        std::vector<double> value;
        std::vector<int> depth;
    };
    const auto number = [](LiteralRef l) { return l->real; };
    Interpreter run(*j, {}, number, 0.0, -1);
    run.bind_inputs({3.0}, {7});
    const Counted out = run.forward([](const Eqn&, const std::vector<double>& x, const std::vector<int>& depth) {
        if (x.size() == 1) return Counted{{-x[0]}, {depth[0] + 1}};
        EXPECT_EQ(depth, (std::vector<int>{8, -1}));  // a literal has the unset value
        return Counted{{x[0] * x[1]}, {}};
    });
    EXPECT_EQ(out.value, (std::vector<double>{-6, -3}));
    EXPECT_EQ(out.depth, (std::vector<int>{-1, 8}));
}

TEST(Interpreter, TheBuilderStandsWhereTheEquationStandsAndThenWhereItStood) {
    const JaxprPtr j = two_equations();
    JaxprBuilder b;
    const Value x = b.add_input(f32({}));
    const SourceRef outside = b.source = line_of("g.py", 9);
    std::vector<int> lines;
    {
        Interpreter run(*j, {.builder = &b}, LiteralAsValue(), Value());
        run.bind_inputs({x});
        run.forward([&](const Eqn& e, const Values& in) {
            lines.push_back(b.source.loc().line);
            return b.copy(*j, e, in);
        });
    }
    EXPECT_EQ(lines, (std::vector<int>{1, 2}));
    EXPECT_EQ(b.source, outside);
}

TEST(Interpreter, AnErrorSaysAtWhichEquation) {
    const JaxprPtr j = two_equations();
    try {
        EqnWalk(*j, {.doing = "linearizing", .path = "3/jaxpr"}).backward([](const Eqn& e) {
            if (e.n_in == 1) throw Error(ErrorCode::NoRule, "expected a rule");
        });
        FAIL() << "the error is lost";
    } catch (const Error& e) {
        EXPECT_EQ(e.context, std::vector<std::string>{"linearizing eqn 3/jaxpr/0: neg"});
        EXPECT_EQ(e.loc.line, 1);
    }
}

TEST(Builder, MoreValuesThanAHandleCountsAreAnError) {
    EXPECT_EQ(Value::known((1u << 29) - 1).index(), (1u << 29) - 1);
    try {
        Value::known(1u << 29);
        FAIL() << "wrapped around";
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::LimitExceeded);
    }
}

TEST(Builder, ConstantsThatAreReadComeBehindTheConstvarsInTheOrderOfTheirFirstReading) {
    const auto array = [](std::int64_t n) { return std::make_shared<const ArrayConst>(ArrayConst{f32({n}), {}, {}}); };
    JaxprBuilder b;
    b.add_constvar(f32({1}), array(1));
    const Value x = b.add_input(f32({4}));
    const ArrayPtr third = array(3), fourth = array(4);
    b.constant(array(2));  // nothing reads it
    const Value c = b.constant(third), d = b.constant(fourth);
    const Value y = b.bind1(primitive("mul"), {d, x});
    EXPECT_EQ(b.constant(fourth), d);
    const JaxprPtr j = b.finish({c, y, x, d});
    EXPECT_EQ(j->const_avals(), (Avals{f32({1}), f32({4}), f32({3})}));
    EXPECT_EQ(j->inputs(j->eqns[0])[0], Atom(j->constvar(1)));
    EXPECT_EQ(j->inputs(j->eqns[0])[1], Atom(j->invar(0)));
    EXPECT_EQ(j->outvars, (std::vector<Atom>{j->constvar(2), j->output(j->eqns[0], 0), j->invar(0), j->constvar(1)}));
}

}  // namespace
}  // namespace jaxscope
