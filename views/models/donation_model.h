// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/table_model.h"

namespace jaxscope::views {

/// Rows of a DonationReport: every donated leaf and what became of it, then those that are kept back. Each can be ticked.
class DonationModel : public TableModel {
    Q_OBJECT
public:
    enum Column { Used, Bytes, Value, Path, Output, Reason };
    explicit DonationModel(QObject* parent = nullptr);
    void set_report(std::shared_ptr<const DonationReport> report);
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QString total() const override;
    Picked picked(int row) const override;
    int row_of(const Picked& picked) const override;
    QString empty_text() const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

Q_SIGNALS:
    void leaf_ticked(int input, bool donate);

private:
    const DonatedLeaf& leaf(int row) const;
    bool is_kept_back(int row) const { return row >= static_cast<int>(report_->donated.size()); }
    std::shared_ptr<const DonationReport> report_;
};

}  // namespace jaxscope::views
