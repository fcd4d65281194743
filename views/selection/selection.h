// SPDX-License-Identifier: Apache-2.0
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
    /// What completes picks from now on; null: nothing does. `derivation`: of the inspection that is looked at. When it changes, the same
    /// value is found in what is shown now, or nothing is picked where it isn't there.
    void set_correspondence(std::shared_ptr<const Correspondence> correspondence, std::uint64_t derivation);
    void pick(const Picked& picked);
    void clear() { pick({}); }

Q_SIGNALS:
    void changed(const jaxscope::Picked& picked);

private:
    void take(const Picked& picked);
    Picked picked_;
    std::uint64_t derivation_ = 0;
    std::shared_ptr<const Correspondence> correspondence_;
    bool telling_ = false;
};

}  // namespace jaxscope::views
