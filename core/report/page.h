#pragma once
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace jaxscope {

/// How a page for people is written: to a terminal, or as Markdown.
struct PageStyle {
    bool markdown = false;
    bool colour = false;
    bool all = false;         ///< every row of every table, nothing grouped and nothing cut
    std::size_t width = 100;  ///< columns that a table may take; longer cells lose their middle
};

/// A table: columns as wide as their widest cell.
class Table {
public:
    enum class Kind { Text, Number, Code };  ///< numbers stand to the right
    struct Column {
        std::string name;
        Kind kind = Kind::Text;
    };
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    const std::vector<Column>& columns() const { return columns_; }
    const std::vector<std::vector<std::string>>& rows() const { return rows_; }
    /// Leaves out columns whose every cell is empty.
    void drop_empty_columns();

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Headings, lines and tables on a stream. Everything that is written is made printable first: names come from files.
class Page {
public:
    Page(std::ostream& out, PageStyle style) : out_(out), style_(style) {}
    void heading(const std::string& title);
    void line(const std::string& text);
    void code(const std::string& text);  ///< several lines, as they are
    /// At most `limit` rows (0: all), and how many were left out; `all` shows them all.
    void table(const Table& table, std::size_t limit = 0);
    bool all() const { return style_.all; }
    const PageStyle& style() const { return style_; }

private:
    void text_table(const Table& table, std::size_t shown);
    void markdown_table(const Table& table, std::size_t shown);
    std::string bold(const std::string& text) const;
    std::string muted(const std::string& text) const;
    std::ostream& out_;
    PageStyle style_;
};

/// `text` cut to `width` columns, its middle replaced by an ellipsis: file and function names end in what tells them apart.
std::string without_middle(const std::string& text, std::size_t width);

}  // namespace jaxscope
