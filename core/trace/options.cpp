// SPDX-License-Identifier: Apache-2.0
// What options and descriptions of arrays hold: made, copied and dropped here, so that no program compiles it again.
#include <jaxscope/argnums.h>
#include <jaxscope/donation.h>
#include <jaxscope/numpy.h>
#include <jaxscope/sharding.h>

namespace jaxscope::jax {

Shape::Shape(std::initializer_list<std::int64_t> sizes) : sizes_(sizes) {}
Shape::Shape(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}
bool operator==(const Shape& a, const Shape& b) { return a.sizes_ == b.sizes_; }
Shape::Shape(const Shape&) = default;
Shape::Shape(Shape&&) noexcept = default;
Shape& Shape::operator=(const Shape&) = default;
Shape& Shape::operator=(Shape&&) noexcept = default;
Shape::~Shape() = default;

Axes::Axes(One one) : given(true), axes{one.axis} {}
Axes::Axes(std::vector<std::int64_t> list) : given(true), tuple(true), axes(std::move(list)) {}
Axes::Axes(const Axes&) = default;
Axes::Axes(Axes&&) noexcept = default;
Axes& Axes::operator=(const Axes&) = default;
Axes& Axes::operator=(Axes&&) noexcept = default;
Axes::~Axes() = default;

Argnums::Argnums(std::initializer_list<int> list) : std::vector<int>(list) {}
Argnums::Argnums(std::vector<int> list) : std::vector<int>(std::move(list)) {}
Argnums::Argnums(const Argnums&) = default;
Argnums::Argnums(Argnums&&) noexcept = default;
Argnums& Argnums::operator=(const Argnums&) = default;
Argnums& Argnums::operator=(Argnums&&) noexcept = default;
Argnums::~Argnums() = default;

Argnames::Argnames(std::initializer_list<std::string> list) : std::vector<std::string>(list) {}
Argnames::Argnames(std::vector<std::string> list) : std::vector<std::string>(std::move(list)) {}
Argnames::Argnames(const Argnames&) = default;
Argnames::Argnames(Argnames&&) noexcept = default;
Argnames& Argnames::operator=(const Argnames&) = default;
Argnames& Argnames::operator=(Argnames&&) noexcept = default;
Argnames::~Argnames() = default;

Sections::Sections(std::initializer_list<std::int64_t> list) : positions(list), cut(true) {}
Sections::Sections(std::vector<std::int64_t> list) : positions(std::move(list)), cut(true) {}
Sections::Sections(const Sections&) = default;
Sections::~Sections() = default;

Array::Rows::Rows(std::vector<Array> rows, std::size_t at) : rows_(std::move(rows)), at_(at) {}
Array::Rows::Rows(const Rows&) = default;
Array::Rows::~Rows() = default;

template <class Leaf>
PrefixTree<Leaf>::PrefixTree(Leaf leaf, Kind kind) : kind_(kind), leaf_(std::move(leaf)) {}
template <class Leaf>
PrefixTree<Leaf>::PrefixTree(Kind kind, std::vector<std::string> keys, std::vector<PrefixTree> items)
    : kind_(kind), leaf_(none), keys_(std::move(keys)), items_(std::move(items)) {}
template <class Leaf>
PrefixTree<Leaf> PrefixTree<Leaf>::tuple(std::vector<PrefixTree> items) {
    return PrefixTree(Kind::tuple, {}, std::move(items));
}
template <class Leaf>
PrefixTree<Leaf> PrefixTree<Leaf>::list(std::vector<PrefixTree> items) {
    return PrefixTree(Kind::list, {}, std::move(items));
}
template <class Leaf>
PrefixTree<Leaf> PrefixTree<Leaf>::dict(std::vector<std::pair<std::string, PrefixTree>> items) {
    std::vector<std::string> keys;
    std::vector<PrefixTree> values;
    for (auto& [key, value] : items) keys.push_back(detail::quoted_text(key)), values.push_back(std::move(value));
    return PrefixTree(Kind::dict, std::move(keys), std::move(values));
}
template <class Leaf>
PrefixTree<Leaf>::PrefixTree(const PrefixTree&) = default;
template <class Leaf>
PrefixTree<Leaf>::PrefixTree(PrefixTree&&) noexcept = default;
template <class Leaf>
PrefixTree<Leaf>& PrefixTree<Leaf>::operator=(const PrefixTree&) = default;
template <class Leaf>
PrefixTree<Leaf>& PrefixTree<Leaf>::operator=(PrefixTree&&) noexcept = default;
template <class Leaf>
PrefixTree<Leaf>::~PrefixTree() = default;
template class PrefixTree<Axis>;
template class PrefixTree<Parts>;

std::vector<PyTreeDef> treedef_children(const PyTreeDef& tree) { return tree.children(); }

namespace donation {

DonateKwargs::DonateKwargs() : DonateKwargs(std::vector<Entry>()) {}
DonateKwargs::DonateKwargs(std::initializer_list<Entry> entries) : DonateKwargs(std::vector<Entry>(entries)) {}
DonateKwargs::DonateKwargs(std::vector<Entry> entries) : entries_(new std::vector<Entry>(std::move(entries))) {}
DonateKwargs::DonateKwargs(const DonateKwargs& o) : DonateKwargs(o.entries()) {}
DonateKwargs& DonateKwargs::operator=(const DonateKwargs& o) {
    if (this != &o) *entries_ = o.entries();
    return *this;
}
DonateKwargs::~DonateKwargs() { delete entries_; }

}  // namespace donation

namespace detail {

Called::Called() = default;
Called::Called(Called&&) noexcept = default;
Called& Called::operator=(Called&&) noexcept = default;
Called::~Called() = default;

void CallKey::keep(const Array& a, std::vector<Array>& made) { made.push_back(a); }

}  // namespace detail
}  // namespace jaxscope::jax
