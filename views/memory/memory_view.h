// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "memory/timeline_widget.h"

class QToolButton;

namespace jaxscope::views {

/// The Memory tab: the timeline, and over it what of it is shown.
class MemoryView : public QWidget {
    Q_OBJECT
public:
    explicit MemoryView(Selection* selection, QWidget* parent = nullptr);
    TimelineWidget* timeline() const { return timeline_; }
    QToolButton* strips_button() const { return strips_; }
    QToolButton* arguments_button() const { return arguments_; }

private:
    TimelineWidget* timeline_;
    QToolButton *curve_, *strips_, *arguments_;
};

}  // namespace jaxscope::views
