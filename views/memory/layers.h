// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "jit/jit.h"
#include "theme/theme.h"

namespace jaxscope::views {

struct Layer {
    BufferRole role;
    const char* Palette::*colour;
    int alpha;
};
/// From the ground up: what is always there first, so that the restless part is on top.
constexpr Layer kLayers[] = {{BufferRole::Argument, &Palette::known, 150},
                             {BufferRole::Output, &Palette::donated, 150},
                             {BufferRole::Residual, &Palette::residual, 190},
                             {BufferRole::Temporary, &Palette::recomputed, 170},
                             {BufferRole::Scratch, &Palette::muted, 120}};

}  // namespace jaxscope::views
