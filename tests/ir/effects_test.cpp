#include "ir/types/effects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace jaxscope {
namespace {

/// Every class of effects that real JAX has, in the lists in which it stands there (effects.json, written by make_effects.py).
TEST(Effects, StandInTheListsOfJax) {
    std::ifstream file(JAXSCOPE_SOURCE_DIR "/tests/ir/effects.json");
    const auto rows = nlohmann::json::parse(file);
    const std::pair<const char*, bool EffectTraits::*> lists[] = {{"dceable", &EffectTraits::dceable},
                                                                  {"ordered", &EffectTraits::ordered},
                                                                  {"remat_allowed", &EffectTraits::remat_allowed},
                                                                  {"control_flow_allowed", &EffectTraits::control_flow_allowed},
                                                                  {"custom_derivatives_allowed", &EffectTraits::custom_derivatives_allowed},
                                                                  {"lowerable", &EffectTraits::lowerable}};
    std::set<EffectKind> kinds;
    for (const auto& row : rows) {
        const auto text = row["text"].get<std::string>();
        const Effect e = Effect::parse(text);
        EXPECT_NE(e.kind, EffectKind::Other) << text;
        EXPECT_TRUE(kinds.insert(e.kind).second) << text << " is of the kind of another one";
        EXPECT_EQ(e.text.str(), text);
        EXPECT_EQ(traits_of(e.kind).ref, row["ref"].get<bool>()) << text;
        for (const auto& [name, trait] : lists) {
            const bool in_jax = std::any_of(row["in"].begin(), row["in"].end(), [&, n = name](const auto& l) { return l == n; });
            EXPECT_EQ(traits_of(e.kind).*trait, in_jax) << text << " in " << name;
        }
    }
    EXPECT_EQ(kinds.size(), 20u);
}

TEST(Effects, CarryTheirInputAndTheirAxis) {
    EXPECT_EQ(Effect::parse("Accum<12>").input, 12);
    EXPECT_EQ(Effect::parse("Read<Var(id=140049489165504):Ref{float32[]}>").kind, EffectKind::Read);
    EXPECT_EQ(Effect::parse("Read<Var(id=140049489165504):Ref{float32[]}>").input, -1);
    EXPECT_EQ(Effect::parse("NamedAxisEffect(name='batch')").name, Sym("batch"));
}

TEST(Effects, UnknownOnesAreKeptAndAllowedNowhere) {
    // Words that hold the names of known ones are no known ones.
    for (const char* text :
         {"MyIO", "IOEffects", "ReadOnly", "Read", "Debug,IO", "<mine.Effect>", "<a.b.NotAnIOEffect object at 0x1>", "("}) {
        const Effect e = Effect::parse(text);
        EXPECT_EQ(e.kind, EffectKind::Other) << text;
        EXPECT_EQ(e.text.str(), text);
        EXPECT_TRUE(has_effects(EffectSet(std::vector{e})));
        EXPECT_EQ(EffectSet(std::vector{e}).filter_in(&EffectTraits::remat_allowed), EffectSet());
    }
}

TEST(Effects, SetsKeepTheOrderAndHoldEachOnce) {
    const auto set = [](std::vector<const char*> texts) {
        std::vector<Effect> out;
        for (const char* t : texts) out.push_back(Effect::parse(t));
        return EffectSet(out);
    };
    EXPECT_EQ(set({"IO", "Debug", "IO"}).str(), "IO, Debug");
    EXPECT_EQ(set({"IO"}) | set({"Debug", "IO"}), set({"IO", "Debug"}));
    EXPECT_EQ(set({"IO"}) | EffectSet(), EffectSet(EffectKind::IO));
    EXPECT_EQ(set({"Debug", "OrderedIO", "Read<0>"}).filter_not_in(&EffectTraits::remat_allowed), set({"OrderedIO"}));
    EXPECT_FALSE(has_effects(set({"Read<0>", "NamedAxisEffect(name='i')"})));
    EXPECT_TRUE(has_effects(set({"Read<0>", "Write<0>"})));
    EXPECT_FALSE(has_effects({}));
}

}  // namespace
}  // namespace jaxscope
