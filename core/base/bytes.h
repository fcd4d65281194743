// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace jaxscope {

/// Memory of an array: a vector of bytes that begins at a cache line and, unlike std::vector's, isn't set before somebody writes it. What a
/// program computes into is written once then, by the threads that compute it; large ones are in huge pages where the system gives them.
class Bytes {
public:
    Bytes() = default;
    explicit Bytes(std::size_t size) { resize(size); }
    Bytes(const Bytes& other) { assign(other.begin(), other.end()); }
    Bytes(Bytes&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Bytes& operator=(const Bytes& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    Bytes& operator=(Bytes&& other) noexcept {
        std::swap(data_, other.data_), std::swap(size_, other.size_);
        return *this;
    }
    ~Bytes() { release(data_); }

    /// Keeps what was there; bytes beyond it hold anything.
    void resize(std::size_t size) {
        if (size == size_) return;
        std::byte* fresh = size ? allocate(size) : nullptr;
        if (std::min(size, size_) > 0) std::memcpy(fresh, data_, std::min(size, size_));
        release(std::exchange(data_, fresh));
        size_ = size;
    }
    /// A copy of what stands elsewhere, never of its own.
    void assign(const std::byte* first, const std::byte* last) {
        make_room(static_cast<std::size_t>(last - first));
        if (size_ > 0) std::memcpy(data_, first, size_);
    }
    void assign(std::size_t size, std::byte value) {
        make_room(size);
        if (size_ > 0) std::memset(data_, std::to_integer<int>(value), size_);
    }

    std::byte* data() { return data_; }
    const std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::byte* begin() { return data_; }
    std::byte* end() { return data_ + size_; }
    const std::byte* begin() const { return data_; }
    const std::byte* end() const { return data_ + size_; }
    std::byte& operator[](std::size_t i) { return data_[i]; }
    const std::byte& operator[](std::size_t i) const { return data_[i]; }
    friend bool operator==(const Bytes& a, const Bytes& b) {
        return a.size_ == b.size_ && (a.size_ == 0 || std::memcmp(a.data_, b.data_, a.size_) == 0);
    }

private:
    static std::byte* allocate(std::size_t size);  ///< throws std::bad_alloc
    static void release(std::byte* data);
    void make_room(std::size_t size) {
        if (size == size_) return;
        Bytes fresh;
        fresh.data_ = size ? allocate(size) : nullptr;
        fresh.size_ = size;
        *this = std::move(fresh);
    }

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace jaxscope
