// SPDX-License-Identifier: Apache-2.0
#include "ir/types/manual_axes.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

namespace jaxscope {

namespace {

thread_local const ManualScope* t_scope = nullptr;
constexpr std::string_view kVarying = "vma=";

std::uint32_t number_of(const ManualAxes& axes) {
    static std::mutex mutex;
    static auto& seen = *new std::vector<ManualAxes>;  // as many as programs have meshes
    const std::lock_guard lock(mutex);
    const auto found = std::find(seen.begin(), seen.end(), axes);
    if (found != seen.end()) return static_cast<std::uint32_t>(found - seen.begin()) + 1;
    seen.push_back(axes);
    return static_cast<std::uint32_t>(seen.size());
}
bool has(const std::vector<Sym>& axes, Sym axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

/// As the mesh has them; without one by name.
void order(std::vector<Sym>& axes) {
    const ManualAxes* scope = ManualScope::current();
    const auto place = [&](Sym axis) {
        const auto begin = scope->mesh.begin();
        return std::find(begin, scope->mesh.end(), axis) - begin;
    };
    std::sort(axes.begin(), axes.end(),
              [&](Sym a, Sym b) { return scope && place(a) != place(b) ? place(a) < place(b) : a.str() < b.str(); });
}

}  // namespace

ManualScope::ManualScope(ManualAxes axes) : axes_(std::move(axes)), number_(number_of(axes_)), outer_(t_scope) { t_scope = this; }
ManualScope::~ManualScope() { t_scope = outer_; }
const ManualAxes* ManualScope::current() { return t_scope ? &t_scope->axes_ : nullptr; }
std::uint32_t ManualScope::number() { return t_scope ? t_scope->number_ : 0; }

bool varies(const Aval& aval) { return !aval.sharding.empty() && aval.sharding.str().find(kVarying) != std::string::npos; }

std::vector<Sym> varying_axes(const Aval& aval) {
    std::vector<Sym> out;
    if (aval.sharding.empty()) return out;
    std::string_view text = aval.sharding.str();
    const std::size_t at = text.find(kVarying);
    if (at == std::string_view::npos) return out;
    for (text = text.substr(at + kVarying.size()); !text.empty();) {
        const std::size_t end = std::min(text.find(','), text.size());
        if (end > 0) out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

AvalRef with_varying(AvalRef aval, std::vector<Sym> axes) {
    if (!aval->is_array() || (axes.empty() && !varies(*aval))) return aval;
    order(axes);
    std::string_view before = aval->sharding.str();
    before = before.substr(0, std::min(before.find(kVarying), before.size()));
    while (before.ends_with(' ')) before.remove_suffix(1);
    std::string text(before);
    for (std::size_t i = 0; i < axes.size(); ++i)
        text += i ? "," + axes[i].str() : (text.empty() ? "" : " ") + std::string(kVarying) + axes[i].str();
    Aval out = *aval;
    out.sharding = text.empty() ? Sym() : Sym(text);
    return out;
}

std::vector<std::vector<Sym>> explicit_spec(const Aval& aval) {
    std::vector<std::vector<Sym>> out;
    std::string_view text = aval.sharding.str();
    if (!text.starts_with("P(")) return out;
    int depth = 0;
    std::vector<Sym> names;
    bool any = false;
    for (text.remove_prefix(2); !text.empty(); text.remove_prefix(1)) {
        const char c = text.front();
        if (c == '\'') {
            const std::size_t end = std::min(text.find('\'', 1), text.size() - 1);
            names.emplace_back(text.substr(1, end - 1));
            text.remove_prefix(end);
            any = true;
        } else if (depth == 0 && (c == ',' || c == ')')) {
            if (any) out.push_back(std::exchange(names, {}));
            any = false;
            if (c == ')') break;
        } else {
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            any = any || c != ' ';
        }
    }
    return out;
}

AvalRef with_explicit_spec(AvalRef aval, const std::vector<std::vector<Sym>>& dims) {
    if (!aval->is_array() || (aval->sharding.empty() && dims.empty())) return aval;
    const bool none = std::all_of(dims.begin(), dims.end(), [](const std::vector<Sym>& d) { return d.empty(); });
    std::string text;
    for (std::size_t d = 0; d < dims.size() && !none; ++d) {
        std::string names;
        for (const Sym n : dims[d]) names += (names.empty() ? "'" : ", '") + n.str() + "'";
        text += (d ? ", " : "P(") + (names.empty() ? "None" : dims[d].size() == 1 ? names : "(" + names + ")");
    }
    if (!text.empty()) text += ")";
    Aval out = *aval;
    out.sharding = text.empty() ? Sym() : Sym(text);
    return with_varying(out, varying_axes(*aval));
}

std::vector<Sym> axes_joined(std::vector<Sym> a, const std::vector<Sym>& b) {
    for (const Sym axis : b)
        if (!has(a, axis)) a.push_back(axis);
    return a;
}
std::vector<Sym> axes_without(const std::vector<Sym>& a, const std::vector<Sym>& b) {
    std::vector<Sym> out;
    for (const Sym axis : a)
        if (!has(b, axis)) out.push_back(axis);
    return out;
}

}  // namespace jaxscope
