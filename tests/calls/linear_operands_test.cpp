#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "ir/primitive.h"

namespace {

using namespace jaxscope;

// Transpose rules without a program of their own in tests/differential/linear_cases.py, each with its reason.
const std::map<std::string, std::string> kNoCase = {
    {"copy_p", "the rule of copy, under an older name"},
    {"call", "the rule of jit, under an older name"},
    {"core_call", "the rule of jit, under an older name"},
    {"core_closed_call", "the rule of jit, under an older name"},
    {"custom_transpose_call", "JAX 0.10.2 has none; tests/capture runs it where it does"},
    {"all_gather", "over an axis of vmap's: tests/trace/pairs/named_axes.cpp"},
    {"reduce_scatter", "over an axis of vmap's: tests/trace/pairs/named_axes.cpp"},
    {"shard_map", "needs several devices: tests/differential/test_shard_map.py"},
    {"reshard", "between shardings of a mesh: tests/differential/test_shard_map.py"},
    {"ppermute", "over an axis of a mesh: tests/differential/test_shard_map.py"},
    {"all_to_all", "over an axis of a mesh: tests/differential/test_shard_map.py"},
    {"pbroadcast", "of scalars, over an axis of a mesh: tests/differential/test_sharded_programs.py"},
    {"pvary", "over an axis of a mesh: tests/differential/test_shard_map.py"},
    {"psum_invariant", "over an axis of a mesh: tests/differential/test_shard_map.py"},
    {"all_gather_invariant", "over an axis of a mesh: tests/differential/test_shard_map.py"},
    {"while", "linear in forward mode only: JAX refuses to transpose it, and so do we"},
};

std::set<std::string> cases() {
    std::set<std::string> out;
    std::ifstream in(JAXSCOPE_SOURCE_DIR "/tests/differential/linear_cases.py");
    const std::regex name("^ *case\\(\"([^\"]+)\"|\\(\"(scatter[^\"]*)\", \"");
    for (std::string line; std::getline(in, line);)
        for (std::sregex_iterator m(line.begin(), line.end(), name), end; m != end; ++m) out.insert((*m)[1].matched ? (*m)[1] : (*m)[2]);
    return out;
}

TEST(LinearOperands, EveryTransposeRuleIsComparedWithJax) {
    const std::set<std::string> compared = cases();
    std::set<std::string> rules;
    for (const Primitive* p : all_primitives())
        if (p->transpose) rules.insert(p->name.c_str());
    for (const std::string& name : rules) EXPECT_TRUE(compared.contains(name) != kNoCase.contains(name)) << name;
    for (const std::string& name : compared) EXPECT_TRUE(rules.contains(name)) << name << " has no transpose rule";
    for (const auto& [name, why] : kNoCase) EXPECT_TRUE(rules.contains(name)) << name << " needs no exception";
}

}  // namespace
