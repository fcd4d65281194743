// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set by random_bits.cpp, inside a namespace of its own that says kVectorBytes.

typedef std::uint32_t Words __attribute__((vector_size(kVectorBytes)));
typedef std::uint32_t WordsAt __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));  // memcpy would go through the stack

/// Threefry-2x32, 20 rounds, of kCount numbers or vectors side by side: none waits for the other.
template <class T, int kCount>
JAXSCOPE_INLINED void hash(Pair key, T* first, T* second) {
    static constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const std::uint32_t k[3] = {key.first, key.second, key.first ^ key.second ^ 0x1BD11BDAu};
    for (int l = 0; l < kCount; ++l) first[l] += k[0], second[l] += k[1];
    for (std::uint32_t i = 0; i < 5; ++i) {
        for (const int r : rotations[i % 2])
            for (int l = 0; l < kCount; ++l) {
                first[l] += second[l];
                second[l] = (second[l] << r | second[l] >> (32 - r)) ^ first[l];
            }
        for (int l = 0; l < kCount; ++l) first[l] += k[(i + 1) % 3], second[l] += k[(i + 2) % 3] + i + 1;
    }
}
inline void hash_pairs(Pair key, Pairs& x) {
    constexpr int kVectors = kVectorBytes == 64 ? 4 : 2;  // so many stay in registers
    constexpr std::size_t kAtOnce = kVectorBytes / sizeof(std::uint32_t) * kVectors;
    static_assert(Pairs::kCount % kAtOnce == 0);
    for (std::size_t at = 0; at < Pairs::kCount; at += kAtOnce) {
        constexpr std::size_t kLanes = kAtOnce / kVectors;
        Words first[kVectors], second[kVectors];
        for (std::size_t l = 0; l < kVectors; ++l) {
            first[l] = *reinterpret_cast<const WordsAt*>(x.first.data() + at + l * kLanes);
            second[l] = *reinterpret_cast<const WordsAt*>(x.second.data() + at + l * kLanes);
        }
        hash<Words, kVectors>(key, first, second);
        for (std::size_t l = 0; l < kVectors; ++l) {
            *reinterpret_cast<WordsAt*>(x.first.data() + at + l * kLanes) = first[l];
            *reinterpret_cast<WordsAt*>(x.second.data() + at + l * kLanes) = second[l];
        }
    }
}
