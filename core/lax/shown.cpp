// SPDX-License-Identifier: Apache-2.0
#include "ir/print/text_form.h"
#include "lax/families.h"
#include "lax/primitives.h"

// Primitives of which jaxscope knows traits alone: how they print, or that they leave their operand's memory as it is. They are opaque
// otherwise: shown with the types that the capture recorded.
namespace jaxscope {

namespace {

constexpr TextForm kGetText{.ref = TextForm::Ref::Get}, kSwapText{.ref = TextForm::Ref::Swap}, kAddUpdateText{.ref = TextForm::Ref::Add};
constexpr HiddenParam kCheckHidden[] = {{"err_tree", text_form::always}};
constexpr TextForm kCheckText{.hidden = kCheckHidden, .no_results = true};

constexpr Primitive shown(const char* name, const TextForm& text) { return {.name = name, .text = &text, .opaque = true}; }
constexpr Primitive shown_view(const char* name, const TextForm* text = nullptr) {
    return {.name = name, .view = always_a_view, .text = text, .opaque = true};
}

constexpr Primitive kCheck = shown("check", kCheckText);
constexpr Primitive kScaledDot{.name = "scaled_matmul_wrapper",
                               .lower = NoRule{"MLIR translation rule for primitive 'scaled_matmul' not found for platform cpu", true},
                               .product = Product::ScaledDot,
                               .opaque = true};
constexpr Primitive kExpandDims = shown_view("expand_dims");
constexpr Primitive kMeshCast = shown_view("mesh_cast");
constexpr Primitive kLayoutConstraint = shown_view("layout_constraint");
constexpr Primitive kPcast = shown_view("pcast");

}  // namespace

constinit const Primitive kGet = shown("get", kGetText);
constinit const Primitive kSwap = shown("swap", kSwapText);
constinit const Primitive kAddUpdate = shown("addupdate", kAddUpdateText);

std::span<const Primitive* const> shown_primitives() {
    static constexpr const Primitive* all[] = {&kGet,        &kSwap,     &kAddUpdate,        &kCheck, &kScaledDot,
                                               &kExpandDims, &kMeshCast, &kLayoutConstraint, &kPcast};
    return all;
}

}  // namespace jaxscope
