// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace jaxscope {

/// How a page for people is written.
struct PageStyle {
    enum class Format { Terminal, Markdown, Html };
    Format format = Format::Terminal;
    bool colour = false;
    bool all = false;         ///< every row of every table, nothing grouped and nothing cut
    std::size_t width = 100;  ///< of a terminal: longer rows are wrapped or lose the middle of their cells; the largest number: never
};

/// A table: columns as wide as their widest cell.
class Table {
public:
    enum class Kind { Text, Number, Code };  ///< numbers stand to the right
    struct Column {
        std::string name;
        Kind kind = Kind::Text;
        bool bar = false;  ///< HTML draws its values
    };
    struct Cell {
        std::string text;
        double value = std::numeric_limits<double>::quiet_NaN();  ///< what a number is sorted by
        Cell(std::string t) : text(std::move(t)) {}               // NOLINT(google-explicit-constructor)
        Cell(const char* t) : text(t) {}                          // NOLINT(google-explicit-constructor)
        Cell(std::string t, double v) : text(std::move(t)), value(v) {}
    };
    using Row = std::vector<Cell>;
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(Row row) { rows_.push_back(std::move(row)); }
    const std::vector<Column>& columns() const { return columns_; }
    const std::vector<Row>& rows() const { return rows_; }
    /// Leaves out columns whose every cell is empty.
    void drop_empty_columns();

private:
    std::vector<Column> columns_;
    std::vector<Row> rows_;
};

/// Headings, lines and tables on a stream. Everything that is written is made printable first: names come from files.
class Page {
public:
    Page(std::ostream& out, PageStyle style) : out_(out), style_(style) {}
    void heading(const std::string& title);
    void line(const std::string& text);
    void paragraph(const std::string& text);  ///< a line that a terminal may break at spaces
    void code(const std::string& text);       ///< several lines, as they are
    /// At most `limit` rows (0: all), and how many were left out; `all` shows them all. HTML scrolls, and has no need of limits.
    void table(const Table& table, std::size_t limit = 0);
    bool all() const { return style_.all; }
    bool is_terminal() const { return style_.format == PageStyle::Format::Terminal; }

private:
    void text_table(const Table& table, std::size_t shown);
    void markdown_table(const Table& table, std::size_t shown);
    void html_table(const Table& table);
    std::string bold(const std::string& text) const;
    std::string muted(const std::string& text) const;
    std::ostream& out_;
    PageStyle style_;
};

/// A size, sorted by its bytes; "-" for one that isn't known.
Table::Cell size_cell(const std::optional<std::int64_t>& bytes);
/// "train.py:16"; empty where no file is known.
std::string place(const std::string& file, int line);
/// `text` for HTML: control characters spelled out, markup escaped.
std::string html_escape(std::string_view text);
/// `text` cut to `width` columns, its middle replaced by an ellipsis: file and function names end in what tells them apart.
std::string without_middle(const std::string& text, std::size_t width);

}  // namespace jaxscope
