#include "ir/print/print_refs.h"

#include <string_view>

#include "ir/primitive.h"

namespace jaxscope {

namespace {

constexpr const char* kIndexerType = "RefIndexer";

}  // namespace

std::optional<RefAccess> ref_access(const Eqn& e) {
    const std::string_view name = e.prim->name;
    const bool get = name == "get";
    if ((!get && name != "swap" && name != "addupdate") || e.n_in < (get ? 1u : 2u) || e.n_out != (name == "addupdate" ? 0u : 1u))
        return std::nullopt;
    const Attr* tree = e.params->find("tree");
    const auto* object = tree ? tree->get<Attr::Object>() : nullptr;
    if (!object) return std::nullopt;
    if (object->type.str() != kIndexerType) return std::nullopt;
    return RefAccess{object->name.empty() ? object->text.str() : object->name.str(), get ? 1u : 2u};
}

Attr indexer_attr(const std::string& indexer, const std::string& text) { return Attr::Object{kIndexerType, indexer, text}; }

}  // namespace jaxscope
