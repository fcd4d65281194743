// SPDX-License-Identifier: Apache-2.0
#pragma once
// Paths of trees in little room: "state[0].mu['params']['h_0']['attn']['kernel']" is "state[0].mu\u2026['h_0']['attn']['kernel']" before it
// loses what tells it apart from its neighbours.
#include <QFontMetrics>
#include <QString>
#include <map>
#include <string>
#include <vector>

namespace jaxscope::views {

/// "state[0].mu['w']": "state", "[0]", ".mu", "['w']".
std::vector<std::string> parts_of_path(const std::string& path);

/// Knows the paths that stand together.
class ShortPaths {
public:
    ShortPaths() = default;
    explicit ShortPaths(const std::vector<std::string>& paths);
    /// In so many pixels. What all neighbours have goes first; then keys lose their ends, as long as they still differ; then parts go,
    /// first those that most neighbours have. The argument's name stays.
    QString shown(const std::string& path, const QFontMetrics& letters, int width) const;

private:
    /// In bits: 0 where nothing else goes on from `before`, much where few paths go on like this.
    double tells(const std::string& before, const std::string& part) const;
    /// How short a part may become, dots and all, so that nothing else that goes on from `before` looks the same.
    std::size_t shortest(const std::string& before, const std::string& part) const;
    std::map<std::string, std::map<std::string, int>> next_;  ///< of the beginning of a path: what goes on from there, and how often
};

}  // namespace jaxscope::views
