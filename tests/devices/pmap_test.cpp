// pmap and filter_pmap: items B of the behaviours by their numbers, pmaps in pmaps, and what lies where. Values and texts beside JAX's:
// tests/differential/test_pmap.py.
#include <gtest/gtest.h>

#include <map>

#include <jaxscope/jax.h>

#include "trace/error_of.h"

namespace jax = jaxscope::jax;
namespace jnp = jax::numpy;
namespace lax = jax::lax;
using jax::Array;
using jax::filter_pmap;
using jax::none;
using jax::pmap;

namespace {

class Pmap : public testing::Test {
protected:
    void SetUp() override { jax::set_virtual_devices(8); }
    void TearDown() override { jax::set_virtual_devices(0); }
};
using Numbers = std::vector<double>;
const auto plus_one = [](const Array& x) { return x + 1; };
Array on_devices(const Array& x) {
    return pmap([](const Array& v) { return v * 1.0; })(x);
}

TEST_F(Pmap, B_25_ANumberThatIsStaticAndDonated) {
    EXPECT_EQ(
        error_of([] { pmap([](const Array& x, const Array&) { return x; }, {.static_broadcasted_argnums = {1}, .donate_argnums = {1}}); }),
        "`static_argnums` [1] and `donate_argnums` [1] cannot intersect.");
}
TEST_F(Pmap, B_43_FilterPmapKnowsThreeModes) {
    EXPECT_EQ(error_of([] { filter_pmap(plus_one, {.donate = "foo"}); }),
              "`filter_jit(..., donate=...)` must be one of 'all', 'warn', or 'none'");
    const Array x = on_devices(jnp::ones({8, 2})), kept = on_devices(jnp::ones({8, 2})), warned = on_devices(jnp::ones({8, 2}));
    filter_pmap(plus_one, {.donate = "all"})(x);
    EXPECT_TRUE(x.is_deleted());
    filter_pmap(plus_one, {.donate = "none"})(kept);
    EXPECT_FALSE(kept.is_deleted());
    testing::internal::CaptureStderr();
    filter_pmap([](const Array& v) { return jnp::sum(v); }, {.donate = "all"})(warned);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    filter_pmap([](const Array& v) { return jnp::sum(v); }, {.donate = "warn"})(warned);
    EXPECT_FALSE(warned.is_deleted());
}
TEST_F(Pmap, B_44_DonatedArraysArePairedByWhatADeviceHas) {
    const Array x = on_devices(jnp::ones({8, 2})), y = on_devices(jnp::ones({8, 2}));
    pmap(plus_one, {.donate_argnums = {0}})(x);
    EXPECT_TRUE(x.is_deleted());
    EXPECT_EQ(error_of([&] { jax::addressable_shards(x); }), "Array has been deleted with shape=float32[8,2].");
    const auto whole =
        pmap([](const Array& v) { return lax::all_gather(v, "i"); }, {.axis_name = "i", .out_axes = none, .donate_argnums = {0}});
    testing::internal::CaptureStderr();
    whole(y);  // the same shape and dtype, but each device has all of it
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "UserWarning: Some donated buffers were not usable: float32[1,2].\nSee an explanation at "
              "https://docs.jax.dev/en/latest/faq.html#buffer-donation.\n");
    EXPECT_FALSE(y.is_deleted());
    EXPECT_NE(whole.donation_report(y).find("f32[1,2]: not used"), std::string::npos) << whole.donation_report(y);
}
TEST_F(Pmap, AnArrayThatIsGivenAwayCantBeReadInTheSameCall) {
    const auto both = [](const Array& a, const Array& b) { return std::pair(a + 1, b + 2); };
    const Array x = on_devices(jnp::ones({8, 2}));
    EXPECT_EQ(error_of([&] {
                  pmap(both, {.donate_argnums = {0, 1}})(x, x);
              }),
              "INVALID_ARGUMENT: Attempt to donate the same buffer twice in Execute() (flattened argument 1, replica 0, partition 0, first "
              "use: 0). Toy example for this bug: `f(donate(a), donate(a))`.");
    EXPECT_FALSE(x.is_deleted());
}

TEST_F(Pmap, EachDeviceHasItsElement) {
    const Array y = pmap(plus_one, {.axis_name = "i", .out_axes = 1})(jnp::arange(8.0).reshape({4, 2}));
    EXPECT_EQ(jax::sharding_of(y), "NamedSharding(mesh=Mesh('i': 4, axis_types=(Auto,)), spec=P(None, 'i'), memory_kind=device)");
    const std::vector<jax::Shard> shards = jax::addressable_shards(y);
    ASSERT_EQ(shards.size(), 4u);
    EXPECT_EQ(shards[2].data.to_vector(), (Numbers{5, 6}));
    EXPECT_EQ(shards[2].index, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 2}, {2, 3}}));
}
TEST_F(Pmap, SumsOfNarrowFloatsAreRoundedOnce) {
    const Array x = jnp::array(std::vector<double>{256, 1, 1, 1, 1, 1, 1, 1}, jnp::bfloat16);
    const auto sum = pmap([](const Array& v) { return lax::psum(v, "i"); }, {.axis_name = "i", .out_axes = none});
    EXPECT_EQ(sum(x).to_vector(), Numbers{264});  // 263; added in bf16, 256 + 1 would stay 256
}
TEST_F(Pmap, APmapInAPmapTakesTheProductOfTheirSizes) {
    const auto both = pmap(pmap(
                               [](const Array& x) {
                                   return std::pair(lax::psum(x, {"i", "j"}), lax::psum(x, "j"));
                               },
                               {.axis_name = "j"}),
                           {.axis_name = "i"});
    const auto [all, rows] = both(jnp::arange(8.0).reshape({2, 4}));
    EXPECT_EQ(all.to_vector(), Numbers(8, 28));
    EXPECT_EQ(rows.to_vector(), (Numbers{6, 6, 6, 6, 22, 22, 22, 22}));
    EXPECT_EQ(both.report(jnp::ones({2, 4})).devices, 8);
    const auto unnamed = pmap(pmap([](const Array& x) { return x * 2.0; }, {.in_axes = 1, .out_axes = 1}));
    EXPECT_EQ(unnamed(jnp::arange(12.0).reshape({2, 2, 3})).shape(), jax::Shape({2, 2, 3}));
    EXPECT_EQ(unnamed(jnp::arange(12.0).reshape({2, 2, 3})).to_vector(), (jnp::arange(12.0) * 2).to_vector());
    EXPECT_EQ(error_of([&] {
                  both(jnp::ones({4, 4}));
              }),
              "compiling computation that requires 16 logical devices, but only 8 XLA devices are available (num_replicas=16)");
}
TEST_F(Pmap, APmapInAPmapIsDifferentiated) {
    const auto inner = [](const Array& x) { return jnp::sin(x) * lax::psum(x, "j") * lax::pmean(x, "i"); };
    const auto f = [&](const Array& x) { return jnp::sum(pmap(pmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(x)); };
    const auto g = [&](const Array& x) { return jnp::sum(jax::vmap(jax::vmap(inner, {.axis_name = "j"}), {.axis_name = "i"})(x)); };
    const Array x = jnp::arange(6.0).reshape({2, 3}) * 0.3;
    const Numbers ours = jax::grad(f)(x).to_vector(), theirs = jax::grad(g)(x).to_vector();
    for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-5) << i;
}
TEST_F(Pmap, PmapsInOneFunctionAreOverEquallyManyDevices) {
    const auto one = [](const Array& x) { return x * 2.0; };
    const auto uneven = pmap([&](const Array& x) { return std::pair(pmap(one)(x), pmap(one)(jnp::ones({3}))); });
    EXPECT_EQ(error_of([&] {
                  uneven(jnp::ones({2, 2}));
              }).substr(0, 72),
              "expected the pmaps in one function over equally many devices, found Mesh");
}
TEST_F(Pmap, WithoutVirtualDevicesThereIsOne) {
    jax::set_virtual_devices(0);
    const auto share = pmap([](const Array& x) { return x / lax::psum(x, "i"); }, {.axis_name = "i"});
    EXPECT_EQ(share(jnp::ones({1, 3})).to_vector(), Numbers(3, 1));
    EXPECT_NE(error_of([&] { share(jnp::ones({2, 3})); }).find("got shape=(2, 3) and dimensions=(0,)"), std::string::npos);
}
TEST_F(Pmap, OneTraceServesEqualCalls) {
    int traced = 0;
    const auto f = pmap([&](const Array& x) {
        ++traced;
        return x + 1;
    });
    f(jnp::ones({4}));
    f(jnp::zeros({4}));
    EXPECT_EQ(traced, 1);
    f(jnp::ones({8}));
    EXPECT_EQ(traced, 2);
    EXPECT_EQ(f.report(jnp::ones({4})).peak_bytes.size(), 4u);
}

}  // namespace
