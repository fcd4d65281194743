// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/target_nodes.h"

#include <algorithm>
#include <variant>

#include "ir/print/attr_text.h"
#include "lax/params/shapes.h"
#include "lax/params/slicing.h"
#include "lax/primitives.h"

namespace jaxscope::exec {

bool is_loop_node(const Node& n) { return n.kind == NodeKind::Scan || n.kind == NodeKind::While || n.kind == NodeKind::Cond; }
bool is_outer_product(const Node& n) {
    const auto* dot = n.kind == NodeKind::Library && n.spec() ? std::get_if<DotKernel>(&n.spec()->kind) : nullptr;
    return dot != nullptr && std::all_of(dot->lhs_contract.begin(), dot->lhs_contract.end(),
                                         [&](int d) { return n.op().in[0]->shape[static_cast<std::size_t>(d)] == 1; });
}
bool is_product(const Node& n) {
    return !is_outer_product(n) && n.kind == NodeKind::Library && n.spec() &&
           (std::holds_alternative<DotKernel>(n.spec()->kind) || std::holds_alternative<ConvKernel>(n.spec()->kind));
}
bool is_gather(const Node& n) {
    return n.kind == NodeKind::Element && n.in.size() == 2 && n.map().operands[0].access == IndexMap::Access::General &&
           n.op().in[1]->size() > 1 && is_integer(n.op().in[1]->dtype);
}
bool picks_rows(const Node& n) {
    if (!is_gather(n)) return false;
    const Dims& indices = n.op().in[1]->shape;
    return indices.size() == 1 || (indices.size() == 2 && indices[1] == 1);
}
bool skips_elements(const Node& n) {
    if (n.op().prim == &kSlice) {
        const auto& strides = n.op().as<SliceParams>().strides;
        return strides && std::any_of(strides->begin(), strides->end(), [](std::int64_t s) { return s > 1; });
    }
    if (n.op().prim != &kPad) return false;
    const PadConfig& config = n.op().as<PadParams>().padding_config;
    return std::any_of(config.begin(), config.end(), [](const auto& d) { return d.interior > 0; });
}
bool at_default_precision(const Node& n) {
    const Attr* a = n.op().params->find("precision");
    if (!a) return true;
    const std::string text = str_text(*a);
    return text.find("HIGH") == std::string::npos && text.find("F32") == std::string::npos;
}

}  // namespace jaxscope::exec
