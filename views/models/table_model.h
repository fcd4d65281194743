// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables as Qt's models. Comes in: a stage's struct. Goes out: cells, a total, and what a row stands for. Never here: widgets, and
// figures that the struct doesn't hold.
#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "analysis/correspondence.h"

namespace jaxscope::views {

/// What all tables share: a role that sorts by value and not by text, one that says what a row stands for, a total for the head.
class TableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    enum Role { SortRole = Qt::UserRole };  ///< raw bytes, so that 9 MiB sorts below 10 MiB
    virtual QString total() const = 0;      ///< "18 values, 12.5 MiB"
    virtual Picked picked(int row) const = 0;
    virtual bool picks() const { return true; }          ///< a row stands for something that can be selected
    virtual int row_of(const Picked& picked) const = 0;  ///< -1: this table doesn't show it
    virtual QString empty_text() const = 0;              ///< what to do when there are no rows
    /// Why there can be no rows; empty: nothing stands in their way. The window tells the reason, once: here it is a tool tip.
    void set_problem(const QString& problem) { problem_ = problem; }
    const QString& problem() const { return problem_; }
    QString why_empty() const {
        return problem_.isEmpty() ? empty_text() : tr("This can't be had: the message says why, and so it does when you point here.");
    }
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : static_cast<int>(titles_.size()); }
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

protected:
    void set_columns(QStringList titles, QVector<int> numeric, QVector<int> code);
    /// Alignment and font of a cell, by column.
    QVariant style(int column, int role) const;

private:
    QStringList titles_;
    QString problem_;
    QVector<int> numeric_, code_;
};

/// Sorts by SortRole; shows rows of which any cell contains the filter text.
class TableProxy : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit TableProxy(QObject* parent = nullptr);
    void set_filter(const QString& text);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    QString filter_;
};

}  // namespace jaxscope::views
