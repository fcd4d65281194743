// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace jaxscope {

/// A vector for members of objects of which there are many and that mostly have nothing there: 8 bytes while it is empty.
template <class T>
class RareVector {
public:
    RareVector() = default;
    RareVector(std::vector<T> v)
        : items_(v.empty() ? nullptr : std::make_unique<std::vector<T>>(std::move(v))) {}  // NOLINT(google-explicit-constructor)
    RareVector(const RareVector& o) : items_(o.items_ ? std::make_unique<std::vector<T>>(*o.items_) : nullptr) {}
    RareVector(RareVector&&) noexcept = default;
    RareVector& operator=(RareVector o) noexcept {
        std::swap(items_, o.items_);
        return *this;
    }
    ~RareVector() = default;

    bool empty() const { return !items_ || items_->empty(); }
    std::size_t size() const { return items_ ? items_->size() : 0; }
    T* begin() { return items_ ? items_->data() : nullptr; }
    T* end() { return begin() + size(); }
    const T* begin() const { return items_ ? items_->data() : nullptr; }
    const T* end() const { return begin() + size(); }
    T& operator[](std::size_t i) { return (*items_)[i]; }
    const T& operator[](std::size_t i) const { return (*items_)[i]; }
    const T& front() const { return items_->front(); }
    const T& back() const { return items_->back(); }
    void push_back(T v) {
        if (!items_) items_ = std::make_unique<std::vector<T>>();
        items_->push_back(std::move(v));
    }
    operator const std::vector<T>&() const {  // NOLINT(google-explicit-constructor)
        static const std::vector<T> none;
        return items_ ? *items_ : none;
    }
    friend bool operator==(const RareVector& a, const RareVector& b) {
        const std::vector<T>&x = a, &y = b;
        return x == y;
    }
    void clear() { items_.reset(); }

private:
    std::unique_ptr<std::vector<T>> items_;
};

}  // namespace jaxscope
