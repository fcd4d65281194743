// SPDX-License-Identifier: Apache-2.0
#include "session/kept_choices.h"

#include <QJsonArray>
#include <algorithm>

#include "base/error.h"
#include "jit/targets.h"
#include "theme/theme.h"
#include "transforms/policies.h"

namespace jaxscope::views {
namespace {

const QString kRegion = QStringLiteral("region"), kNumber = QStringLiteral("number"), kName = QStringLiteral("name"),
              kWrt = QStringLiteral("wrt"), kWrtAll = QStringLiteral("wrt_all"), kPolicy = QStringLiteral("policy"),
              kInside = QStringLiteral("inside"), kSite = QStringLiteral("site"), kByHand = QStringLiteral("by_hand"),
              kPlace = QStringLiteral("place"), kPrimitive = QStringLiteral("primitive"), kAval = QStringLiteral("aval"),
              kOffload = QStringLiteral("offload"), kMarkedAt = QStringLiteral("marked_at"), kDonate = QStringLiteral("donate"),
              kKeptBack = QStringLiteral("kept_back"), kTarget = QStringLiteral("target"),
              kDifferentiated = QStringLiteral("differentiated");

/// The arguments that `wrt` numbers: the chosen region's, or the program's.
const std::vector<Sym>& arguments_of(const Choices& choices, const Program& program) {
    const bool is_region = choices.region >= 0 && static_cast<std::size_t>(choices.region) < program.regions.size();
    return is_region ? program.regions[static_cast<std::size_t>(choices.region)].arg_names : program.arg_names;
}

QJsonArray names_of(const std::vector<int>& arguments, const std::vector<Sym>& names) {
    QJsonArray out;
    for (const int a : arguments)
        if (a >= 0 && static_cast<std::size_t>(a) < names.size()) out.append(utf8(names[static_cast<std::size_t>(a)].str()));
    return out;
}

std::vector<int> numbers_of(const QJsonArray& kept, const std::vector<Sym>& names, QStringList& lost) {
    std::vector<int> out;
    for (const QJsonValue& name : kept) {
        const auto found = std::find_if(names.begin(), names.end(), [&](const Sym& s) { return utf8(s.str()) == name.toString(); });
        if (found != names.end())
            out.push_back(static_cast<int>(found - names.begin()));
        else
            lost << QStringLiteral("argument %1").arg(name.toString());
    }
    return out;
}

/// Of those that share a name, the one that was the n-th of them.
int region_named(const QString& name, int nth, const Program& program) {
    for (std::size_t r = 0; r < program.regions.size(); ++r)
        if (utf8(program.regions[r].name.str()) == name && nth-- == 0) return static_cast<int>(r);
    return Choices::kAuto;
}

int nth_of_its_name(int region, const Program& program) {
    int nth = 0;
    for (int r = 0; r < region; ++r)
        nth += program.regions[static_cast<std::size_t>(r)].name == program.regions[static_cast<std::size_t>(region)].name;
    return nth;
}

/// Null where the text is no policy of today's, such as a function of the user's own.
PolicyPtr policy_again(const QString& text, QStringList& lost) {
    try {
        return parse_policy(text.toStdString());
    } catch (const Error&) {
        lost << QStringLiteral("policy %1").arg(text);
        return nullptr;
    }
}

void take_policy(const QJsonObject& kept, Choices& choices, QStringList& lost) {
    if (kept.contains(kPolicy)) {
        try {
            set_policy(choices, kept[kPolicy].toString().toStdString());
        } catch (const Error&) {
            choices.clear_policies();
            lost << QStringLiteral("policy %1").arg(kept[kPolicy].toString());
        }
    }
    for (const QJsonValue value : kept[kInside].toArray()) {
        const QJsonObject inside = value.toObject();
        const int before = lost.size();
        PolicyPtr policy = policy_again(inside[kPolicy].toString(), lost);
        if (lost.size() == before) choices.replace_policy.push_back({inside[kSite].toString().toStdString(), std::move(policy)});
    }
    if (!kept.contains(kByHand)) return;
    choices.clear_policies();  // which nothing stands beside
    choices.by_hand.emplace();
    const int at = kept[kMarkedAt].toInt();
    if (at >= 0 && at <= static_cast<int>(MarkedAt::Function)) choices.marked_at = static_cast<MarkedAt>(at);
    for (const QJsonValue value : kept[kByHand].toArray()) {
        const QJsonObject mark = value.toObject();
        choices.by_hand->push_back({mark[kPlace].toString().toStdString(), mark[kPrimitive].toString().toStdString(),
                                    mark[kAval].toString().toStdString(), mark[kOffload].toBool()});
    }
}

}  // namespace

QJsonObject kept_choices(const Choices& choices, const Program& program) {
    QJsonObject out;
    if (choices.region == Choices::kProgram) out[kRegion] = QStringLiteral("program");
    if (choices.region >= 0 && static_cast<std::size_t>(choices.region) < program.regions.size())
        out[kRegion] = QJsonObject{{kName, utf8(program.regions[static_cast<std::size_t>(choices.region)].name.str())},
                                   {kNumber, nth_of_its_name(choices.region, program)}};
    out[kDifferentiated] = choices.as_step;
    if (choices.wrt) out[kWrt] = names_of(*choices.wrt, arguments_of(choices, program));
    if (choices.wrt_all) out[kWrtAll] = true;
    if (choices.policy) out[kPolicy] = utf8(policy_words(choices));
    QJsonArray inside;
    for (const Choices::Replacement& r : choices.replace_policy)
        inside.append(QJsonObject{{kSite, utf8(r.site)}, {kPolicy, r.policy ? utf8(policy_text(*r.policy)) : QStringLiteral("none")}});
    if (!inside.isEmpty()) out[kInside] = inside;
    if (choices.by_hand) {
        QJsonArray marks;
        for (const HandMark& m : *choices.by_hand)
            marks.append(
                QJsonObject{{kPlace, utf8(m.place)}, {kPrimitive, utf8(m.primitive)}, {kAval, utf8(m.aval)}, {kOffload, m.offload}});
        out[kByHand] = marks;
        out[kMarkedAt] = static_cast<int>(choices.marked_at);
    }
    if (choices.donate) out[kDonate] = names_of(*choices.donate, program.arg_names);
    if (!choices.kept_back.empty()) out[kKeptBack] = names_of(choices.kept_back, program.in_paths);
    if (choices.jit.target != nullptr) out[kTarget] = QString::fromUtf8(choices.jit.target->name);
    return out;
}

Choices choices_again(const QJsonObject& kept, const Choices& plain, const Program& program, QStringList& lost) {
    Choices out = plain;
    if (const QJsonValue region = kept[kRegion]; region.isString()) {
        out.region = Choices::kProgram;
    } else if (region.isObject()) {
        const QString name = region.toObject()[kName].toString();
        out.region = region_named(name, region.toObject()[kNumber].toInt(), program);
        if (out.region == Choices::kAuto) lost << QStringLiteral("region %1").arg(name);
    }
    out.as_step = kept[kDifferentiated].toBool(plain.as_step);
    if (kept.contains(kWrt)) out.wrt = numbers_of(kept[kWrt].toArray(), arguments_of(out, program), lost);
    if (out.wrt && out.wrt->empty()) out.wrt.reset();
    out.wrt_all = kept[kWrtAll].toBool();
    take_policy(kept, out, lost);
    out.as_step = out.as_step || out.changes_program();  // of a workspace that didn't say so
    if (kept.contains(kDonate)) out.donate = numbers_of(kept[kDonate].toArray(), program.arg_names, lost);
    out.kept_back = numbers_of(kept[kKeptBack].toArray(), program.in_paths, lost);
    if (const QString target = kept[kTarget].toString(); !target.isEmpty()) {
        try {
            out.jit.target = &target_device(target.toStdString());
        } catch (const Error&) {
            lost << QStringLiteral("device %1").arg(target);
        }
    }
    return out;
}

}  // namespace jaxscope::views
