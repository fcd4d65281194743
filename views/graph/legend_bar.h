// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QWidget>

namespace jaxscope::views {

/// What colours and shapes of a picture mean, under the picture: nothing of it is hidden.
class LegendBar : public QWidget {
    Q_OBJECT
public:
    explicit LegendBar(bool split, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    bool split_;
};

}  // namespace jaxscope::views
