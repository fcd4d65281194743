#include "ir/type_check.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "ir/builder.h"
#include "ir/primitive.h"

namespace jaxscope {
namespace {

const AvalRef kF3(DType::F32, {3});

Avals same_as_first(const Op& op) {
    if (op.in.size() != 1) throw Error(ErrorCode::TypeMismatch, "expected 1 operand, found " + std::to_string(op.in.size()));
    return {op.in[0]};
}
const Primitive kCopyShape = [] {
    Primitive p;
    p.name = "test_copy_shape";
    p.abstract_eval = same_as_first;
    return p;
}();

SourceRef line_41() {
    Traceback s;
    s.frames.push_back({.file = "train.py", .function = "f", .line = 41, .column = 4, .project = true});
    return Source{s, {}};
}

/// f(x) = copy(x), whose result is recorded as `result`.
std::shared_ptr<Jaxpr> one_equation(AvalRef result, std::uint32_t n_in = 1) {
    auto j = std::make_shared<Jaxpr>();
    j->name = "f";
    j->add_var(kF3);
    j->num_invars = 1;
    Eqn e;
    e.prim = &kCopyShape;
    e.n_in = n_in;
    for (std::uint32_t i = 0; i < n_in; ++i) j->atoms.emplace_back(Var{0});
    e.first_out = 1;
    e.n_out = 1;
    e.source = line_41();
    j->add_var(result);
    j->eqns.push_back(e);
    j->outvars = {Var{1}};
    return j;
}
Error error_of(const Jaxpr& j) {
    try {
        check_jaxpr(j);
    } catch (const Error& e) {
        return e;
    }
    ADD_FAILURE() << "no error";
    return Error(ErrorCode::Cancelled, "");
}

TEST(TypeCheck, RightProgramsPass) {
    EXPECT_NO_THROW(check_jaxpr(*one_equation(kF3)));
    EXPECT_NO_THROW(check_jaxpr(*one_equation(AvalRef(DType::F32, {3}, true)))) << "weak types differ between JAX versions";
}

TEST(TypeCheck, ALyingAvalIsNamedAtTheUsersLine) {
    const Error e = error_of(*one_equation(AvalRef(DType::F32, {4})));
    EXPECT_EQ(e.code, ErrorCode::TypeMismatch);
    EXPECT_STREQ(e.fact(), "expected f32[3] from test_copy_shape, found f32[4]");
    EXPECT_EQ(e.loc.file, "train.py");
    EXPECT_EQ(e.loc.line, 41);
    ASSERT_EQ(e.context.size(), 2u);
    EXPECT_EQ(e.context[0], "checking eqn 0: test_copy_shape f32[3]");
    EXPECT_EQ(e.context[1], "the jaxpr of f");
    EXPECT_EQ(error_of(*one_equation(AvalRef(DType::F16, {3}))).code, ErrorCode::TypeMismatch);
}

TEST(TypeCheck, WrongArityIsThePrimitivesOwnError) { EXPECT_STREQ(error_of(*one_equation(kF3, 2)).fact(), "expected 1 operand, found 2"); }

TEST(TypeCheck, VariablesAreDefinedBeforeTheyAreUsed) {
    auto j = one_equation(kF3);
    j->atoms[0] = Var{1};
    EXPECT_STREQ(error_of(*j).fact(), "expected a variable below 1, found 1");
    j = one_equation(kF3);
    j->outvars[0] = Var{7};
    EXPECT_STREQ(error_of(*j).fact(), "expected a variable below 2, found 7");
    j = one_equation(kF3);
    j->set_dropped(Var{1}, true);
    EXPECT_EQ(error_of(*j).code, ErrorCode::BadInput) << "`_` can't be read";
    j = one_equation(kF3);
    j->eqns[0].n_in = 5;
    EXPECT_EQ(error_of(*j).code, ErrorCode::BadInput);
    j = one_equation(kF3);
    j->eqns[0].n_out = 5;
    EXPECT_EQ(error_of(*j).code, ErrorCode::BadInput);
}

TEST(TypeCheck, ConstantsHaveTheirVariablesTypes) {
    auto j = one_equation(kF3);
    j->num_constvars = 1;
    j->num_invars = 0;
    auto value = std::make_shared<ArrayConst>();
    value->aval = AvalRef(DType::S32, {3});
    j->consts = {value};
    EXPECT_STREQ(error_of(*j).fact(), "expected a constant of f32[3], found i32[3]");
    j->consts.clear();
    EXPECT_NO_THROW(check_jaxpr(*j)) << "an open jaxpr";
}

TEST(TypeCheck, InnerJaxprsAreCheckedOnceAndNestingIsLimited) {
    JaxprPtr inner = one_equation(AvalRef(DType::F32, {4}));
    const auto wrap = [](const JaxprPtr& body) {
        JaxprBuilder b;
        const Value x = b.add_input(kF3);
        const ParamsRef params = Params::make({{"jaxpr", Attr::JaxprRef{body}}});
        Values y = b.emit(primitive("test_call"), {x}, params, {kF3});
        y = b.emit(primitive("test_call"), y, params, {kF3});
        return b.finish(y);
    };
    EXPECT_EQ(error_of(*wrap(wrap(inner))).code, ErrorCode::TypeMismatch);
    JaxprPtr deep = one_equation(kF3);
    for (std::size_t i = 1; i < kMaxNesting.value; ++i) deep = wrap(deep);
    EXPECT_NO_THROW(check_jaxpr(*deep)) << "2^255 equations if each call counted";
    EXPECT_EQ(error_of(*wrap(deep)).code, ErrorCode::LimitExceeded);
}

}  // namespace
}  // namespace jaxscope
