#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace jaxscope::cli {

/// A table for people: columns as wide as their widest cell, numbers to the right, colours when `out` is a terminal.
class Table {
public:
    enum class Align { Left, Right };
    explicit Table(std::vector<std::pair<std::string, Align>> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// Prints the head and at most `limit` rows (0: all), and says how many were left out.
    void print(std::ostream& out, std::size_t limit = 0) const;
    bool empty() const { return rows_.empty(); }

private:
    std::vector<std::pair<std::string, Align>> columns_;
    std::vector<std::vector<std::string>> rows_;
};

bool use_colour();  ///< standard output is a terminal and NO_COLOR isn't set
std::string bold(const std::string& text);
std::string muted(const std::string& text);
/// A section's head: blank line, bold title.
void heading(std::ostream& out, const std::string& title);

}  // namespace jaxscope::cli
