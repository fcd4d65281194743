#include "ir/transform_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "ir/builder.h"

namespace jaxscope {
namespace {

JaxprPtr small_jaxpr() {
    JaxprBuilder b;
    const Value x = b.add_input(AvalRef(DType::F32, {}));
    return b.finish({x});
}

struct Transform {
    int calls = 0;
    const int& operator()(const JaxprPtr& j, int key) {
        static const CachedTransform<int, int> cache;
        return cache.get(j, key, static_cast<std::size_t>(key), [&] { return ++calls; });
    }
};

TEST(TransformCache, OneResultForEachJaxprAndKeyOfAProgram) {
    TransformCache program, other;
    Transform transform;
    const JaxprPtr j = small_jaxpr(), k = small_jaxpr();
    const TransformScope scope(program);
    const int* first = &transform(j, 1);
    EXPECT_EQ(&transform(j, 1), first);
    EXPECT_NE(&transform(j, 2), first);
    EXPECT_NE(&transform(k, 1), first);
    EXPECT_EQ(transform.calls, 3);
    {
        const TransformScope inner(other);
        EXPECT_NE(&transform(j, 1), first) << "another program's";
        EXPECT_EQ(other.size(), 1u);
    }
    EXPECT_EQ(&transform(j, 1), first) << "the scope before is in force again";
    EXPECT_EQ(program.size(), 3u);
    std::thread([&] { EXPECT_NE(&TransformCache::current(), &program) << "scopes are the thread's own"; }).join();
}

TEST(TransformCache, StartsAnewBeyondItsBoundWhenNobodyLooks) {
    TransformCache program;
    Transform transform;
    const JaxprPtr j = small_jaxpr();
    {
        const TransformScope scope(program);
        for (int i = 0; i <= static_cast<int>(TransformCache::kMost); ++i) transform(j, i);
        const int& kept = transform(j, 0);
        const TransformScope inner(program);
        EXPECT_EQ(&transform(j, 0), &kept) << "the outer scope's caller refers to it";
        EXPECT_GT(program.size(), TransformCache::kMost);
    }
    const TransformScope scope(program);
    EXPECT_EQ(program.size(), 0u);
}

TEST(TransformCache, ResultsDieWithTheirJaxpr) {
    TransformCache program;
    const TransformScope scope(program);
    Transform transform;
    for (int i = 0; i < 5000; ++i) transform(small_jaxpr(), 0);
    EXPECT_LE(program.size(), 512u);
}

}  // namespace
}  // namespace jaxscope
