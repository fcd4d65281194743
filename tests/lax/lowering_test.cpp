// Index maps of element-wise lowerings, run by a plain interpreter on JAX's own inputs and results (golden/shape_rules.json).
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ir/kernel_builder.h"
#include "lax/rule_cases.h"
#include "lax/rule_support.h"

namespace jaxscope {
namespace {

using Array = std::vector<double>;

/// Computes at once what a code generator would emit. Numbers of all dtypes are doubles here: exact for the small ones of the tests.
class Interpreter final : public ElementBuilder {
public:
    Interpreter(const Avals& avals, const std::vector<Array>& values) : avals_(avals), values_(values) {}
    double value(KScalar s) const { return *static_cast<double*>(s.handle); }

    KScalar load(int operand, const KIndex& i) override {
        const Dims& shape = avals_[static_cast<std::size_t>(operand)]->shape;
        EXPECT_EQ(i.at.size(), shape.size());
        std::int64_t at = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) {
            const auto p = static_cast<std::int64_t>(value(i.at[d]));
            if (p < 0 || p >= shape[d]) {
                ADD_FAILURE() << "position " << p << " of dimension " << d << " outside " << shape_text(shape);
                return make(avals_[static_cast<std::size_t>(operand)]->dtype, 0);
            }
            at = at * shape[d] + p;
        }
        return make(avals_[static_cast<std::size_t>(operand)]->dtype,
                    values_[static_cast<std::size_t>(operand)][static_cast<std::size_t>(at)]);
    }
    KScalar op(KOp, KScalar a) override { return a; }
    KScalar call(const KFunction&, KScalar a) override { return a; }
    KScalar op(KOp o, KScalar a, KScalar b) override {
        const double x = value(a), y = value(b);
        switch (o) {
            case KOp::Add:
                return make(a.dtype, x + y);
            case KOp::Sub:
                return make(a.dtype, x - y);
            case KOp::Mul:
                return make(a.dtype, x * y);
            case KOp::Div:
                return make(a.dtype, std::trunc(x / y));
            case KOp::Rem:
                return make(a.dtype, std::fmod(x, y));
            case KOp::Max:
                return make(a.dtype, std::max(x, y));
            case KOp::Min:
                return make(a.dtype, std::min(x, y));
            case KOp::And:
                return make(a.dtype, x != 0 && y != 0);
            case KOp::Eq:
                return make(DType::Bool, x == y);
            case KOp::Ge:
                return make(DType::Bool, x >= y);
            case KOp::Le:
                return make(DType::Bool, x <= y);
            case KOp::Lt:
                return make(DType::Bool, x < y);
            default:
                ADD_FAILURE() << "an operation that index maps don't use";
                return a;
        }
    }
    KScalar select(KScalar c, KScalar t, KScalar f) override { return value(c) != 0 ? t : f; }
    KScalar convert(KScalar v, DType to) override { return make(to, value(v)); }
    KScalar bitcast(KScalar v, DType to) override { return make(to, value(v)); }
    KScalar constant(DType d, double v) override { return make(d, v); }
    KScalar constant_int(DType d, std::int64_t v) override { return make(d, static_cast<double>(v)); }
    KScalar clamp_index(KScalar v, std::int64_t bound) override {
        return make(DType::S64, std::max(0.0, std::min(value(v), static_cast<double>(bound - 1))));
    }
    KScalar masked_load(int operand, const KIndex& i, KScalar inside, KScalar otherwise) override {
        return value(inside) != 0 ? load(operand, i) : otherwise;
    }

private:
    KScalar make(DType d, double v) { return {&made_.emplace_back(v), nullptr, d}; }
    const Avals& avals_;
    const std::vector<Array>& values_;
    std::deque<double> made_;
};

Array run_lowering(const Op& op, const std::vector<Array>& values) {
    const Dims& shape = op.out[0]->shape;
    Array result;
    for (std::int64_t n = 0; n < op.out[0]->size(); ++n) {
        Interpreter k(op.in, values);
        KIndex i;
        i.at.resize(shape.size());
        std::int64_t rest = n;
        for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) i.at[d] = k.index(rest % shape[d]);
        result.push_back(k.value(op.prim->lower.fn(k, op, i)));
    }
    return result;
}

/// Adds scalar updates into an array of one dimension, enough for what expansions emit.
std::vector<Array> run_scatter_add(const std::vector<Array>& values) {
    Array result = values[0];
    for (std::size_t n = 0; n < values[1].size(); ++n) result.at(static_cast<std::size_t>(values[1][n])) += values[2][n];
    return {result};
}

double number_of(const Literal& l) { return is_float(l.aval->dtype) ? l.real : static_cast<double>(l.integer); }

std::vector<Array> run(const Op& op, const std::vector<Array>& values);

std::vector<Array> run_jaxpr(const Jaxpr& j, const std::vector<Array>& inputs) {
    std::vector<Array> vars = inputs;
    for (const Eqn& e : j.eqns) {
        std::vector<Array> in;
        for (const Atom a : j.inputs(e)) in.push_back(a.is_literal() ? Array{number_of(*a.literal())} : vars[a.var().index]);
        for (Array& out : run(make_op(j, e), in)) vars.push_back(std::move(out));
    }
    std::vector<Array> out;
    for (const Atom a : j.outvars) out.push_back(vars[a.var().index]);
    return out;
}

std::vector<Array> run(const Op& op, const std::vector<Array>& values) {
    if (op.prim->lower) return {run_lowering(op, values)};
    if (op.prim->expand) return run_jaxpr(*op.prim->expand.fn(op), values);
    JAXSCOPE_ASSERT(std::holds_alternative<ScatterKernel>(op.prim->kernel.fn(op).kind));
    return run_scatter_add(values);
}

std::string number_text(double v) { return std::isnan(v) ? "nan" : std::to_string(v); }

std::string text_of(const std::vector<Array>& arrays) {
    std::string text;
    for (const Array& a : arrays) {
        for (const double v : a) text += number_text(v) + " ";
        text += "| ";
    }
    return text;
}

std::vector<Array> arrays_of(const nlohmann::json& v) {
    std::vector<Array> arrays;
    for (const nlohmann::json& one : v) {
        Array a;
        for (const nlohmann::json& n : one) a.push_back(n.is_string() ? std::stod(n.get<std::string>()) : n.get<double>());
        arrays.push_back(std::move(a));
    }
    return arrays;
}

TEST(Lowering, ElementsAreJaxs) {
    int seen = 0;
    for (const nlohmann::json& c : rule_cases("shape_rules.json")) {
        if (!c.contains("run")) continue;
        SCOPED_TRACE(c["prim"].dump() + c["in"].dump() + c["params"].dump());
        EXPECT_EQ(text_of(run(op_of(application_of(c)), arrays_of(c["run"]["in"]))), text_of(arrays_of(c["run"]["out"])));
        ++seen;
    }
    EXPECT_GT(seen, 50);
}

}  // namespace
}  // namespace jaxscope
