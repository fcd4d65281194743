// SPDX-License-Identifier: Apache-2.0
// Included once per instruction set by random_bits.cpp, inside a namespace of its own that says kVectorBytes.

typedef std::uint32_t Words __attribute__((vector_size(kVectorBytes)));
typedef std::uint32_t WordsAt __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));  // memcpy would go through the stack

/// Threefry-2x32, 20 rounds, of kCount numbers or vectors side by side, all by one key (kKeys: 1) or each by its own: none waits for the
/// other. The third words of the keys are made here.
template <class T, int kCount, int kKeys>
JAXSCOPE_INLINED void hash(T (&k)[3][kKeys], T* first, T* second) {
    static constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const auto of = [](int l) { return kKeys == 1 ? 0 : l; };
    for (int l = 0; l < kKeys; ++l) k[2][l] = k[0][l] ^ k[1][l] ^ 0x1BD11BDAu;
    for (int l = 0; l < kCount; ++l) first[l] += k[0][of(l)], second[l] += k[1][of(l)];
    for (std::uint32_t i = 0; i < 5; ++i) {
        for (const int r : rotations[i % 2])
            for (int l = 0; l < kCount; ++l) {
                first[l] += second[l];
                second[l] = (second[l] << r | second[l] >> (32 - r)) ^ first[l];
            }
        for (int l = 0; l < kCount; ++l) first[l] += k[(i + 1) % 3][of(l)], second[l] += k[(i + 2) % 3][of(l)] + i + 1;
    }
}
inline Words load(const std::uint32_t* p) { return *reinterpret_cast<const WordsAt*>(p); }
inline void store(std::uint32_t* p, Words w) { *reinterpret_cast<WordsAt*>(p) = w; }
constexpr std::size_t kLanes = kVectorBytes / sizeof(std::uint32_t);
/// kKeys vectors of keys for kVectors of pairs: `keys(word, vector)`.
template <int kVectors, int kKeys, class Keys>
JAXSCOPE_INLINED void hash_all(Pairs& x, const Keys& keys) {
    constexpr std::size_t kAtOnce = kLanes * kVectors;
    static_assert(Pairs::kCount % kAtOnce == 0);
    for (std::size_t at = 0; at < Pairs::kCount; at += kAtOnce) {
        Words k[3][kKeys], first[kVectors], second[kVectors];
        for (std::size_t l = 0; l < kKeys; ++l) k[0][l] = keys(0, at + l * kLanes), k[1][l] = keys(1, at + l * kLanes);
        for (std::size_t l = 0; l < kVectors; ++l)
            first[l] = load(x.first.data() + at + l * kLanes), second[l] = load(x.second.data() + at + l * kLanes);
        hash<Words, kVectors, kKeys>(k, first, second);
        for (std::size_t l = 0; l < kVectors; ++l)
            store(x.first.data() + at + l * kLanes, first[l]), store(x.second.data() + at + l * kLanes, second[l]);
    }
}
inline void hash_pairs(Pair key, Pairs& x) {
    constexpr int kVectors = kVectorBytes == 64 ? 4 : 2;  // so many stay in registers
    hash_all<kVectors, 1>(x, [key](int word, std::size_t) { return Words{} + (word == 0 ? key.first : key.second); });
}
inline void hash_each(const Pairs& keys, Pairs& x) {
    constexpr int kVectors = kVectorBytes == 64 ? 4 : 2;
    hash_all<kVectors, kVectors>(x, [&keys](int word, std::size_t at) { return load((word == 0 ? keys.first : keys.second).data() + at); });
}
