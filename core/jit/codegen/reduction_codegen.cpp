// SPDX-License-Identifier: Apache-2.0
#include "jit/codegen/reduction_codegen.h"

#include "base/error.h"

namespace jaxscope::exec {

using llvm::Value;

std::vector<Value*> ReductionCodegen::start(std::uint32_t j) {
    const KernelNode& n = k_.nodes[j];
    const DType d = n.op().out[0]->dtype;
    if (!is_complex(d)) return {ops_.accumulator_start(n.reduce(), d)};
    if (n.reduce() == ReduceKind::Max || n.reduce() == ReduceKind::Min) {
        Value* lowest = llvm::ConstantFP::getInfinity(ops_.register_type(d), n.reduce() == ReduceKind::Max);
        return {lowest, lowest};
    }
    if (n.reduce() != ReduceKind::Sum && n.reduce() != ReduceKind::Prod)
        throw Error(ErrorCode::NoRule, "expected a sum, product, max or min of complex numbers, found another reduction");
    return {llvm::ConstantFP::get(ops_.register_type(d), n.reduce() == ReduceKind::Prod ? 1.0 : 0.0),
            llvm::ConstantFP::get(ops_.register_type(d), 0.0)};
}

std::vector<Value*> ReductionCodegen::add_element(std::uint32_t j, const std::vector<Value*>& acc) {
    const KernelNode& n = k_.nodes[j];
    const DType d = n.op().out[0]->dtype;
    const Number v = code_.reduction_operand(j);
    code_.at(Level::Column);
    if (is_complex(d)) {
        const KOp joined = n.reduce() == ReduceKind::Sum    ? KOp::Add
                           : n.reduce() == ReduceKind::Prod ? KOp::Mul
                           : n.reduce() == ReduceKind::Max  ? KOp::Max
                                                            : KOp::Min;
        const Number r = ops_.binary(joined, {acc[0], acc[1], d}, v);
        return {r.re, r.im};
    }
    return {ops_.accumulate(n.reduce(), d, acc[0], ops_.to_accumulator(n.reduce(), v))};
}

Value* ReductionCodegen::address(Value* block, Value* position, llvm::Type* t, std::size_t part) {
    llvm::IRBuilder<>& b = ops_.b;
    const std::int64_t offset = static_cast<std::int64_t>(part) * k_.column_block() * 8;
    Value* first = b.CreateGEP(b.getInt8Ty(), block, b.getInt64(static_cast<std::uint64_t>(offset)));
    return b.CreateGEP(t, b.CreateBitCast(first, t->getPointerTo()), position);
}
void ReductionCodegen::write(Value* block, Value* position, const std::vector<Value*>& acc) {
    for (std::size_t part = 0; part < acc.size(); ++part)
        ops_.b.CreateStore(acc[part], address(block, position, acc[part]->getType(), part));
}
std::vector<Value*> ReductionCodegen::read(std::uint32_t j, Value* block, Value* position) {
    std::vector<Value*> out = start(j);
    for (std::size_t part = 0; part < out.size(); ++part) {
        llvm::Type* t = out[part]->getType();
        out[part] = ops_.b.CreateLoad(t, address(block, position, t, part));
    }
    return out;
}

Number ReductionCodegen::result(std::uint32_t j, const std::vector<Value*>& acc) {
    const KernelNode& n = k_.nodes[j];
    const DType d = n.op().out[0]->dtype;
    return is_complex(d) ? Number{acc[0], acc[1], d} : ops_.from_accumulator(n.reduce(), d, acc[0]);
}

}  // namespace jaxscope::exec
