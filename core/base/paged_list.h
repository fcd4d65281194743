// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace jaxscope {

/// A list of unknown length that grows by one and is taken as a vector of just its length. A vector that doubles, and is then cut to size,
/// stands twice in memory; of this there is never more than a page beside what is in it: pages are the system's own and go back to it one
/// after the other.
template <class T>
class PagedList {
public:
    void push_back(T value) {
        if (first_.size() < kFirst) return first_.push_back(std::move(value));
        if (pages_.empty() || pages_.back().count == kInPage) pages_.emplace_back();
        Page& page = pages_.back();
        new (page.at() + page.count) T(std::move(value));
        ++page.count;
    }
    /// What is in it; it is empty then.
    std::vector<T> take() {
        std::vector<T> out;
        out.reserve(first_.size() + pages_.size() * kInPage);
        for (T& value : first_) out.push_back(std::move(value));
        first_ = {};
        for (Page& page : pages_) {
            for (std::size_t k = 0; k < page.count; ++k) out.push_back(std::move(page.at()[k]));
            page = Page{nullptr};
        }
        pages_.clear();
        return out;
    }

private:
    static constexpr std::size_t kPageBytes = std::size_t{1} << 20;
    static constexpr std::size_t kInPage = kPageBytes / sizeof(T), kFirst = kPageBytes / 16 / sizeof(T);
    struct Unmap {
        void operator()(void* memory) const { munmap(memory, kPageBytes); }
    };
    struct Page {
        Page() : memory(mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
            if (memory.get() == MAP_FAILED) {
                (void)memory.release();
                throw std::bad_alloc();
            }
        }
        explicit Page(std::nullptr_t) {}
        Page(Page&& other) noexcept : memory(std::move(other.memory)), count(std::exchange(other.count, 0)) {}
        Page& operator=(Page&& other) noexcept {
            clear();
            memory = std::move(other.memory);
            count = std::exchange(other.count, 0);
            return *this;
        }
        ~Page() { clear(); }
        T* at() { return static_cast<T*>(memory.get()); }
        void clear() { std::destroy_n(at(), std::exchange(count, 0)); }
        std::unique_ptr<void, Unmap> memory;
        std::size_t count = 0;
    };
    std::vector<T> first_;  ///< most lists are short
    std::vector<Page> pages_;
};

}  // namespace jaxscope
