// SPDX-License-Identifier: Apache-2.0
#include "ir/types/effects.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/intern.h"

namespace jaxscope {

namespace {

struct Kind {
    EffectKind kind;
    std::string_view cls;   ///< its Python class, whose name stands in the text where JAX defines none
    std::string_view text;  ///< what str() of it is, where that is the same for all of the kind
    EffectTraits traits;
};

// The lists as JAX 0.10.2 fills them: `grep -r _effects.add_type` in its sources. Classes without a text of their own print as
// "<jax._src.core.InternalMutableArrayEffect object at 0x7f...>", dataclasses as "NamedAxisEffect(name='i')".
constexpr Kind kKinds[] = {
    {EffectKind::Read,
     "ReadEffect",
     "",
     {.ref = true, .dceable = true, .remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true}},
    {EffectKind::Write,
     "WriteEffect",
     "",
     {.ref = true, .remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true}},
    {EffectKind::Accum,
     "AccumEffect",
     "",
     {.ref = true, .remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true}},
    {EffectKind::NamedAxis,
     "NamedAxisEffect",
     "",
     {.dceable = true,
      .remat_allowed = true,
      .control_flow_allowed = true,
      .custom_derivatives_allowed = true,
      .lowerable = true,
      .partial_eval_pure = true}},
    {EffectKind::IO, "IOEffect", "IO", {.control_flow_allowed = true, .lowerable = true}},
    {EffectKind::OrderedIO, "OrderedIOEffect", "OrderedIO", {.ordered = true, .control_flow_allowed = true, .lowerable = true}},
    {EffectKind::Debug,
     "DebugEffect",
     "Debug",
     {.remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::OrderedDebug,
     "OrderedDebugEffect",
     "OrderedDebug",
     {.ordered = true, .remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::InternalMutableArray,
     "InternalMutableArrayEffect",
     "",
     {.dceable = true, .remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .partial_eval_pure = true}},
    {EffectKind::Generic, "GenericEffect", "", {.control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::Ffi, "FfiEffect", "FFI", {.control_flow_allowed = true, .lowerable = true}},
    {EffectKind::NoDce, "NoDCEEffect", "", {.control_flow_allowed = true, .lowerable = true}},
    {EffectKind::SingleSideCollective,
     "SingleSideCollectiveEffect",
     "one-sided communication",
     {.control_flow_allowed = true, .lowerable = true}},
    {EffectKind::BufferCallback, "BufferCallbackEffect", "BufferCallback", {.control_flow_allowed = true, .lowerable = true}},
    {EffectKind::ShapeAssertion,
     "ShapeAssertionEffect",
     "ShapeAssertionEffect",
     {.remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::CheckifyError,
     "ErrorEffect",
     "",
     {.remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::Box, "BoxEffect", "", {.control_flow_allowed = true, .custom_derivatives_allowed = true}},
    {EffectKind::Comms,
     "CommsEffect",
     "",
     {.remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::Semaphore, "SemaphoreEffect", "", {.control_flow_allowed = true, .custom_derivatives_allowed = true}},
    {EffectKind::Delay, "DelayEffect", "", {.control_flow_allowed = true}},
    {EffectKind::CallTf,
     "CallTfEffect",
     "CallTfEffect",
     {.remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::CallTfOrdered,
     "CallTfOrderedEffect",
     "CallTfOrderedEffect",
     {.ordered = true, .remat_allowed = true, .control_flow_allowed = true, .custom_derivatives_allowed = true, .lowerable = true}},
    {EffectKind::Other, "", "", {}},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(EffectKind::Other) + 1);

const Kind& kind_row(EffectKind kind) {
    const Kind& row = kKinds[static_cast<std::size_t>(kind)];
    JAXSCOPE_ASSERT(row.kind == kind);
    return row;
}

/// "Read<0>" -> kind and input; the input's name, where a variable stands instead of a position, isn't kept.
bool parse_ref(std::string_view text, Effect& e) {
    for (const auto& [word, kind] : {std::pair<std::string_view, EffectKind>{"Read<", EffectKind::Read},
                                     {"Write<", EffectKind::Write},
                                     {"Accum<", EffectKind::Accum}}) {
        if (!text.starts_with(word) || !text.ends_with('>')) continue;
        const std::string_view inner = text.substr(word.size(), text.size() - word.size() - 1);
        int input = -1;
        const auto [end, error] = std::from_chars(inner.data(), inner.data() + inner.size(), input);
        e.kind = kind;
        if (error == std::errc() && end == inner.data() + inner.size() && input >= 0) e.input = input;
        return true;
    }
    return false;
}

/// The Python class in "<jax._src.core.InternalMutableArrayEffect object at 0x7f...>" and in "NamedAxisEffect(name='i')".
std::string_view class_in(std::string_view text) {
    if (text.starts_with('<')) {
        text = text.substr(1, text.find(" object at ") == std::string_view::npos ? 0 : text.find(" object at ") - 1);
        const std::size_t dot = text.rfind('.');
        return dot == std::string_view::npos ? text : text.substr(dot + 1);
    }
    const std::size_t paren = text.find('(');
    return paren == std::string_view::npos || !text.ends_with(')') ? std::string_view() : text.substr(0, paren);
}

std::string_view between_quotes(std::string_view text) {
    const std::size_t first = text.find('\''), last = text.rfind('\'');
    return first == last ? std::string_view() : text.substr(first + 1, last - first - 1);
}

struct EffectsHash {
    std::size_t operator()(const std::vector<Effect>& all) const {
        std::size_t h = all.size();
        for (const Effect& e : all) h = hash_mix(h, e.text.id());
        return h;
    }
};
InternTable<std::vector<Effect>, EffectsHash>& effect_lists() {
    static auto& t = *[] {
        auto* made = new InternTable<std::vector<Effect>, EffectsHash>;
        made->intern(std::vector<Effect>());
        return made;
    }();
    return t;
}

std::vector<Effect> each_once(const std::vector<Effect>& all) {
    std::vector<Effect> out;
    for (const Effect& e : all)
        if (std::find(out.begin(), out.end(), e) == out.end()) out.push_back(e);
    return out;
}

}  // namespace

const EffectTraits& traits_of(EffectKind kind) { return kind_row(kind).traits; }

Effect Effect::parse(Sym text) {
    Effect e;
    e.text = text;
    const std::string_view s = text.str();
    if (s.empty() || parse_ref(s, e)) return e;
    const std::string_view cls = class_in(s);
    for (const Kind& k : kKinds)
        if (s == k.text || (!cls.empty() && cls == k.cls)) e.kind = k.kind;
    if (e.kind == EffectKind::NamedAxis) e.name = between_quotes(s);
    return e;
}

EffectSet::EffectSet(const std::vector<Effect>& effects) : id_(effects.empty() ? 0 : effect_lists().intern(each_once(effects))) {}
EffectSet::EffectSet(EffectKind kind) : EffectSet(std::vector{Effect{kind, -1, {}, kind_row(kind).text}}) {
    JAXSCOPE_ASSERT(!kind_row(kind).text.empty());
}

const std::vector<Effect>& EffectSet::list() const { return effect_lists().get(id_); }

bool EffectSet::contains(EffectKind kind) const {
    return std::any_of(list().begin(), list().end(), [&](const Effect& e) { return e.kind == kind; });
}

EffectSet EffectSet::filtered(bool EffectTraits::*trait, bool wanted) const {
    if (empty()) return {};
    std::vector<Effect> out;
    for (const Effect& e : list())
        if (traits_of(e.kind).*trait == wanted) out.push_back(e);
    return out;
}

EffectSet EffectSet::operator|(EffectSet more) const {
    if (empty() || more.id_ == id_) return more;
    if (more.empty()) return *this;
    std::vector<Effect> all = list();
    all.insert(all.end(), more.list().begin(), more.list().end());
    return all;
}

std::string EffectSet::str() const {
    std::string out;
    for (const Effect& e : list()) out += (out.empty() ? "" : ", ") + e.text.str();
    return out;
}

}  // namespace jaxscope
