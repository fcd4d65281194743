// Partition specs of sharded_jit and named shardings. Tests named H_NN hold to the behaviours of that number.
#include <gtest/gtest.h>

#include "base/error.h"
#include "sharding/mesh.h"
#include "sharding/partitions.h"

namespace jaxscope::sharding {
namespace {

template <class F>
std::string error_of(F&& f) {
    try {
        f();
    } catch (const Error& e) {
        return e.fact();
    }
    return "no error";
}
std::optional<std::int64_t> count(std::initializer_list<Parts> specs, const std::string& text = "") {
    return get_num_partitions(std::vector<Parts>(specs), text);
}
const Parts kNone = std::nullopt;
Parts P(Dims dims) { return dims; }
AvalRef f32(Dims shape) { return AvalRef(DType::F32, std::move(shape)); }

TEST(Partitions, H_01_PrintsAsThePythonTuple) {
    EXPECT_EQ(to_text(P({2, 1})), "PartitionSpec(2, 1)");
    EXPECT_EQ(to_text(P({2})), "PartitionSpec(2,)");
    EXPECT_EQ(to_text(P({})), "PartitionSpec()");
    EXPECT_EQ(parts_from(to_attr(P({2, 1}))), P({2, 1}));
    EXPECT_EQ(parts_from(to_attr(kNone)), kNone);
}
TEST(Partitions, H_02_CountIsTheProductThatAllShare) {
    EXPECT_EQ(count({P({2, 2}), kNone, P({4, 1})}), 4);
    EXPECT_EQ(count({kNone, kNone}), std::nullopt);
    EXPECT_EQ(count({P({2, 1}), P({1, 2})}), 2);
}
TEST(Partitions, H_03_CountsThatDifferAreRefused) {
    EXPECT_EQ(error_of([] {
                  count({P({4}), P({2})}, "(PartitionSpec(4,), PartitionSpec(2,))");
              }),
              "All partition specs must use the same number of total partitions, got (PartitionSpec(4,), PartitionSpec(2,)), with distinct "
              "number of partitions {2, 4} (the total number of partitions is the product of a partition spec)");
    // The order of a Python set: that of its table of eight slots.
    EXPECT_NE(error_of([] { count({P({2}), P({8})}); }).find("partitions {8, 2} ("), std::string::npos);
}
TEST(Partitions, H_04_AnEmptySpecCountsOneAsAFloat) {
    EXPECT_EQ(count({P({})}), 1);
    EXPECT_EQ(error_of([] {
                  count({P({}), P({2})}, "(PartitionSpec(), PartitionSpec(2,))");
              }),
              "All partition specs must use the same number of total partitions, got (PartitionSpec(), PartitionSpec(2,)), with distinct "
              "number of partitions {1.0, 2} (the total number of partitions is the product of a partition spec)");
}
TEST(Partitions, H_25_GlobalAndLocalShapes) {
    const AvalRef a = f32({4, 6});
    EXPECT_EQ(to_text(get_global_aval(a, P({4, 2}), P({2, 2}))), "f32[8,6]");
    EXPECT_EQ(to_text(get_local_aval(a, P({4, 2}), P({2, 2}))), "f32[2,6]");
    EXPECT_EQ(get_global_aval(a, kNone, kNone), a);
    EXPECT_EQ(get_local_aval(get_global_aval(a, P({4, 2}), P({1, 1})), P({4, 2}), P({1, 1})), a);
}
TEST(Partitions, H_26_SizesThatDontDivideAreRefusedWithTheRemainder) {
    EXPECT_EQ(error_of([] { get_local_aval(f32({3}), P({4}), P({2})); }), "3 % 2 != 0");
    EXPECT_EQ(error_of([] { get_global_aval(f32({3}), P({4}), P({3})); }), "4 % 3 != 0");
}
TEST(Partitions, H_27_RanksThatDifferAreRefusedWithTheLengths) {
    EXPECT_EQ(error_of([] { get_global_aval(f32({3}), P({4, 1}), P({4, 1})); }), "length mismatch: [1, 2, 2]");
    EXPECT_EQ(error_of([] { get_local_aval(f32({3, 3}), P({4}), P({4})); }), "length mismatch: [2, 1, 1]");
}
TEST(Partitions, H_29_TilesAreInRowMajorOrder) {
    const std::vector<ShardIndex> tiles = spec_to_indices({8, 6}, P({2, 2}), 4);
    ASSERT_EQ(tiles.size(), 4u);
    for (std::int64_t k = 0; k < 4; ++k) {
        const ShardIndex expected{{k / 2 * 4, k / 2 * 4 + 4}, {k % 2 * 3, k % 2 * 3 + 3}};
        EXPECT_EQ(tiles[static_cast<std::size_t>(k)], expected);
    }
    EXPECT_EQ(to_text(tiles[3]), "(slice(4, 8), slice(3, 6))");
    const std::vector<ShardIndex> copies = spec_to_indices({8, 6}, kNone, 4);
    ASSERT_EQ(copies.size(), 4u);
    for (const ShardIndex& c : copies) EXPECT_EQ(to_text(c), "(slice(0, 8), slice(0, 6))");
    EXPECT_EQ(bytes_per_device(f32({8, 6}), P({2, 2})), 48);
    EXPECT_EQ(bytes_per_device(f32({8, 6}), kNone), 192);
    EXPECT_EQ(error_of([] { spec_to_indices({3}, P({2}), 2); }), "(3, 2, 0)");
}

TEST(NamedParts, FindsAMeshOnWhichAllSpecsAreNames) {
    const std::vector<Parts> parts{P({2, 2}), P({4, 1}), kNone, P({1, 4})};
    const auto named = named_parts(parts, 4);
    ASSERT_TRUE(named);
    EXPECT_EQ(to_text(named->mesh), "Mesh('d0': 2, 'd1': 2)");
    EXPECT_EQ(to_text(named->specs[0]), "P('d0', 'd1')");
    EXPECT_EQ(to_text(named->specs[1]), "P(('d0', 'd1'), None)");
    EXPECT_EQ(to_text(named->specs[2]), "P()");
    EXPECT_EQ(to_text(named->specs[3]), "P(None, ('d0', 'd1'))");
    // Each device has the tile that the spec of integers gives it.
    for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::int64_t device = 0; device < 4; ++device)
            EXPECT_EQ(shard_index({8, 8}, {named->mesh, named->specs[i]}, device),
                      spec_to_indices({8, 8}, parts[i], 4)[static_cast<std::size_t>(device)]);
}
TEST(NamedParts, CutsThatCrossHaveNoMesh) { EXPECT_FALSE(named_parts(std::vector<Parts>{P({2, 3}), P({3, 2})}, 6)); }

TEST(Mesh, UnevenDimensionsLeaveTheLastDevicesLess) {
    const NamedSharding s{{{{"x", 8}}}, {{{"x"}}}};
    EXPECT_EQ(shard_shape({17}, s), Dims{3});
    EXPECT_EQ(to_text(shard_index({17}, s, 5)), "(slice(15, 17),)");
    EXPECT_EQ(to_text(shard_index({17}, s, 7)), "(slice(17, 17),)");
    EXPECT_EQ(uneven_dims({17}, s), std::vector<std::size_t>{0});
}
TEST(Mesh, H_35_RefusesSizesThatDontDivide) {
    EXPECT_EQ(indivisible_text({3}, {{{{"x", 8}}}, {{{"x"}}}}),
              "implies that array axis 0 is partitioned 8 times, but the dimension size is 3 (full shape: (3,), per-dimension tiling "
              "factors: [8] should evenly divide the shape)");
}
TEST(Mesh, MovesAlongAxes) {
    const Mesh mesh{{{"x", 2}, {"y", 4}}};
    EXPECT_EQ(mesh.position(6, {"x"}), 1);
    EXPECT_EQ(mesh.position(6, {"y"}), 2);
    EXPECT_EQ(mesh.position(6, {"y", "x"}), 5);
    EXPECT_EQ(mesh.moved(6, {"y"}, 3), 7);
    EXPECT_EQ(mesh.moved(6, {"y", "x"}, 0), 0);
}

}  // namespace
}  // namespace jaxscope::sharding
