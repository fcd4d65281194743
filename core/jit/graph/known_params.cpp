// SPDX-License-Identifier: Apache-2.0
#include "jit/graph/known_params.h"

#include <algorithm>

#include "ir/print/text_form.h"

namespace jaxscope {

namespace {

bool in_text_form(const Primitive& prim, const std::string& name) {
    if (!prim.text) return false;
    const auto is = [&](const auto& p) { return name == p.name; };
    return std::any_of(prim.text->hidden.begin(), prim.text->hidden.end(), is) ||
           std::any_of(prim.text->spelled.begin(), prim.text->spelled.end(), is);
}

}  // namespace

void refuse_unknown_params(const Op& op) {
    if (op.prim->opaque || !op.prim->abstract_eval || op.params->entries().empty()) return;
    const ParamReads reads;
    op.prim->abstract_eval.fn(op);
    for (const auto& [name, value] : op.params->entries())
        if (!reads.contains(name) && !in_text_form(*op.prim, name.str()))
            throw Error(ErrorCode::BadInput, std::string("expected parameters of ") + op.prim->name + " that jaxscope knows, found '" +
                                                 printable(name.str(), 60) + "': what it changes isn't known");
}

}  // namespace jaxscope
