// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QApplication>
#include <QString>
#include <ctime>
#include <vector>

namespace jaxscope::views {

/// What no event may take on the window's thread: longer is seen as a stutter.
constexpr double kLongestEvent = 0.050;  // s

/// An event that kept the window's thread busy.
struct LongEvent {
    QString what;        ///< class of the receiver, number of the event
    double seconds = 0;  ///< of the thread's own time: a neighbour that takes the core isn't the event's fault
};

/// Measures every event of the window's thread; one inside of another counts for the outer one.
class WatchedApplication : public QApplication {
public:
    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override {
        if (depth_ > 0) return QApplication::notify(receiver, event);
        const Watch watch(*this, receiver->metaObject()->className(), event->type());
        return QApplication::notify(receiver, event);
    }
    const LongEvent& longest() const { return longest_; }
    const std::vector<LongEvent>& long_events() const { return long_; }
    void forget() { long_.clear(), longest_ = {}; }

private:
    static double thread_seconds() {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }
    /// While one event is handled, exceptions or not.
    class Watch {
    public:
        Watch(WatchedApplication& of, const char* receiver, int event) : of_(of), receiver_(receiver), event_(event) { ++of_.depth_; }
        ~Watch() {
            --of_.depth_;
            const double took = thread_seconds() - begin_;
            if (took > of_.longest_.seconds) of_.longest_ = {name(), took};
            if (took > kLongestEvent) of_.long_.push_back({name(), took});
        }
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

    private:
        QString name() const { return QStringLiteral("%1 event %2").arg(QLatin1String(receiver_)).arg(event_); }
        WatchedApplication& of_;
        const char* receiver_;
        int event_;
        double begin_ = thread_seconds();
    };
    int depth_ = 0;
    LongEvent longest_;
    std::vector<LongEvent> long_;
};

}  // namespace jaxscope::views
