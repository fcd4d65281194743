#pragma once
#include <span>

namespace jaxscope {
struct Primitive;
/// Makes `families` what `primitive(name)` looks up. Called once, by registry.cpp of `calls/`, which knows all families;
/// `register_all_primitives()` there is called by every program's main and every test's main (explicit lists: self-registering
/// globals are dropped by the linker from a static library).
void set_primitive_families(std::span<const std::span<const Primitive* const>> families);
void register_all_primitives();
}  // namespace jaxscope
