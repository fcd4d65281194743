#include <gtest/gtest.h>

#include "ir/registry.h"

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
#ifdef JAXSCOPE_TEST_PRIMITIVES  // base is tested without
    jaxscope::register_all_primitives();
#endif
    return RUN_ALL_TESTS();
}
