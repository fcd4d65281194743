// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>

#include "picture/split_graph.h"
#include "report/palette.h"

namespace jaxscope {

/// The pictures of the window as standalone SVG 1.1 text (UTF-8, everything from the program escaped, no scripts, no links).
/// `title` stands above the picture, `subtitle` beside it.
struct SvgOptions {
    std::string title, subtitle;
    const Palette* palette = &light_palette();
};

/// The graph of a program with these groups expanded (keys of GraphModel).
std::string program_svg(const GraphModel& model, const std::set<std::string>& expanded, const SvgOptions& options);
/// Known part, unknown part and the residuals crossing between them.
std::string split_svg(const SplitPicture& picture, const SplitReport& split, const SvgOptions& options);
/// The same with as much expanded as reads well on a page.
std::string split_svg(const SplitReport& split, const SvgOptions& options);

/// `text` for XML: markup escaped, characters that XML doesn't allow dropped.
std::string xml_escape(std::string_view text);

}  // namespace jaxscope
