// SPDX-License-Identifier: Apache-2.0
#pragma once
// A table as one sees it. Comes in: a TableModel. Goes out: the row that was selected, copied rows. Never here: what rows hold (models).
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QWidget>

#include "models/table_model.h"
#include "selection/selection.h"

class QHBoxLayout;

namespace jaxscope::views {

/// A table with its total and a filter box above it. Sorted by bytes at first; copying gives TSV; its current row is the selection.
class TablePanel : public QWidget {
    Q_OBJECT
public:
    TablePanel(TableModel* model, Selection* selection, QWidget* parent = nullptr);
    void set_widths(const QVector<int>& widths, int stretched);
    void sort_by(int column, Qt::SortOrder order);
    /// A column of which nothing is to be said takes no room.
    void show_column(int column, bool shown);
    TableModel* model() const { return model_; }
    /// Beside the filter.
    void add_to_head(QWidget* widget);
    /// What a screen reader calls it.
    void set_name(const QString& name);
    QTableView* table() const { return table_; }
    QLineEdit* filter() const { return filter_; }
    QString selected_as_tsv() const;
    int current_row() const;  ///< of the model; -1: none

Q_SIGNALS:
    void row_clicked(int row);  ///< of the model

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void fit_columns();
    int width_of_longest(int column) const;
    void refresh();
    void follow(const Picked& picked);
    TableModel* model_;
    Selection* selection_;
    TableProxy* proxy_;
    QTableView* table_;
    QLineEdit* filter_;
    QHBoxLayout* head_;
    QLabel *total_, *empty_;
    bool following_ = false, fitting_ = false;
    QVector<int> widths_;  ///< of columns at least; empty: the user has chosen them
    int stretched_ = -1;   ///< the column that takes what is left
};

}  // namespace jaxscope::views
