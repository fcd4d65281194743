// SPDX-License-Identifier: Apache-2.0
#include "report/row_groups.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace jaxscope {

namespace {

/// A name with its indices taken out.
struct Indexed {
    std::vector<std::string> pieces;   ///< between the indices: one more than those
    std::vector<std::string> indices;  ///< as they stand
};

Indexed take_apart(std::string_view name) {
    Indexed out{{""}, {}};
    int depth = 0;
    for (std::size_t i = 0; i < name.size();) {
        if (depth > 0 && std::isdigit(static_cast<unsigned char>(name[i]))) {
            std::size_t end = i;
            while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
            out.indices.emplace_back(name.substr(i, end - i));
            out.pieces.emplace_back();
            i = end;
            continue;
        }
        depth += name[i] == '[' ? 1 : name[i] == ']' && depth > 0 ? -1 : 0;
        out.pieces.back() += name[i++];
    }
    return out;
}

/// "3", "0-5", "0,2,7", "0,2,...,40".
std::string range_text(const std::set<std::string>& texts) {
    if (texts.size() == 1) return *texts.begin();
    std::vector<std::string> sorted(texts.begin(), texts.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
    // Numbers of more digits than that are no indices that anybody counts.
    const bool counts = sorted.back().size() < 10;
    if (counts && std::stoul(sorted.back()) - std::stoul(sorted.front()) + 1 == sorted.size()) return sorted.front() + "-" + sorted.back();
    std::string out;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (sorted.size() > 4 && i == 2) {
            out += ",...," + sorted.back();
            break;
        }
        out += (i ? "," : "") + sorted[i];
    }
    return out;
}

struct Group {
    SizedRow sum;
    std::vector<std::vector<std::string>> pieces;          ///< per indexed column
    std::vector<std::vector<std::set<std::string>>> seen;  ///< per indexed column and index
};

void add(Group& g, const SizedRow& row, const std::vector<Indexed>& names) {
    if (g.pieces.empty()) {
        g.sum = row;
        g.sum.bytes = g.sum.count = 0;
        for (const Indexed& n : names) {
            g.pieces.push_back(n.pieces);
            g.seen.emplace_back(n.indices.size());
        }
    }
    g.sum.bytes += row.bytes;
    g.sum.count += row.count;
    for (std::size_t c = 0; c < names.size(); ++c)
        for (std::size_t k = 0; k < names[c].indices.size(); ++k) g.seen[c][k].insert(names[c].indices[k]);
}

}  // namespace

std::vector<SizedRow> sorted_by_size(std::vector<SizedRow> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const SizedRow& a, const SizedRow& b) { return a.bytes > b.bytes; });
    return rows;
}

std::vector<SizedRow> grouped(const std::vector<SizedRow>& rows, const std::vector<std::size_t>& indexed) {
    std::map<std::vector<std::string>, std::size_t> at;
    std::vector<Group> groups;
    for (const SizedRow& row : rows) {
        std::vector<std::string> key = row.cells;
        std::vector<Indexed> names;
        for (const std::size_t c : indexed) {
            names.push_back(take_apart(row.cells[c]));
            key[c].clear();
            for (const std::string& piece : names.back().pieces) key[c] += piece + '\0';
        }
        const auto [slot, fresh] = at.try_emplace(std::move(key), groups.size());
        if (fresh) groups.emplace_back();
        add(groups[slot->second], row, names);
    }
    std::vector<SizedRow> out;
    for (Group& g : groups) {
        for (std::size_t c = 0; c < indexed.size(); ++c) {
            std::string text = g.pieces[c].front();
            for (std::size_t k = 0; k < g.seen[c].size(); ++k) text += range_text(g.seen[c][k]) + g.pieces[c][k + 1];
            g.sum.cells[indexed[c]] = std::move(text);
        }
        out.push_back(std::move(g.sum));
    }
    return sorted_by_size(std::move(out));
}

}  // namespace jaxscope
