// SPDX-License-Identifier: Apache-2.0
#include "ir/print/print_refs.h"

#include <string_view>

#include "ir/primitive.h"
#include "ir/print/text_form.h"

namespace jaxscope {

namespace {

constexpr const char* kIndexerType = "RefIndexer";

}  // namespace

std::optional<RefAccess> ref_access(const Eqn& e) {
    using Ref = TextForm::Ref;
    const Ref use = e.prim->text ? e.prim->text->ref : Ref::None;
    if (use == Ref::None) return std::nullopt;
    const bool get = use == Ref::Get;
    if (e.n_in < (get ? 1u : 2u) || e.n_out != (use == Ref::Add ? 0u : 1u)) return std::nullopt;
    const Attr* tree = e.params->find("tree");
    const auto* object = tree ? tree->get<Attr::Object>() : nullptr;
    if (!object) return std::nullopt;
    if (object->type.str() != kIndexerType) return std::nullopt;
    return RefAccess{object->name.empty() ? object->text.str() : object->name.str(), get ? 1u : 2u};
}

Attr indexer_attr(const std::string& indexer, const std::string& text) { return Attr::Object{kIndexerType, indexer, text}; }

}  // namespace jaxscope
