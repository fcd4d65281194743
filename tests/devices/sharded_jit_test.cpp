// sharded_jit and with_sharding_constraint: items H of the behaviours, by their numbers (docs/front-end-behaviours.md).
#include <gtest/gtest.h>

#include <map>

#include <jaxscope/jax.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
using jax::Array;
using jax::none;
using jax::sharded_jit;
using jax::with_sharding_constraint;
using P = jax::PartitionSpec;
using Tree = jax::PartsTree;

namespace {

class ShardedJit : public testing::Test {
protected:
    void SetUp() override { jax::set_virtual_devices(8); }
    void TearDown() override {
        jax::set_virtual_devices(0);
        jax::log_compiles(false);
    }
};
std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}
const auto one_more = [](const Array& x) { return x + 1; };
Array counted(std::vector<std::int64_t> shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return jnp::arange(static_cast<double>(n)).reshape(jax::Shape(shape));
}

TEST_F(ShardedJit, H_01_ASpecIsALeafAndPrintsAsATuple) {
    EXPECT_EQ((P{2, 1}.str()), "PartitionSpec(2, 1)");
    EXPECT_EQ(P{2}.str(), "PartitionSpec(2,)");
    EXPECT_EQ(P().str(), "PartitionSpec()");
    EXPECT_TRUE((P{2, 1} == P{2, 1}));
}
TEST_F(ShardedJit, H_02_AllSpecsHaveOneProduct) {
    EXPECT_EQ(jax::get_num_partitions({P{2, 2}, none, Tree::list({P{4, 1}})}), 4);
    EXPECT_EQ(jax::get_num_partitions({none, Tree::tuple({none})}), 0);
    EXPECT_EQ(jax::get_num_partitions({P{2, 1}, P{1, 2}}), 2);
}
TEST_F(ShardedJit, H_03_DifferentProductsAreRefusedWhenTheFunctionIsMade) {
    EXPECT_EQ(error_of([] {
                  sharded_jit(one_more, P{2, 1}, Tree::tuple({P{4}}));
              }),
              "All partition specs must use the same number of total partitions, got (PartitionSpec(2, 1), (PartitionSpec(4,),)), with "
              "distinct number of partitions {2, 4} (the total number of partitions is the product of a partition spec)");
}
TEST_F(ShardedJit, H_04_AnEmptySpecCantBeMixed) {
    EXPECT_EQ(jax::get_num_partitions({P()}), 1);
    EXPECT_EQ(error_of([] {
                  jax::get_num_partitions({P(), P{2}});
              }),
              "All partition specs must use the same number of total partitions, got (PartitionSpec(), PartitionSpec(2,)), with distinct "
              "number of partitions {1.0, 2} (the total number of partitions is the product of a partition spec)");
}
TEST_F(ShardedJit, H_05_ANumberThatIsGivenIsTaken) {
    const auto f = sharded_jit(one_more, P{2, 1}, P{2, 1}, {.num_partitions = 4});
    EXPECT_NE(jax::make_jaxpr(f)(jnp::ones({4, 2})).str().find("nparts=4"), std::string::npos);
}
TEST_F(ShardedJit, H_06_KeywordArgumentsAreRefused) {
    EXPECT_EQ(error_of([] { sharded_jit(one_more, P{2}, none)(jax::kw("x", jnp::ones({2}))); }),
              "sharded_jit over kwargs not yet supported");
}
TEST_F(ShardedJit, H_07_StaticNumbersBeyondTheArguments) {
    const auto first = [](const Array& x) { return x; };
    EXPECT_EQ(error_of([&] { sharded_jit(first, none, none, {.static_argnums = {1}})(1.0); }),
              "jitted function has static_argnums=(1,) but was called with only 1 positional argument. All static broadcasted arguments "
              "must be passed positionally.");
    EXPECT_EQ(error_of([&] {
                  sharded_jit([](const Array& x, const Array&) { return x; }, none, none, {.static_argnums = {0, 3}})(1.0, 2.0);
              }),
              "jitted function has static_argnums=(0, 3) but was called with only 2 positional arguments. All static broadcasted arguments "
              "must be passed positionally.");
    EXPECT_EQ(error_of([&] { sharded_jit([] { return Array(0); }, none, none, {.static_argnums = {0}})(); }),
              "jitted function has static_argnums=(0,) but was called with only 0 positional argument. All static broadcasted arguments "
              "must be passed positionally.");
}
TEST_F(ShardedJit, H_08_SpecsAreForTheArgumentsThatArentStatic) {
    const auto f = sharded_jit([](const Array& x, double s, const Array& y) { return x * s + y; }, Tree::tuple({P{2, 1}, P{1, 2}}), none,
                               {.static_argnums = {1}});
    const std::string text =
        jax::make_jaxpr([&](const Array& x, const Array& y) { return f(x, 3.0, y); })(jnp::ones({2, 2}), jnp::ones({2, 2})).str();
    EXPECT_NE(text.find("sharded_call["), std::string::npos) << text;
    EXPECT_NE(text.find("in_parts=(PartitionSpec(2, 1), PartitionSpec(1, 2))"), std::string::npos) << text;
    EXPECT_EQ(f(jnp::ones({2, 2}), 3.0, jnp::ones({2, 2})).to_vector(), std::vector<double>(4, 4.0));
}
TEST_F(ShardedJit, H_10_ContainersMatchInTypeAndNoneStandsForAll) {
    using Map = std::map<std::string, Array>;
    const Array x = jnp::ones({6, 6});
    const auto f = [](const Map& d, const std::vector<Array>& l) { return d.at("u") * d.at("v") + l[0] - l[1]; };
    const Map d{{"u", x}, {"v", Array(1.0)}};
    const std::vector<Array> l{x, x};
    const Tree dict = Tree::dict({{"v", none}, {"u", P{3, 1}}});
    const auto good = sharded_jit(f, Tree::tuple({dict, Tree::list({P{1, 3}, none})}), none);
    EXPECT_NE(jax::make_jaxpr(good)(d, l).str().find("in_parts=(PartitionSpec(3, 1), None, PartitionSpec(1, 3), None)"), std::string::npos);
    const auto bad = sharded_jit(f, Tree::tuple({dict, Tree::tuple({P{1, 3}, none})}), none);
    EXPECT_EQ(error_of([&] { bad(d, l); }),
              "sharded_jit in_parts specification must be a tree prefix of the corresponding value, got specification ({'v': None, 'u': "
              "PartitionSpec(3, 1)}, (PartitionSpec(1, 3), None)) for value tree PyTreeDef(({'u': *, 'v': *}, [*, *])).");
}
TEST_F(ShardedJit, H_11_ASpecThatIsNoPrefixIsRefused) {
    const auto f = sharded_jit([](const Array& x, const Array&) { return x; }, Tree::tuple({P{2}}), none);
    EXPECT_EQ(error_of([&] { f(jnp::ones({2}), jnp::ones({2})); }),
              "sharded_jit in_parts specification must be a tree prefix of the corresponding value, got specification "
              "(PartitionSpec(2,),) for value tree PyTreeDef((*, *)).");
}
TEST_F(ShardedJit, H_12_SoAreThoseOfResultsAndOfLocalParts) {
    EXPECT_EQ(error_of([] { sharded_jit(one_more, P{2}, Tree::tuple({P{2}}))(jnp::ones({2})); }),
              "sharded_jit out_parts specification must be a tree prefix of the corresponding value, got specification "
              "(PartitionSpec(2,),) for value tree PyTreeDef(*).");
    EXPECT_EQ(error_of([] {
                  sharded_jit(one_more, P{2}, P{2}, {.local_in_parts = Tree::tuple({P{2}, P{2}})})(jnp::ones({2}));
              }),
              "sharded_jit local_in_parts specification must be a tree prefix of the corresponding value, got specification "
              "(PartitionSpec(2,), PartitionSpec(2,)) for value tree PyTreeDef((*,)).");
    EXPECT_EQ(error_of([] { sharded_jit(one_more, P{2}, P{2}, {.local_out_parts = Tree::list({P{2}})})(jnp::ones({2})); }),
              "sharded_jit local_out_parts specification must be a tree prefix of the corresponding value, got specification "
              "[PartitionSpec(2,)] for value tree PyTreeDef(*).");
}
TEST_F(ShardedJit, H_13_PlainCpuIsRefusedAfterTracing) {
    jax::set_virtual_devices(0);
    int traced = 0;
    const auto f = sharded_jit([&](const Array& x) { return ++traced, x; }, P{2}, none);
    EXPECT_EQ(error_of([&] { f(jnp::ones({2})); }), "sharded_jit not supported for cpu");
    EXPECT_EQ(traced, 1);
}
TEST_F(ShardedJit, H_14_MorePartitionsThanDevices) {
    EXPECT_EQ(error_of([] { sharded_jit(one_more, P{9}, none)(jnp::ones({9})); }),
              "sharded_jit computation requires 9 devices, but only 8 devices are available.");
}
TEST_F(ShardedJit, H_15_APartOfTheDevicesOfSeveralHosts) {
    jax::set_virtual_devices(16, 4);
    EXPECT_EQ(
        error_of([] { sharded_jit(one_more, P{8}, none)(jnp::ones({8})); }),
        "sharded_jit across multiple hosts must use all available devices. Got 8 out of 16 requested devices (local device count: 4)");
}
TEST_F(ShardedJit, H_16_TheLocalNumberMustBeGivenWhereNothingSaysIt) {
    jax::set_virtual_devices(16, 4);
    EXPECT_EQ(error_of([] { sharded_jit(one_more, none, none, {.num_partitions = 16})(1.0); }),
              "Specify 'local_nparts' when using cross-process sharded_jit and all inputs and outputs are replicated.");
    EXPECT_EQ(error_of([] { sharded_jit(one_more, none, none, {.num_partitions = 16, .local_num_partitions = 8})(1.0); }),
              "sharded_jit computation requires 8 local devices, but only 4 local devices are available.");
}
TEST_F(ShardedJit, H_17_AConstraintAgreesWithTheOuterNumber) {
    const auto f = [](const Array& x) { return jnp::tanh(with_sharding_constraint(x, P{4, 1})); };
    EXPECT_EQ(error_of([&] {
                  sharded_jit(f, P{1, 2}, none)(jnp::ones({4, 4}));
              }),
              "with_sharding_constraint with partitions=PartitionSpec(4, 1) (total partitions: 4) doesn't match expected number of "
              "partitions: 2. If these partitions look right, check outer sharded_jit and/or other with_sharding_constraint calls.");
}
TEST_F(ShardedJit, H_18_AConstraintAloneSaysHowManyDevices) {
    const auto f = [](const Array& x) { return with_sharding_constraint(x + 1, P{2, 1}) * 2; };
    const auto g = sharded_jit(f, none, none);
    EXPECT_EQ(g(counted({4, 2})).to_vector(), (std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16}));
    EXPECT_EQ(g.report(counted({4, 2})).devices, 2);
    EXPECT_EQ(sharded_jit(one_more, none, none).report(1.0).devices, 1);
}
TEST_F(ShardedJit, H_19_ConstraintsInsideOfInnerFunctionsCount) {
    const auto inner = jax::jit([](const Array& x) { return with_sharding_constraint(x * 2, P{2, 1}); });
    const auto f = sharded_jit([&](const Array& x) { return inner(x); }, none, none);
    EXPECT_EQ(f.report(jnp::ones({2, 2})).devices, 2);
    EXPECT_EQ(f(jnp::ones({2, 2})).to_vector(), std::vector<double>(4, 2.0));
}
TEST_F(ShardedJit, H_20_AConstraintOutsideFailsWhenItRuns) {
    const std::string wanted = "with_sharding_constraint() should only be called inside sharded_jit()";
    EXPECT_EQ(error_of([] { with_sharding_constraint(jnp::ones({2, 2}), P{2, 1}); }), wanted);
    const auto loss = [](const Array& x) { return with_sharding_constraint(x, P{2, 1}).sum(); };
    EXPECT_EQ(error_of([&] { jax::grad(loss)(jnp::ones({2, 2})); }), wanted);
}
TEST_F(ShardedJit, H_22_ItIsLinear) {
    const auto f = [](const Array& x) { return jnp::sin(with_sharding_constraint(x, P{2, 2})); };
    const std::string text = jax::make_jaxpr(jax::grad([&](const Array& x) { return f(x).sum(); }))(jnp::ones({4, 4})).str();
    EXPECT_EQ(count_of(text, "sharding_constraint["), 2u) << text;
    EXPECT_EQ(count_of(text, "PartitionSpec(2, 2)"), 2u) << text;
    const auto g = sharded_jit(jax::grad([&](const Array& x) { return f(x).sum(); }), none, P{2, 2});
    const Array x = counted({4, 4}) / 10.0;
    const std::vector<double> found = g(x).to_vector(), wanted = jnp::cos(x).to_vector();
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6);
}
TEST_F(ShardedJit, H_23_ItHasNoBatchingRule) {
    EXPECT_EQ(error_of([] {
                  jax::make_jaxpr(jax::vmap([](const Array& x) { return with_sharding_constraint(x, P{2}); }))(jnp::ones({3, 2}));
              }),
              "Batching rule for 'sharding_constraint' not implemented");
}
TEST_F(ShardedJit, H_24_ItHoldsInsideOfCheckpointAndPartialEvaluation) {
    const auto block = jax::checkpoint([](const Array& x) { return jnp::sin(with_sharding_constraint(jnp::sin(x), P{4, 1})); });
    const auto loss = [&](const Array& x) { return block(x).sum(); };
    const auto plain = [](const Array& x) { return jnp::sin(jnp::sin(x)).sum(); };
    const Array x = counted({8, 2}) / 10.0;
    const std::vector<double> found = sharded_jit(jax::grad(loss), P{4, 1}, P{4, 1})(x).to_vector(),
                              wanted = jax::grad(plain)(x).to_vector();
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6);
}
TEST_F(ShardedJit, H_25_GlobalAndLocalShapes) {
    const Array a = jax::ShapeDtypeStruct({4, 6});
    EXPECT_EQ(jax::get_global_aval(a, P{4, 2}, P{2, 2}).aval(), "float32[8,6]");
    EXPECT_EQ(jax::get_local_aval(a, P{4, 2}, P{2, 2}).aval(), "float32[2,6]");
    EXPECT_EQ(jax::get_global_aval(jnp::ones({4, 6}, jnp::int32), none, none).aval(), "int32[4,6]");
}
TEST_F(ShardedJit, H_26_SizesThatDontDivideAreRefused) {
    const Array three = jax::ShapeDtypeStruct({3});
    EXPECT_EQ(error_of([&] { jax::get_local_aval(three, P{4}, P{2}); }), "3 % 2 != 0");
    EXPECT_EQ(error_of([&] { jax::get_global_aval(three, P{4}, P{3}); }), "4 % 3 != 0");
    EXPECT_EQ(error_of([] { sharded_jit(one_more, P{2}, none)(jnp::ones({3})); }), "(3, 2, 0)");
    EXPECT_EQ(error_of([] { sharded_jit(one_more, P{4}, none, {.local_in_parts = P{3}})(jnp::ones({3})); }), "4 % 3 != 0");
}
TEST_F(ShardedJit, H_27_RanksThatDifferAreRefused) {
    EXPECT_EQ(error_of([] { jax::get_global_aval(jax::ShapeDtypeStruct({3}), P{4, 1}, P{4, 1}); }), "length mismatch: [1, 2, 2]");
    EXPECT_EQ(error_of([] { jax::get_local_aval(jax::ShapeDtypeStruct({3, 3}), P{4}, P{4}); }), "length mismatch: [2, 1, 1]");
}
TEST_F(ShardedJit, H_28_LocalPartsAreOfOneProcess) {
    jax::set_virtual_devices(4, 2);
    jax::log_compiles(true);
    const auto f = sharded_jit([](const Array& x) { return x * 2; }, P{4, 1}, P{4, 1},
                               {.local_in_parts = P{2, 1}, .local_out_parts = P{2, 1}, .name = "f"});
    testing::internal::CaptureStderr();
    const std::string error = error_of([&] { f(jnp::ones({6, 5})); });
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "Compiling f for 4 devices with args [ShapedArray(float32[12,5])].\n");
    EXPECT_EQ(error, "expected all 4 devices in this process, found 2 of them: programs over several processes aren't run yet");
}
TEST_F(ShardedJit, H_29_ResultsKnowWhatEachDeviceHas) {
    const auto f = sharded_jit([](const Array& x) { return std::pair(x, x); }, P{2, 2}, Tree::tuple({P{2, 2}, none}));
    const Array x = counted({8, 6});
    const auto [cut, copied] = f(x);
    const std::vector<jax::Shard> tiles = jax::addressable_shards(cut), copies = jax::addressable_shards(copied);
    ASSERT_EQ(tiles.size(), 4u);
    ASSERT_EQ(copies.size(), 4u);
    for (int k = 0; k < 4; ++k) {
        const jax::Shard& t = tiles[static_cast<std::size_t>(k)];
        EXPECT_EQ(t.device, k);
        const jax::ShardIndex index{{k / 2 * 4, k / 2 * 4 + 4}, {k % 2 * 3, k % 2 * 3 + 3}};
        EXPECT_EQ(t.index, index);
        const Array part = x[{jax::slice(index[0].first, index[0].second), jax::slice(index[1].first, index[1].second)}];
        EXPECT_EQ(t.data.to_vector(), part.to_vector());
        EXPECT_EQ(copies[static_cast<std::size_t>(k)].data.to_vector(), x.to_vector());
    }
    for (int k = 0; k < 4; ++k) {
        const auto at = static_cast<std::size_t>(k);
        EXPECT_EQ(jax::spec_to_indices({8, 6}, P{2, 2}, 4)[at], tiles[at].index);
        EXPECT_EQ(jax::spec_to_indices({8, 6}, none, 4)[at], copies[at].index);
    }
    EXPECT_EQ(error_of([] { jax::spec_to_indices(3, P{2}, 2); }), "(3, 2, 0)");
    EXPECT_EQ(jax::sharding_of(cut), "PartitionSpec(2, 2)");
    EXPECT_EQ(jax::sharding_of(copied), "None");
    EXPECT_EQ(cut.to_vector(), x.to_vector());
}
TEST_F(ShardedJit, H_30_SaysWhatItCompiles) {
    jax::log_compiles(true);
    testing::internal::CaptureStderr();
    sharded_jit(one_more, P{2}, P{2}, {.name = "f"})(jnp::ones({4}));
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "Compiling f for 2 devices with args [ShapedArray(float32[4])].\n");
}
TEST_F(ShardedJit, H_31_ANestedCallAnnotatesWhatHasASpec) {
    const Array table = counted({2});
    const auto inner = sharded_jit([&](const Array& x, const Array& y) { return std::pair(jnp::sin(x) + y * table[0], y * 2); },
                                   Tree::tuple({P{2, 1}, none}), Tree::tuple({P{2, 1}, none}), {.name = "f"});
    const auto outer = [&](const Array& x, const Array& y) { return inner(x, y).first + 1; };
    // In the text it is one equation, with its specs; a constant is an operand in front, of which nothing is said.
    const std::string text = jax::make_jaxpr(outer)(jnp::ones({4, 3}), jnp::ones({4, 3})).str();
    EXPECT_EQ(count_of(text, "sharded_call["), 1u) << text;
    EXPECT_NE(text.find("in_parts=(PartitionSpec(2, 1), None)"), std::string::npos) << text;
    EXPECT_EQ(text.find("out_parts=("), std::string::npos) << text;
    // What is around it says nothing of how values lie: each device has half of the rows because of the call inside.
    const auto f = sharded_jit(outer, none, none, {.num_partitions = 2});
    const Array x = counted({4, 3}) / 10.0, y = counted({4, 3});
    const std::string program = f.report(x, y).program;
    EXPECT_NE(program.find("f32[2,3] = sin"), std::string::npos) << program;
    EXPECT_EQ(program.find("f32[4,3] = sin"), std::string::npos) << program;
    EXPECT_EQ(f(x, y).to_vector(), (jnp::sin(x) + y * table[0] + 1).to_vector());
    // Over another number of devices no axes name the inner call's parts: they are whole, which is said.
    const auto four = sharded_jit(outer, none, none, {.num_partitions = 4});
    EXPECT_FALSE(four.report(x, y).findings.empty());
    EXPECT_EQ(four(x, y).to_vector(), f(x, y).to_vector());
}
TEST_F(ShardedJit, H_32_TwoCallsCompileOnce) {
    int traced = 0;
    jax::log_compiles(true);
    const auto f = sharded_jit([&](const Array& x) { return ++traced, x + 1; }, P{2}, P{2});
    testing::internal::CaptureStderr();
    f(jnp::ones({4}));
    f(jnp::ones({4}));
    EXPECT_EQ(count_of(testing::internal::GetCapturedStderr(), "Compiling"), 1u);
    EXPECT_EQ(traced, 1);
}
TEST_F(ShardedJit, ANumberThatPartsCantFillIsRefusedWhereItRuns) {
    const Array x = counted({4, 2});
    EXPECT_EQ(error_of([&] {
                  sharded_jit(one_more, P{4, 1}, P{4, 1}, {.num_partitions = 2})(x);
              }),
              "expected specifications of 2 parts, as num_partitions says, or of a divisor, found PartitionSpec(4, 1)");
    EXPECT_EQ(error_of([&] {
                  sharded_jit(one_more, none, P{2, 1}, {.num_partitions = 3})(x);
              }),
              "expected specifications of 3 parts, as num_partitions says, or of a divisor, found PartitionSpec(2, 1)");
    EXPECT_EQ(sharded_jit(one_more, P{2, 1}, P{2, 1}, {.num_partitions = 4})(x).to_vector(), (x + 1).to_vector());
}
TEST_F(ShardedJit, AConstraintIsForAllDimensions) {
    const auto f = [](const Array& x) { return with_sharding_constraint(x + 1, P{2}); };
    EXPECT_EQ(error_of([&] {
                  sharded_jit(f, P{2, 1}, none)(jnp::ones({4, 2}));
              }),
              "with_sharding_constraint with partitions=PartitionSpec(2,) is for 1 dimensions, found an array of 2");
}
TEST_F(ShardedJit, ResultsAreSharedInputsOfTheNextCall) {
    const auto f = sharded_jit(one_more, P{8}, P{8});
    Array x = jnp::zeros({16});
    for (int i = 0; i < 3; ++i) x = f(x);
    EXPECT_EQ(x.to_vector(), std::vector<double>(16, 3.0));
}
TEST_F(ShardedJit, CutsThatCrossAreReplicatedAndSaidSo) {
    const auto f = sharded_jit(one_more, P{2, 3}, P{3, 2});
    const Array x = counted({6, 6}), y = f(x);
    EXPECT_EQ(y.to_vector(), (x + 1).to_vector());
    const std::vector<std::pair<std::int64_t, std::int64_t>> index{{2, 4}, {3, 6}};
    EXPECT_EQ(jax::addressable_shards(y)[3].index, index);
    const Array part = (x + 1)[{jax::slice(2, 4), jax::slice(3, 6)}];
    EXPECT_EQ(jax::addressable_shards(y)[3].data.to_vector(), part.to_vector());
    EXPECT_EQ(f.report(x).findings.size(), 1u);
}

}  // namespace
