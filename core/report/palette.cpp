// SPDX-License-Identifier: Apache-2.0
#include "report/palette.h"

namespace jaxscope {

const Palette& light_palette() {
    static constexpr Palette palette{.known = "#0072b2",
                                     .unknown = "#d55e00",
                                     .recomputed = "#e69f00",
                                     .residual = "#cc79a7",
                                     .donated = "#009e73",
                                     .canvas = "#f7f8fa",
                                     .panel = "#ffffff",
                                     .ink = "#1f2933",
                                     .muted = "#5d6875",
                                     .rule = "#d5dbe1",
                                     .known_canvas = "#f2f8fc",
                                     .unknown_canvas = "#fdf5f0",
                                     .known_text = "#00629a",
                                     .unknown_text = "#b04e00",
                                     .recomputed_text = "#8a5f00",
                                     .residual_text = "#9c4a79",
                                     .donated_text = "#007a59",
                                     .edge = "#b4bcc5",
                                     .selected_row = "#e3f0f8",
                                     .hover = "#eef2f6"};
    return palette;
}

const Palette& dark_palette() {
    static constexpr Palette palette{.known = "#56b4e9",
                                     .unknown = "#ff8f4d",
                                     .recomputed = "#f0c04c",
                                     .residual = "#e29bc4",
                                     .donated = "#2fc79b",
                                     .canvas = "#14181d",
                                     .panel = "#1b2027",
                                     .ink = "#e6eaee",
                                     .muted = "#93a0ad",
                                     .rule = "#2c333c",
                                     .known_canvas = "#141d26",
                                     .unknown_canvas = "#221a16",
                                     .known_text = "#56b4e9",
                                     .unknown_text = "#ff8f4d",
                                     .recomputed_text = "#f0c04c",
                                     .residual_text = "#e29bc4",
                                     .donated_text = "#2fc79b",
                                     .edge = "#566270",
                                     .selected_row = "#233545",
                                     .hover = "#242b34"};
    return palette;
}

const char* role_colour(const Palette& palette, Role role) {
    switch (role) {
        case Role::Forward:
            return palette.known;
        case Role::Backward:
            return palette.unknown;
        case Role::Recomputed:
            return palette.recomputed;
        case Role::Plain:
            break;
    }
    return palette.muted;
}

}  // namespace jaxscope
