// SPDX-License-Identifier: Apache-2.0
#pragma once
// Policies side by side. Comes in: rows of the what-if table, looks and runs. Goes out: cells, points of the plot, what a row chooses.
// Never here: trying policies (Inspection::policies does it).
#include "models/table_model.h"
#include "session/session.h"

namespace jaxscope::views {

/// What each policy saves, recomputes, plans and was measured to take. The row of what is chosen is its selected one.
class PolicyModel : public TableModel {
    Q_OBJECT
public:
    enum Column { Policy, Saved, Recomputed, Peak, Against, Xla, Measured, Time, Problem };
    explicit PolicyModel(QObject* parent = nullptr);
    void clear();
    /// For which device peaks are estimated; empty: planned for this machine.
    void set_target(const QString& target);
    /// Figures of policies that were tried; what was measured before stays.
    void set_rows(const std::vector<PolicyRow>& rows);
    /// What is looked at now, under `policy` in the words of the policy box: a row of its own where it has none.
    void note(const QString& policy, const Look& look);
    /// Which row is chosen, in the words of the policy box.
    void set_applied(const QString& policy);
    const std::vector<PolicyRow>& rows() const { return rows_; }
    int applied() const { return applied_; }
    /// What choosing a row enters into the policy box.
    QString words(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QString total() const override;
    Picked picked(int) const override { return {}; }
    bool picks() const override { return false; }
    int row_of(const Picked&) const override { return applied_; }
    QString empty_text() const override;

private:
    int find(const QString& policy) const;
    std::optional<std::int64_t> as_it_is_peak() const;
    PolicyRow& row_for(const QString& policy);
    QVariant cell(const PolicyRow& row, int column) const;
    double sort_value(const PolicyRow& row, int column) const;
    std::vector<PolicyRow> rows_;
    int applied_ = -1;
};

}  // namespace jaxscope::views
