// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QAbstractItemModel>
#include <memory>

#include "picture/graph_model.h"

namespace jaxscope::views {

/// The hierarchy of a program as a tree: groups and calls, and the equations in them. Rows are made when a branch is opened.
class OutlineModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Role { KeyRole = Qt::UserRole };
    explicit OutlineModel(QObject* parent = nullptr);
    ~OutlineModel() override;
    void set_model(const GraphModel* model);  ///< must outlive this or be replaced by null
    const GraphItem* item(const QModelIndex& index) const;
    /// The row of a key, its branches opened on the way; `around` as GraphModel::keys_around gives it.
    QModelIndex find(const std::vector<std::string>& around);

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    bool hasChildren(const QModelIndex& parent = {}) const override;
    bool canFetchMore(const QModelIndex& parent) const override;
    void fetchMore(const QModelIndex& parent) override;

private:
    struct Row;
    Row* row_of(const QModelIndex& index) const;
    const GraphModel* model_ = nullptr;
    std::unique_ptr<Row> root_;
};

}  // namespace jaxscope::views
