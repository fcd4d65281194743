#pragma once
// The one selection that all views share. Comes in: a pick. Goes out: the same value as every view knows it. Never here: rows of
// tables.
#include <QObject>

#include "analysis/correspondence.h"

namespace jaxscope::views {

/// The one selection of a window. Views set what the user picked and follow what others picked; the counterparts of an equation in
/// the other jaxprs and tables are filled in on the way (Correspondence).
class Selection : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    const Picked& picked() const { return picked_; }
    /// What completes picks from now on; null: nothing does.
    void set_correspondence(std::shared_ptr<const Correspondence> correspondence);
    void pick(const Picked& picked);
    void clear() { pick({}); }

Q_SIGNALS:
    void changed(const jaxscope::Picked& picked);

private:
    Picked picked_;
    std::shared_ptr<const Correspondence> correspondence_;
    bool telling_ = false;
};

}  // namespace jaxscope::views
