// SPDX-License-Identifier: Apache-2.0
#include "ir/types/aval.h"

#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/intern.h"

namespace jaxscope {

namespace {

struct AvalHash {
    std::size_t operator()(const Aval& a) const {
        std::size_t h = (static_cast<std::size_t>(a.dtype) << 2) | (a.weak_type ? 2u : 0u) | static_cast<std::size_t>(a.space);
        h = hash_mix(h, a.sharding.id());
        h = hash_mix(h, a.other.id());
        for (const std::int64_t d : a.shape) h = hash_mix(h, static_cast<std::size_t>(d));
        return h;
    }
};

InternTable<Aval, AvalHash>& avals() {
    static auto& t = *[] {
        auto* made = new InternTable<Aval, AvalHash>;
        made->intern(Aval{});
        return made;
    }();
    return t;
}

}  // namespace

AvalRef::AvalRef(const Aval& aval) : id_(avals().intern(aval)) {}
AvalRef::AvalRef(DType dtype, Dims shape, bool weak) {
    Aval a;
    a.dtype = dtype;
    a.weak_type = weak;
    a.shape = std::move(shape);
    id_ = avals().intern(std::move(a));
}
const Aval& AvalRef::operator*() const { return avals().get(id_); }

std::int64_t element_count(const Dims& shape) {
    std::int64_t n = 1;
    bool zero = false;
    for (const std::int64_t d : shape) zero = zero || d == 0;
    for (const std::int64_t d : shape) n = checked_mul(n, d);
    return zero ? 0 : n;
}
std::int64_t Aval::size() const { return is_array() ? element_count(shape) : 0; }
std::int64_t Aval::bytes() const { return is_array() ? checked_mul(element_count(shape), byte_size(dtype)) : 0; }

namespace {

/// The items of `P('x', None, ('y', 'z')) vma=x,y`, which is how captures write an explicit sharding: per dimension what JAX prints
/// behind `@`, empty for none; and the axes over which a value varies.
struct ShardingText {
    std::vector<std::string> dims;
    std::string varying;
};
ShardingText read_sharding(std::string_view text) {
    ShardingText out;
    if (const std::size_t vma = text.find("vma="); vma != std::string_view::npos) {
        out.varying = text.substr(vma + 4);
        text = text.substr(0, vma);
    }
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return out;
    std::string item;
    int depth = 0;
    for (const char c : text.substr(open + 1, close - open - 1)) {
        if (c == ',' && depth == 0) {
            out.dims.push_back(std::exchange(item, {}));
            continue;
        }
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c != '\'' && c != ' ') item += c;
    }
    if (!item.empty()) out.dims.push_back(item);
    for (std::string& d : out.dims) {
        if (d == "None") d.clear();
        if (d.ends_with(",)")) d = d.substr(0, d.size() - 2) + ")";
    }
    return out;
}

}  // namespace

std::string to_text(const Aval& aval) {
    if (!aval.is_array()) return aval.other.str();
    std::string s = info(aval.dtype).short_name;
    if (aval.space == MemorySpace::Host) s += "<host>";
    const ShardingText sharding = aval.sharding.empty() ? ShardingText{} : read_sharding(aval.sharding.str());
    s += '[';
    for (std::size_t i = 0; i < aval.shape.size(); ++i) {
        s += (i ? "," : "") + std::to_string(aval.shape[i]);
        if (i < sharding.dims.size() && !sharding.dims[i].empty()) s += "@" + sharding.dims[i];
    }
    s += ']';
    if (sharding.varying.empty()) return s;
    return s + (sharding.varying.find(',') == std::string::npos ? "{V:" + sharding.varying + "}" : "{V:(" + sharding.varying + ")}");
}

AvalRef with_dtype(AvalRef aval, DType dtype) {
    Aval a = *aval;
    a.dtype = dtype;
    return a;
}
AvalRef with_shape(AvalRef aval, Dims shape) {
    Aval a = *aval;
    a.shape = std::move(shape);
    return a;
}
AvalRef strong(AvalRef aval) {
    if (!aval->weak_type) return aval;
    Aval a = *aval;
    a.weak_type = false;
    return a;
}
AvalRef tangent_aval(AvalRef aval) {
    if (!aval->is_array() || is_inexact(aval->dtype)) return aval;
    Aval a = *aval;
    a.dtype = DType::Float0;
    a.weak_type = false;
    return a;
}

}  // namespace jaxscope
