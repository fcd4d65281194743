// SPDX-License-Identifier: Apache-2.0
#include "commands/short_paths.h"

#include <algorithm>
#include <cmath>

namespace jaxscope::views {
namespace {

constexpr const char* kLeftOut = "\u2026";

/// What is left of the parts, each run that was left out as dots.
QString joined(const std::vector<std::string>& parts, const std::vector<bool>& kept) {
    std::string text;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (kept[k])
            text += parts[k];
        else if (k == 0 || kept[k - 1])
            text += kLeftOut;
    }
    return QString::fromStdString(text);
}

/// A name in brackets, "['attention']", is two characters, letters, two more; a cut one has dots, too.
constexpr std::size_t kBeforeKey = 2, kBehindKey = 2, kDots = 1;

bool is_key(const std::string& part) {
    return part.size() > kBeforeKey + kBehindKey && part.starts_with('[') && (part[1] == '\'' || part[1] == '"');
}

/// "['atten\u2026']", of `size` characters.
std::string with_end_cut(const std::string& part, std::size_t size) {
    std::size_t end = size - kBehindKey - kDots;
    while (end > kBeforeKey && (static_cast<unsigned char>(part[end]) & 0xC0) == 0x80) --end;  // no half letter
    return part.substr(0, end) + kLeftOut + part.substr(part.size() - kBehindKey);
}

std::size_t longest(const std::vector<std::string>& parts, const std::vector<bool>& kept) {
    std::size_t most = 0;
    for (std::size_t k = 0; k < parts.size(); ++k)
        if (kept[k]) most = std::max(most, parts[k].size());
    return most;
}

}  // namespace

std::vector<std::string> parts_of_path(const std::string& path) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    char quote = 0;
    bool bracket = false;
    for (std::size_t k = 0; k < path.size(); ++k) {
        const char c = path[k];
        if (quote != 0) {
            if (c == '\\')
                ++k;
            else if (c == quote)
                quote = 0;
        } else if (bracket) {
            if (c == '\'' || c == '"') quote = c;
            bracket = c != ']';
        } else if (c == '[' || c == '.') {
            if (k > begin) parts.push_back(path.substr(begin, k - begin));
            begin = k;
            bracket = c == '[';
        }
    }
    if (begin < path.size()) parts.push_back(path.substr(begin));
    return parts;
}

ShortPaths::ShortPaths(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        std::string before;
        for (const std::string& part : parts_of_path(path)) {
            ++next_[before][part];
            before += part;
        }
    }
}

double ShortPaths::tells(const std::string& before, const std::string& part) const {
    const auto found = next_.find(before);
    if (found == next_.end() || !found->second.contains(part)) return 0;
    double all = 0;
    for (const auto& [other, times] : found->second) all += times;
    return std::log2(all / found->second.at(part));
}

std::size_t ShortPaths::shortest(const std::string& before, const std::string& part) const {
    constexpr std::size_t kFewest = 3;  // letters of a key
    if (!is_key(part)) return part.size();
    std::size_t same = 0;
    if (const auto found = next_.find(before); found != next_.end())
        for (const auto& [other, times] : found->second) {
            if (other == part) continue;
            const auto [here, there] = std::mismatch(part.begin(), part.end(), other.begin(), other.end());
            same = std::max(same, static_cast<std::size_t>(here - part.begin()));
        }
    return std::max(kBeforeKey + kFewest, same + 1) + kDots + kBehindKey;
}

QString ShortPaths::shown(const std::string& path, const QFontMetrics& letters, int width) const {
    const auto fits = [&](const QString& text) { return letters.horizontalAdvance(text) <= width; };
    const std::vector<std::string> whole_parts = parts_of_path(path);
    std::vector<std::string> parts = whole_parts;
    std::vector<bool> kept(parts.size(), true);
    if (QString whole = joined(parts, kept); fits(whole)) return whole;
    std::vector<std::pair<double, std::size_t>> order;  // how much it tells, part: what goes first
    std::vector<std::size_t> least;
    std::string before;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        if (k > 0) order.emplace_back(tells(before, parts[k]), k);
        least.push_back(shortest(before, parts[k]));
        before += parts[k];
    }
    std::sort(order.begin(), order.end());
    // Dots for less than their own width help nobody.
    const auto leave_out = [&](std::size_t part) {
        const int was = letters.horizontalAdvance(joined(parts, kept));
        kept[part] = false;
        if (letters.horizontalAdvance(joined(parts, kept)) >= was) kept[part] = true;
        return fits(joined(parts, kept));
    };
    for (const auto& [told, part] : order)
        if (told == 0 && leave_out(part)) return joined(parts, kept);
    for (std::size_t size = longest(whole_parts, kept); size > 0; --size) {
        for (std::size_t k = 0; k < parts.size(); ++k)
            if (kept[k] && whole_parts[k].size() > size && size >= least[k]) parts[k] = with_end_cut(whole_parts[k], size);
        if (fits(joined(parts, kept))) return joined(parts, kept);
    }
    for (const auto& [told, part] : order)
        if (kept[part] && leave_out(part)) return joined(parts, kept);
    return letters.elidedText(joined(parts, kept), Qt::ElideMiddle, width);
}

}  // namespace jaxscope::views
