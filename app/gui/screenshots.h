// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pictures of the window for those who look at it without a display. Comes in: a window whose file is being opened, and which pictures.
// Goes out: files, and then the process's end. Never here: what is in the pictures.
#include <QElapsedTimer>
#include <QObject>
#include <QStringList>
#include <QTimer>
#include <vector>

namespace jaxscope::app {

class MainWindow;

/// Waits until nothing is being computed, saves its pictures one after the other and ends the process: pictures of the README, smoke tests.
/// In `file` "{tab}" and "{theme}" stand for each of `tabs`, and for light and dark; without them there is one picture of what is in front.
class Screenshots : public QObject {
    Q_OBJECT
public:
    /// `whole`: what is pictured, around `window`. `select`: a row of the residual table, or empty.
    Screenshots(MainWindow& window, QWidget& whole, const QString& file, const QStringList& tabs, const QString& select);

private:
    struct Picture {
        QString file, tab;
        bool themed = false, dark = false;
    };
    void tell_first_picture();
    bool ready() const;
    void look();
    void select_row();
    void begin_next();
    void take();
    MainWindow& window_;
    QWidget& whole_;
    QString select_;
    std::vector<Picture> pictures_;
    std::size_t next_ = 0;
    bool selected_ = false;
    QTimer again_;
    QElapsedTimer clock_, waiting_;
};

}  // namespace jaxscope::app
