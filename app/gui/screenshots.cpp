// SPDX-License-Identifier: Apache-2.0
#include "screenshots.h"

#include <QCoreApplication>
#include <cstdio>

#include "main_window.h"
#include "theme/theme.h"

namespace jaxscope::app {
namespace {

constexpr int kLook = 50, kSettle = 250, kPatience = 60'000;  // ms
const QString kEachTab = QStringLiteral("{tab}"), kEachTheme = QStringLiteral("{theme}");

}  // namespace

Screenshots::Screenshots(MainWindow& window, QWidget& whole, const QString& file, const QStringList& tabs, const QString& select)
    : QObject(&window), window_(window), whole_(whole), select_(select) {
    clock_.start();
    waiting_.start();
    const bool each_tab = file.contains(kEachTab), each_theme = file.contains(kEachTheme);
    for (const QString& tab : each_tab ? tabs : QStringList{QString()})
        for (const bool dark : each_theme ? std::vector<bool>{false, true} : std::vector<bool>{false}) {
            QString name = file;
            name.replace(kEachTab, tab).replace(kEachTheme, dark ? QStringLiteral("dark") : QStringLiteral("light"));
            pictures_.push_back({name, tab, each_theme, dark});
        }
    tell_first_picture();
    connect(window.session(), &views::Session::open_failed, this, [this](const QString& text) {
        again_.stop();
        std::fprintf(stderr, "jaxscope-gui: %s\n", qUtf8Printable(text));
        QCoreApplication::exit(2);
    });
    connect(&again_, &QTimer::timeout, this, &Screenshots::look);
    again_.start(kLook);
}

void Screenshots::tell_first_picture() {
    auto* first = new QMetaObject::Connection;
    *first = connect(window_.program_view(), &views::ProgramView::laid_out, this, [this, first] {
        std::fprintf(stderr, "jaxscope-gui: first picture after %lld ms\n", static_cast<long long>(clock_.elapsed()));
        disconnect(*first);
        delete first;
    });
}

bool Screenshots::ready() const {
    const views::Session& session = *window_.session();
    const bool there = session.current().done || session.program() == nullptr;
    return there && !session.busy() && !session.running() && !session.comparing() && !window_.program_view()->busy() &&
           !window_.split_view()->busy() && !window_.memory_view()->busy() && !views::theme_changes()->busy();
}

void Screenshots::look() {
    if (!ready() && waiting_.elapsed() < kPatience) return;
    if (!select_.isEmpty() && !selected_) select_row();
    again_.stop();
    if (pictures_[next_].tab.isEmpty() && !pictures_[next_].themed) return QTimer::singleShot(kSettle, this, &Screenshots::take);
    begin_next();
}

void Screenshots::select_row() {
    selected_ = true;
    Picked picked;
    const auto& residuals = window_.session()->current().residuals;
    const auto row = static_cast<std::size_t>(select_.toInt());
    if (residuals && row < residuals->rows.size()) picked.residual = residuals->rows[row].id;
    window_.selection()->pick(picked);
}

/// What it needs is made in the background once it is in front.
void Screenshots::begin_next() {
    const Picture& picture = pictures_[next_];
    if (!picture.tab.isEmpty()) window_.show_tab(picture.tab);
    if (picture.themed && views::theme().dark() != picture.dark) window_.set_dark(picture.dark);
    waiting_.start();
    auto* settled = new QTimer(this);
    connect(settled, &QTimer::timeout, this, [this, settled] {
        if (!ready() && waiting_.elapsed() < kPatience) return;
        settled->deleteLater();
        settled->stop();
        QTimer::singleShot(kSettle, this, &Screenshots::take);
    });
    settled->start(kLook);
}

void Screenshots::take() {
    const QString& file = pictures_[next_].file;
    const bool saved = whole_.grab().save(file);
    if (!saved) std::fprintf(stderr, "jaxscope-gui: expected a picture file that can be written, found %s\n", qUtf8Printable(file));
    std::fprintf(stderr, "jaxscope-gui: %s after %lld ms\n", qUtf8Printable(file), static_cast<long long>(clock_.elapsed()));
    if (!saved || ++next_ == pictures_.size()) return QCoreApplication::exit(saved ? 0 : 2);
    begin_next();
}

}  // namespace jaxscope::app
