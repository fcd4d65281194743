#include <gtest/gtest.h>

#include "ir/registry.h"

// Only tests that link the primitives' families have them; the folders below (base, ir alone) run without.
__attribute__((weak)) void jaxscope::register_all_primitives() {}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    jaxscope::register_all_primitives();
    return RUN_ALL_TESTS();
}
