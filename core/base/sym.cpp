// SPDX-License-Identifier: Apache-2.0
#include "base/sym.h"

#include "base/intern.h"

namespace jaxscope {

namespace {
InternTable<std::string, std::hash<std::string_view>>& table() {
    // Never destroyed: static objects of other files hold symbols.
    static auto& t = *[] {
        auto* made = new InternTable<std::string, std::hash<std::string_view>>;
        made->intern(std::string_view());
        return made;
    }();
    return t;
}
}  // namespace

Sym::Sym(std::string_view text) : id_(text.empty() ? 0 : table().intern(text)) {}
const std::string& Sym::str() const { return table().get(id_); }

}  // namespace jaxscope
