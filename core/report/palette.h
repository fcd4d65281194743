// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "picture/scope_tree.h"

namespace jaxscope {

/// One meaning, one colour (Okabe-Ito hues, safe for colour-blind eyes), in pictures, the window and HTML alike. "#rrggbb".
/// Text colours stand at 4.5:1 or more on `canvas` and `panel`.
struct Palette {
    const char *known, *unknown, *recomputed, *residual, *donated;
    const char *canvas, *panel, *ink, *muted, *rule;
    const char *known_canvas, *unknown_canvas;  ///< cool and warm grounds of the two halves
    const char *known_text, *unknown_text, *recomputed_text, *residual_text,
        *donated_text;  ///< the same hues, dark or light enough to read
    const char *edge, *selected_row, *hover;
};

const Palette& light_palette();
const Palette& dark_palette();
/// Colour of a node's bar and outline; `muted` for plain ones.
const char* role_colour(const Palette& palette, Role role);

}  // namespace jaxscope
