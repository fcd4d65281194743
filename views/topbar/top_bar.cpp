// SPDX-License-Identifier: Apache-2.0
#include "topbar/top_bar.h"

#include <QAbstractItemView>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QVBoxLayout>
#include <cstdlib>
#include <utility>

#include "analysis/stages/subject.h"
#include "base/error.h"
#include "base/units.h"
#include "commands/choice_box.h"
#include "commands/short_texts.h"
#include "jit/targets.h"
#include "report/explain_text.h"
#include "report/measure.h"
#include "theme/theme.h"
#include "topbar/policy_words.h"

namespace jaxscope::views {
namespace {

/// What a row of the region box stands for.
QVariant region_data(int region, bool differentiated) { return QPoint(region, differentiated ? 1 : 0); }

constexpr int kDifferentiatedRow = 1;  // of a program without a gradient

}  // namespace

TopBar::TopBar(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      title_(new ShortLabel),
      subtitle_(new ShortLabel),
      busy_(new ShortLabel),
      peak_(new QLabel),
      difference_label_(new QLabel),
      measured_label_(new QLabel),
      region_(new ChoiceBox),
      policy_(new ChoiceBox),
      donate_(new ShortButton),
      undo_(new QToolButton),
      redo_(new QToolButton),
      run_(new QToolButton),
      target_(new QToolButton),
      donate_menu_(new QMenu(this)),
      search_(new QLineEdit) {
    setFixedHeight(54);
    setAttribute(Qt::WA_StyledBackground);
    policy_->setEditable(true);
    policy_->setInsertPolicy(QComboBox::NoInsert);
    policy_->setToolTip(tr("A policy of jax.checkpoint_policies, with arguments as in Python: save_only_these_names(h, attn)"));
    policy_->lineEdit()->setPlaceholderText(tr("policy"));
    region_->setToolTip(tr("What is planned and run, and the differentiated function that residuals and split speak of"));
    donate_->setPopupMode(QToolButton::InstantPopup);
    donate_->setMenu(donate_menu_);
    donate_->setToolTip(tr("Arguments whose memory results may take"));
    undo_->setText(QStringLiteral("\u21b6"));
    undo_->setToolTip(tr("Undo the last choice (Ctrl+Z)"));
    undo_->setAccessibleName(tr("Undo choice"));
    redo_->setText(QStringLiteral("\u21b7"));
    redo_->setToolTip(tr("Choose again what was undone (Ctrl+Shift+Z)"));
    redo_->setAccessibleName(tr("Redo choice"));
    run_->setFixedWidth(58);
    search_->setPlaceholderText(tr("Find (Ctrl+F)"));
    search_->setClearButtonEnabled(true);
    region_->setAccessibleName(tr("Region"));
    policy_->setAccessibleName(tr("Policy"));
    policy_->lineEdit()->setAccessibleName(tr("Policy"));
    donate_->setAccessibleName(tr("Donate"));
    search_->setAccessibleName(tr("Find"));
    const auto between = [](QWidget* box, int least, int most) {
        box->setMinimumWidth(least);
        box->setMaximumWidth(most);
        box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    };
    between(region_, 96, 176);
    between(policy_, 120, 216);
    between(donate_, 100, 200);
    between(search_, 90, 180);
    for (QToolButton* button : {undo_, redo_}) button->setFixedWidth(28);
    for (QWidget* box : std::initializer_list<QWidget*>{region_, policy_, donate_, undo_, redo_, run_, search_}) box->setFixedHeight(26);
    for (QLabel* name : {title_, subtitle_, busy_}) {
        name->setMinimumWidth(20);
        name->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    }
    subtitle_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    build_targets();
    lay_out();

    connect(session_, &Session::opened, this, &TopBar::fill);
    connect(session_, &Session::choices_changed, this, &TopBar::show_choices);
    connect(session_, &Session::choices_changed, this, &TopBar::show_peak);  // which is not yet theirs
    connect(session_, &Session::updated, this, &TopBar::show_peak);
    connect(session_, &Session::updated, this, &TopBar::show_places);
    connect(session_, &Session::running_changed, this, &TopBar::show_peak);
    connect(run_, &QToolButton::clicked, this, [this] { session_->running() ? session_->stop_run() : session_->run(); });
    connect(session_, &Session::busy_changed, this, [this](const QString& what) {
        looking_ = what;
        tell_work();
    });
    connect(session_, &Session::running_changed, this, &TopBar::tell_work);
    each_second_.setInterval(1000);
    connect(&each_second_, &QTimer::timeout, this, &TopBar::tell_work);
    connect(region_, QOverload<int>::of(&QComboBox::activated), this, &TopBar::choose_region);
    connect(policy_, QOverload<int>::of(&QComboBox::activated), this, [this] { enter_policy(policy_->currentText()); });
    connect(policy_->lineEdit(), &QLineEdit::returnPressed, this, [this] { enter_policy(policy_->currentText()); });
    connect(policy_->lineEdit(), &QLineEdit::textEdited, this, [this] { policy_head_->setText(tr("Policy (Enter applies it)")); });
    connect(policy_->lineEdit(), &QLineEdit::editingFinished, this, &TopBar::show_policy);
    connect(undo_, &QToolButton::clicked, session_, &Session::undo);
    connect(redo_, &QToolButton::clicked, session_, &Session::redo);
    on_theme_change(this, &TopBar::restyle);
    restyle();
    fill();
}

/// What is at work, and from the first second on for how long.
void TopBar::tell_work() {
    const QString work = !looking_.isEmpty() ? looking_ : session_->running() ? tr("Running") : QString();
    if (work != work_) {
        work_ = work;
        since_.start();
        work.isEmpty() ? each_second_.stop() : each_second_.start();
    }
    const qint64 seconds = since_.isValid() ? since_.elapsed() / 1000 : 0;
    busy_->setText(work.isEmpty() ? QString() : seconds < 1 ? work + QStringLiteral("\u2026") : tr("%1\u2026 %2 s").arg(work).arg(seconds));
}

void TopBar::lay_out() {
    auto* names = new QVBoxLayout;
    names->setSpacing(1);
    names->addWidget(title_);
    auto* under = new QHBoxLayout;
    under->addWidget(subtitle_);
    under->addWidget(busy_, 1);
    names->addLayout(under);
    constexpr int kFiguresWidth = 216;
    auto* figures = new QWidget;
    figures->setFixedWidth(kFiguresWidth);
    auto* lines = new QGridLayout(figures);
    lines->setContentsMargins(0, 0, 0, 0);
    lines->setHorizontalSpacing(8);
    lines->setVerticalSpacing(1);
    auto* over = new QHBoxLayout;  // what was measured may be wider than the column of the difference
    // Qt gives a button's text a space at each side: it stands over its figure without.
    over->setContentsMargins(-QFontMetrics(head_font()).horizontalAdvance(QLatin1Char(' ')), 0, 0, 0);
    over->addWidget(target_);
    over->addWidget(measured_label_, 1, Qt::AlignRight);
    lines->addLayout(over, 0, 0, 1, 2);
    lines->addWidget(peak_, 1, 0);
    lines->addWidget(difference_label_, 1, 1, Qt::AlignRight);
    lines->setColumnStretch(1, 1);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 5, 16, 5);
    row->setSpacing(8);
    row->addLayout(names, 7);
    row->addWidget(titled(tr("Region"), region_), 4);
    row->addWidget(titled(tr("Policy"), policy_), 5);
    policy_head_ = heads_.back();
    row->addWidget(titled(tr("Donate"), donate_), 4);
    row->addWidget(titled(QString(), undo_));
    row->addWidget(titled(QString(), redo_));
    row->addWidget(titled(QString(), run_));
    row->addWidget(titled(QString(), search_), 4);
    found_head_ = heads_.back();
    row->addWidget(figures);
}

/// The machine's own plan, and the devices that estimates were measured for.
void TopBar::build_targets() {
    auto* menu = new QMenu(this);
    const auto add = [&](const QString& text, const TargetDevice* device) {
        QAction* action = menu->addAction(text);
        action->setCheckable(true);
        action->setData(device != nullptr ? QString::fromUtf8(device->name) : QString());
        connect(action, &QAction::triggered, this, [this, device] { session_->choose_target(device); });
    };
    add(tr("this machine: jaxscope's CPU JIT"), nullptr);
    for (const TargetDevice& device : target_devices()) add(tr("estimated for %1").arg(QString::fromUtf8(device.name)), &device);
    target_->setMenu(menu);
    target_->setPopupMode(QToolButton::InstantPopup);
    target_->setAccessibleName(tr("Device of the peak"));
}

void TopBar::show_target() {
    const TargetDevice* device = session_->choices().jit.target;
    const QString name = device != nullptr ? QString::fromUtf8(device->name) : QString();
    target_->setText(device != nullptr ? tr("Peak, est. %1").arg(name) : tr("Peak"));
    target_->setToolTip(device != nullptr ? tr("Estimated for %1: %2").arg(name, QString::fromUtf8(device->accuracy))
                                          : tr("Planned for this machine; the menu estimates for an accelerator"));
    target_->setEnabled(session_->program() != nullptr);
    for (QAction* action : target_->menu()->actions()) action->setChecked(action->data().toString() == name);
}

void TopBar::show_found(const QString& text) { found_head_->setText(text); }

QWidget* TopBar::titled(const QString& title, QWidget* box) {
    auto* holder = new QWidget;
    holder->setMaximumWidth(box->maximumWidth());  // what a wide screen has more belongs to the title
    auto* column = new QVBoxLayout(holder);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(1);
    auto* head = new QLabel(title);
    if (!title.isEmpty()) head->setBuddy(box);  // screen readers call a box by its label, and its own name is what is chosen in it
    head->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // what it says moves no box
    heads_.push_back(head);
    column->addWidget(head);
    column->addWidget(box);
    return holder;
}

void TopBar::restyle() {
    const Palette& p = theme().palette();
    const auto colour = [](const char* c) { return QStringLiteral("color: %1").arg(QLatin1String(c)); };
    setStyleSheet(
        QStringLiteral("jaxscope--views--TopBar { background: %1; border-bottom: 1px solid %2; }"
                       "QToolButton { color: %3; background: %1; border: 1px solid %2; border-radius: 4px; padding: 2px 8px; }"
                       "QToolButton:disabled { color: %4; } QToolButton:focus { border-color: %5; } QToolButton::menu-indicator { width: "
                       "10px; subcontrol-position: right center; right: 6px; "
                       "}")
            .arg(QLatin1String(p.panel), QLatin1String(p.rule), QLatin1String(p.ink), QLatin1String(p.muted), QLatin1String(p.known)));
    for (QLabel* head : heads_) {
        head->setFont(head_font());
        head->setStyleSheet(colour(p.muted));
    }
    title_->setFont(text_font(14, true));
    subtitle_->setFont(text_font(11));
    subtitle_->setStyleSheet(colour(p.muted));
    busy_->setStyleSheet(colour(p.muted));
    target_->setFont(head_font());
    target_->setStyleSheet(head_menu_style());
    target_->setFixedHeight(heads_.front()->sizeHint().height());  // a head as the others, and over a figure as high as their boxes
    peak_->setFont(mono_font(14));
    peak_->setFixedHeight(region_->height());
    difference_label_->setFont(text_font(11, true));
    measured_label_->setFont(text_font(11));
    measured_label_->setStyleSheet(colour(p.muted));
    show_peak();
}

void TopBar::fill() {
    filling_ = true;
    const ProgramPtr program = session_->program();
    title_->setText(program ? utf8(program_title(*program)) : QStringLiteral("jaxscope"));
    subtitle_->setText(program ? utf8(program_subtitle(*program)) : tr("no program open"));
    region_->clear();
    fill_policies({});
    donate_menu_->clear();
    if (program) {
        fill_regions(*program);
        for (std::size_t a = 0; a < program->arg_names.size(); ++a) {
            QAction* action = donate_menu_->addAction(utf8(program->arg_names[a].str()));
            action->setCheckable(true);
            action->setData(static_cast<int>(a));
            connect(action, &QAction::toggled, this, &TopBar::choose_donation);
        }
    }
    for (QWidget* box : std::initializer_list<QWidget*>{region_, policy_, donate_, search_}) box->setEnabled(program != nullptr);
    filling_ = false;
    show_choices();
    show_peak();
}

/// Those that mean something in this function, and no others.
void TopBar::fill_policies(const PolicyPlaces& places) {
    const bool was_filling = std::exchange(filling_, true);
    offered_ = places;
    policy_->clear();
    policy_->addItems(offered_policies(places));
    filling_ = was_filling;
}

/// What the function has room for is known once it was looked at.
void TopBar::show_places() {
    const std::optional<PolicyPlaces>& places = session_->current().places;
    if (!places || (places->blocks == offered_.blocks && places->inside == offered_.inside)) return;
    if (policy_->view()->isVisible() || policy_->lineEdit()->isUndoAvailable()) return;  // not under somebody's hands
    fill_policies(*places);
    show_policy();
}

void TopBar::fill_regions(const Program& program) {
    const QString as_it_is = tr("the program as it is"), differentiated = tr("the program, differentiated");
    if (!is_differentiated(program)) {
        region_->addItem(as_it_is, region_data(Choices::kAuto, false));
        region_->addItem(differentiated, region_data(Choices::kAuto, true));
        return;
    }
    region_->addItem(tr("automatic"), region_data(Choices::kAuto, true));
    region_->addItem(as_it_is, region_data(Choices::kProgram, false));
    region_->addItem(differentiated, region_data(Choices::kProgram, true));
    for (std::size_t r = 0; r < program.regions.size(); ++r) {
        const Region& region = program.regions[r];
        std::string text = region.name.str() + " \u00b7 wrt";
        for (const int arg : region.wrt)
            text += ' ' + (static_cast<std::size_t>(arg) < region.arg_names.size() ? region.arg_names[static_cast<std::size_t>(arg)].str()
                                                                                   : std::to_string(arg));
        region_->addItem(utf8(text), region_data(static_cast<int>(r), true));
    }
}

/// The arguments that the program itself donates: all leaves of an argument, or some.
static std::vector<bool> donated_arguments(const Program& program) {
    std::vector<bool> donated(program.arg_names.size(), false);
    for (std::size_t leaf = 0; leaf < program.donated.size() && leaf < program.arg_of_input.size(); ++leaf) {
        const auto arg = static_cast<std::size_t>(program.arg_of_input[leaf]);
        if (program.donated[leaf] && arg < donated.size()) donated[arg] = true;
    }
    return donated;
}

void TopBar::show_choices() {
    const ProgramPtr program = session_->program();
    undo_->setEnabled(session_->can_undo());
    redo_->setEnabled(session_->can_redo());
    if (!program) return;
    filling_ = true;
    const Choices& choices = session_->choices();
    const int region = is_differentiated(*program) ? choices.region : Choices::kAuto;  // there it is one and the same
    region_->setCurrentIndex(std::max(0, region_->findData(region_data(region, choices.as_step))));
    show_policy();
    std::vector<bool> donated = donated_arguments(*program);
    if (choices.donate) {
        std::fill(donated.begin(), donated.end(), false);
        for (const int a : *choices.donate)
            if (a >= 0 && static_cast<std::size_t>(a) < donated.size()) donated[static_cast<std::size_t>(a)] = true;
    }
    QStringList names;
    for (QAction* action : donate_menu_->actions()) {
        const bool on = donated[static_cast<std::size_t>(action->data().toInt())];
        action->setChecked(on);
        if (on) names << action->text();
    }
    const auto kept = static_cast<int>(choices.kept_back.size());
    const QString less = kept == 0 ? QString() : kept == 1 ? tr(" less one leaf") : tr(" less %1 leaves").arg(kept);
    donate_->setText(names.isEmpty() ? tr("nothing") : names.join(QStringLiteral(", ")) + less);
    filling_ = false;
}

void TopBar::show_policy() {
    const QString applied = applied_policy();
    policy_head_->setText(tr("Policy"));
    if (policy_->currentText() == applied && !policy_->lineEdit()->isUndoAvailable()) return;
    if (const int index = policy_->findText(applied); index >= 0) policy_->setCurrentIndex(index);
    policy_->setEditText(applied);  // and forgets what was typed
    policy_->lineEdit()->setCursorPosition(0);
}

QString TopBar::applied_policy() const {
    const QString budget = session_->fitted_row(session_->choices());
    return budget.isEmpty() ? policy_box_words(session_->choices()) : budget;
}

void TopBar::choose_policy(int index) { enter_policy(policy_->itemText(index)); }

void TopBar::edit_policy(const QString& text) {
    policy_->setEditText(text);
    policy_head_->setText(tr("Policy (Enter applies it)"));
    policy_->setFocus();
}

Choices TopBar::choices_under(const QString& policy) const {
    Choices choices = session_->choices();
    choices.clear_policies();
    if (const Choices* budget = session_->fitted_choices(policy)) {
        choices.by_hand = budget->by_hand;
        choices.marked_at = budget->marked_at;
        return choices;
    }
    choose_by_words(choices, policy.trimmed());
    return choices;
}

void TopBar::enter_policy(const QString& entered, bool differentiated) {
    if (filling_ || !session_->program()) return;
    try {
        Choices choices = choices_under(entered);
        choices.as_step = choices.as_step || differentiated;
        session_->choose(choices);
    } catch (const Error& e) {
        show_policy();
        Q_EMIT policy_problem(in_words(e), entered.trimmed(), applied_policy());
        return;
    }
    show_policy();
}

void TopBar::choose_region() {
    if (filling_ || !session_->program()) return;
    Choices choices = session_->choices();
    const QPoint chosen = region_->currentData().toPoint();
    choices.region = chosen.x();
    choices.as_step = chosen.y() != 0;
    if (!choices.as_step) choices.clear_policies();  // which are about what is saved for a gradient
    session_->choose(choices);
}

void TopBar::differentiate(bool on) {
    const ProgramPtr program = session_->program();
    if (!program) return;
    const QVariant wanted = !is_differentiated(*program) ? region_data(Choices::kAuto, on)
                            : on                         ? region_data(Choices::kAuto, true)
                                                         : region_data(Choices::kProgram, false);
    region_->setCurrentIndex(region_->findData(wanted));
    choose_region();
}

void TopBar::choose_donation() {
    if (filling_ || !session_->program()) return;
    Choices choices = session_->choices();
    std::vector<int> donate;
    const std::vector<bool> own = donated_arguments(*session_->program());
    bool changed = false;
    for (QAction* action : donate_menu_->actions()) {
        const int a = action->data().toInt();
        if (action->isChecked()) donate.push_back(a);
        changed = changed || action->isChecked() != own[static_cast<std::size_t>(a)];
    }
    choices.donate.reset();
    if (changed) choices.donate = donate;
    session_->choose(choices);
}

void TopBar::show_peak() {
    show_target();
    const Palette& p = theme().palette();
    const Look &now = session_->current(), &before = session_->as_it_is();
    if (now.inspection && region_->count() > kDifferentiatedRow + 1) {
        const auto region = chosen_region(*session_->program(), {});
        region_->setItemText(0, region ? utf8(session_->program()->regions[static_cast<std::size_t>(*region)].name.str()) + tr(" (auto)")
                                       : tr("the program, differentiated (auto)"));
    }
    peak_->setText(now.plan ? utf8(bytes_text(now.plan->planned_peak)) : QStringLiteral("\u2014"));
    // Figures of the choice before this one stay until there are others, greyed.
    peak_->setStyleSheet(QStringLiteral("color: %1").arg(QLatin1String(session_->shows_choices() ? p.ink : p.muted)));
    const auto problem = now.problems.find("memory");
    peak_->setToolTip(
        problem != now.problems.end() ? *problem
        : now.plan && now.plan->target != nullptr
            ? tr("Estimated for %1: %2").arg(QString::fromUtf8(now.plan->target->name), QString::fromUtf8(now.plan->target->accuracy))
        : now.plan
            ? tr("Planned peak of %1 on jaxscope's CPU JIT: arguments, outputs and temporaries").arg(utf8(words(now.inspection->step().of)))
            : QString());
    QString difference;
    const char* colour = p.muted;
    if (now.plan && before.plan && now.plan != before.plan && before.plan->planned_peak > 0) {
        const std::int64_t change = now.plan->planned_peak - before.plan->planned_peak;
        const double percent = 100.0 * static_cast<double>(change) / static_cast<double>(before.plan->planned_peak);
        difference = std::abs(percent) < 0.05 ? tr("same as is")
                                              : QStringLiteral("%1%2 % vs as is")
                                                    .arg(change < 0 ? QStringLiteral("\u2212") : QStringLiteral("+"))
                                                    .arg(std::abs(percent), 0, 'f', std::abs(percent) < 10 ? 1 : 0);
        if (std::abs(percent) >= 0.05) colour = change < 0 ? p.donated_text : change > 0 ? p.unknown_text : p.muted;
    }
    if (now.step && now.step->lacks_gradient) difference = tr("not differentiable");
    difference_ = difference;
    difference_label_->setText(difference);
    difference_label_->setStyleSheet(QStringLiteral("color: %1").arg(QLatin1String(colour)));
    show_run();
}

/// What the button does, and what the last run measured.
void TopBar::show_run() {
    const Look& now = session_->current();
    const QString too_large = session_->too_large();
    const QString why =
        now.problems.value(QStringLiteral("run"), too_large.isEmpty() ? now.problems.value(QStringLiteral("memory")) : too_large);
    run_->setText(session_->running() ? tr("Stop") : tr("Run"));
    run_->setEnabled(session_->running() || session_->can_run());
    run_->setToolTip(session_->running() ? tr("Stop the run (Ctrl+R)")
                     : now.plan && now.plan->target
                         ? tr("Nothing is run: the figures are estimated for %1").arg(QString::fromUtf8(now.plan->target->name))
                     : now.done && !session_->can_run() ? tr("Nothing can be run: %1").arg(why)
                                                        : tr("Run on jaxscope's CPU JIT, and measure peak and time (Ctrl+R)"));
    measured_.clear();
    if (session_->running())
        measured_ = tr("running\u2026");
    else if (now.run)
        measured_ =
            utf8((now.run->result.measured_peak ? "measured " + bytes_text(*now.run->result.measured_peak) : std::string("not measured")) +
                 ", " + seconds_text(now.run->result.median_seconds));
    else if (now.problems.contains(QStringLiteral("run")))
        measured_ = tr("not run");
    else if (now.plan)
        for (const SpaceUse& use : now.plan->spaces)
            if (use.space == MemorySpace::Host) measured_ = tr("%1 of it on the host").arg(utf8(bytes_text(use.peak)));
    constexpr int kRoom = 170;
    measured_label_->setText(measured_label_->fontMetrics().elidedText(measured_, Qt::ElideRight, kRoom));
    QString in_whole = measured_;
    if (now.run && now.plan && now.step)
        if (const std::string difference = memory_report(*now.step, *now.plan, now.run.get()).difference; !difference.empty())
            in_whole += QStringLiteral("\n") + utf8(difference);
    measured_label_->setToolTip(now.problems.contains(QStringLiteral("run")) ? why : in_whole);
}

}  // namespace jaxscope::views
