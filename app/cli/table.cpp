#include "app/cli/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace jaxscope::cli {

bool use_colour() {
    static const bool yes = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    return yes;
}
std::string bold(const std::string& text) { return use_colour() ? "\x1b[1m" + text + "\x1b[0m" : text; }
std::string muted(const std::string& text) { return use_colour() ? "\x1b[2m" + text + "\x1b[0m" : text; }
void heading(std::ostream& out, const std::string& title) { out << '\n' << bold(title) << '\n'; }

void Table::print(std::ostream& out, std::size_t limit) const {
    const std::size_t shown = limit == 0 ? rows_.size() : std::min(limit, rows_.size());
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t w = display_width(columns_[c].first);
        for (std::size_t r = 0; r < shown; ++r) w = std::max(w, display_width(rows_[r][c]));
        widths.push_back(w);
    }
    const auto line = [&](const auto& cell) {
        std::string text = "  ";
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            const std::string s = cell(c);
            const std::string pad(widths[c] - display_width(s), ' ');
            text += columns_[c].second == Align::Right ? pad + s : s + pad;
            if (c + 1 < columns_.size()) text += "  ";
        }
        while (!text.empty() && text.back() == ' ') text.pop_back();
        return text;
    };
    out << muted(line([&](std::size_t c) { return columns_[c].first; })) << '\n';
    for (std::size_t r = 0; r < shown; ++r) out << line([&](std::size_t c) { return rows_[r][c]; }) << '\n';
    if (shown < rows_.size()) out << muted("  ... " + std::to_string(rows_.size() - shown) + " more (--all shows them)") << '\n';
}

}  // namespace jaxscope::cli
