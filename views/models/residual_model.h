#pragma once
#include "models/table_model.h"

namespace jaxscope::views {

/// Rows of a ResidualReport.
class ResidualModel : public TableModel {
    Q_OBJECT
public:
    enum Column { Bytes, Value, Source, Line, Why };
    explicit ResidualModel(QObject* parent = nullptr);
    /// `as_it_is`: what the program saves without the choices made, for the head; negative: the same report.
    void set_report(std::shared_ptr<const ResidualReport> report, std::int64_t as_it_is = -1);
    const ResidualReport* report() const { return report_.get(); }
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QString total() const override;
    Picked picked(int row) const override;
    int row_of(const Picked& picked) const override;
    QString empty_text() const override;

private:
    std::shared_ptr<const ResidualReport> report_;
    std::int64_t as_it_is_ = -1;
};

}  // namespace jaxscope::views
