#pragma once
// The seed of a random sample, as tests/support/seed.py has it.
#include <cstdlib>
#include <iostream>
#include <random>

namespace jaxscope {

/// JAXSCOPE_SEED, else JAXSCOPE_SAMPLE (./test.sh makes it of the commit), else one by chance; printed.
inline unsigned seed_of_sample() {
    const char* given = std::getenv("JAXSCOPE_SEED");
    if (!given) given = std::getenv("JAXSCOPE_SAMPLE");
    const unsigned seed = given ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
    std::cout << "JAXSCOPE_SEED=" << seed << "\n";
    return seed;
}

}  // namespace jaxscope
