// SPDX-License-Identifier: Apache-2.0
#include "topbar/policy_words.h"

#include <QCoreApplication>

#include "theme/theme.h"
#include "transforms/policies.h"

namespace jaxscope::views {
namespace {

/// Policies that take no arguments and mean something on any program; others are typed.
constexpr const char* kOffered[] = {"nothing_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "everything_saveable"};
const QString kAsItIs = QStringLiteral("as it is");

enum class Scope { Around, EachBlock, Inside };

QString tr(const char* text) { return QCoreApplication::translate("jaxscope::views::TopBar", text); }

}  // namespace

QStringList offered_policies(const PolicyPlaces& places) {
    QStringList out{kAsItIs};
    const auto offer = [&](const QString& where) {
        for (const char* name : kOffered) out << where.arg(name);
    };
    offer(tr("around: %1"));
    if (places.blocks) offer(tr("each block: %1"));
    if (places.inside) offer(tr("inside: %1"));
    return out;
}

QString policy_box_words(const Choices& choices) {
    if (choices.policy)
        return choices.each_block ? utf8(jaxscope::policy_words(choices)) : tr("around: %1").arg(utf8(policy_text(*choices.policy)));
    if (choices.by_hand)
        return choices.by_hand->size() == 1 ? tr("by hand: one value") : tr("by hand: %1 values").arg(choices.by_hand->size());
    if (choices.replace_policy.empty()) return kAsItIs;
    const PolicyPtr& inside = choices.replace_policy.front().policy;
    return tr("inside: %1").arg(inside ? utf8(policy_text(*inside)) : QStringLiteral("none"));
}

void choose_by_words(Choices& choices, QString text) {
    Scope scope = Scope::Around;
    if (text.startsWith(QStringLiteral("inside:"))) scope = Scope::Inside;
    if (text.startsWith(QStringLiteral("each block:"))) scope = Scope::EachBlock;
    if (const int colon = text.indexOf(':'); colon > 0) text = text.mid(colon + 1).trimmed();
    const PolicyPtr named = text.isEmpty() || text == kAsItIs ? nullptr : parse_policy(text.toStdString());
    choices.each_block = scope == Scope::EachBlock && named;
    if (scope != Scope::Inside)
        choices.policy = named;
    else
        choices.replace_policy.push_back({{}, named});
}

}  // namespace jaxscope::views
