// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "models/table_model.h"

namespace jaxscope::views {

/// A row of a report as a table shows it.
struct TableRow {
    struct Cell {
        QString text;
        qlonglong value = 0;  ///< what a number is sorted by
    };
    std::vector<Cell> cells;
    int input = -1;    ///< leaf number among the program's inputs
    std::string file;  ///< of the line that the row speaks of
    int line = 0;
};

/// Rows that need no more than columns: what they stand for is an input, or the first equation of their line.
class RowsModel : public TableModel {
    Q_OBJECT
public:
    using Finder = std::function<std::optional<EqnPath>(const std::string& file, int line)>;
    RowsModel(QStringList titles, QVector<int> numeric, QVector<int> code, QString empty, QObject* parent = nullptr);
    /// `find`: the program's equations by their lines, asked when a row is picked.
    void set_rows(std::vector<TableRow> rows, const QString& total, Finder find);
    const TableRow& row(int number) const { return rows_[static_cast<std::size_t>(number)]; }
    int rowCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(rows_.size()); }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QString total() const override { return total_; }
    Picked picked(int row) const override;
    int row_of(const Picked& picked) const override;
    QString empty_text() const override { return empty_; }

private:
    QVector<int> numeric_columns_;
    QString empty_, total_;
    std::vector<TableRow> rows_;
    Finder find_;
    mutable std::vector<std::optional<EqnPath>> found_;  ///< of the rows that were picked
};

}  // namespace jaxscope::views
