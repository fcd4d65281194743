// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "base/error.h"

namespace jaxscope {

/// std::vector's interface for small plain values, of which up to N lie in the object itself. Most equations have one to three operands:
/// tracing and every transformation would else spend a third of their time in malloc. (LLVM's vector would tie every module to libLLVM.)
template <class T, std::size_t N>
class InlineVector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = T*;
    using const_iterator = const T*;
    using reverse_iterator = std::reverse_iterator<iterator>;
    using const_reverse_iterator = std::reverse_iterator<const_iterator>;

    InlineVector() noexcept : data_(own()) {}
    explicit InlineVector(size_type n, const T& v = T()) : InlineVector() { resize(n, v); }
    InlineVector(std::initializer_list<T> v) : InlineVector(v.begin(), v.end()) {}
    template <std::input_iterator It>
    InlineVector(It first, It last) : InlineVector() {
        insert(end(), first, last);
    }
    InlineVector(const InlineVector& o) : InlineVector() { append(o.data_, o.size_); }
    InlineVector(InlineVector&& o) noexcept : InlineVector() { take(o); }
    ~InlineVector() { release(); }
    InlineVector& operator=(const InlineVector& o) {
        if (this != &o) size_ = 0, append(o.data_, o.size_);
        return *this;
    }
    InlineVector& operator=(InlineVector&& o) noexcept {
        if (this != &o) release(), data_ = own(), size_ = 0, capacity_ = N, take(o);
        return *this;
    }
    InlineVector& operator=(std::initializer_list<T> v) {
        assign(v.begin(), v.end());
        return *this;
    }
    void assign(std::initializer_list<T> v) { *this = InlineVector(v); }
    template <std::input_iterator It>
    void assign(It first, It last) {
        *this = InlineVector(first, last);
    }
    void assign(size_type n, const T& v) { *this = InlineVector(n, v); }

    size_type size() const { return size_; }
    bool empty() const { return size_ == 0; }
    size_type capacity() const { return capacity_; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    iterator begin() { return data_; }
    iterator end() { return data_ + size_; }
    const_iterator begin() const { return data_; }
    const_iterator end() const { return data_ + size_; }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
    const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
    T& operator[](size_type i) { return data_[i]; }
    const T& operator[](size_type i) const { return data_[i]; }
    T& at(size_type i) { return data_[inside(i)]; }
    const T& at(size_type i) const { return data_[inside(i)]; }
    T& front() { return data_[0]; }
    const T& front() const { return data_[0]; }
    T& back() { return data_[size_ - 1]; }
    const T& back() const { return data_[size_ - 1]; }

    void clear() { size_ = 0; }
    void reserve(size_type n) {
        if (n > capacity_) grow(n);
    }
    void resize(size_type n, T v = T()) {
        reserve(n);
        if (n > size_) std::fill(data_ + size_, data_ + n, v);
        size_ = static_cast<std::uint32_t>(n);
    }
    void push_back(T v) {
        if (size_ == capacity_) [[unlikely]]
            grow(size_ + std::size_t{1});
        data_[size_++] = v;
    }
    template <class... A>
    T& emplace_back(A&&... a) {
        push_back(T(std::forward<A>(a)...));
        return back();
    }
    void pop_back() { --size_; }
    iterator insert(const_iterator at, T v) { return insert(at, &v, &v + 1); }
    iterator insert(const_iterator at, std::initializer_list<T> v) { return insert(at, v.begin(), v.end()); }
    iterator insert(const_iterator at, size_type n, T v) {
        T* gap = open(at, n);
        std::fill(gap, gap + n, v);
        return gap;
    }
    template <std::input_iterator It>
    iterator insert(const_iterator at, It first, It last) {
        if constexpr (std::forward_iterator<It>) {
            if constexpr (std::is_convertible_v<It, const T*>)
                if (const T* from = first; from >= data_ && from < data_ + size_) {  // of this vector's own elements
                    const InlineVector copy(first, last);
                    return insert(at, copy.begin(), copy.end());
                }
            T* gap = open(at, static_cast<size_type>(std::distance(first, last)));
            std::copy(first, last, gap);
            return gap;
        } else {
            InlineVector all;
            for (; first != last; ++first) all.push_back(*first);
            return insert(at, all.begin(), all.end());
        }
    }
    iterator erase(const_iterator at) { return erase(at, at + 1); }
    iterator erase(const_iterator first, const_iterator last) {
        T* to = data_ + (first - data_);
        std::copy(last, cend(), to);
        size_ -= static_cast<std::uint32_t>(last - first);
        return to;
    }
    void swap(InlineVector& o) noexcept { std::swap(*this, o); }
    friend bool operator==(const InlineVector& a, const InlineVector& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }
    friend auto operator<=>(const InlineVector& a, const InlineVector& b) {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    T* own() { return reinterpret_cast<T*>(own_); }
    bool is_own() const { return data_ == reinterpret_cast<const T*>(own_); }
    void release() {
        if (!is_own()) std::allocator<T>().deallocate(data_, capacity_);
    }
    /// Of an empty vector in its own memory.
    void take(InlineVector& o) {
        if (o.is_own()) {
            std::memcpy(own_, o.own_, sizeof own_);
        } else {
            data_ = o.data_, capacity_ = o.capacity_;
            o.data_ = o.own(), o.capacity_ = N;
        }
        size_ = o.size_, o.size_ = 0;
    }
    void append(const T* from, size_type n) {
        reserve(size_ + n);
        std::copy_n(from, n, data_ + size_);
        size_ += static_cast<std::uint32_t>(n);
    }
    T* open(const_iterator at, size_type n) {
        const std::ptrdiff_t where = at - data_;
        reserve(size_ + n);
        std::copy_backward(data_ + where, data_ + size_, data_ + size_ + n);
        size_ += static_cast<std::uint32_t>(n);
        return data_ + where;
    }
    void grow(size_type least) {
        JAXSCOPE_ASSERT(least <= UINT32_MAX);
        const size_type n = std::min<size_type>(std::max<size_type>(least, 2 * std::size_t{capacity_}), UINT32_MAX);
        T* wider = std::allocator<T>().allocate(n);
        std::copy_n(data_, size_, wider);
        release();
        data_ = wider, capacity_ = static_cast<std::uint32_t>(n);
    }
    size_type inside(size_type i) const {
        if (i >= size_) throw std::out_of_range("InlineVector::at");
        return i;
    }

    T* data_;
    std::uint32_t size_ = 0, capacity_ = N;
    alignas(T) std::byte own_[N * sizeof(T)];
};

}  // namespace jaxscope
