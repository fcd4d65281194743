// SPDX-License-Identifier: Apache-2.0
#include "app/cli/help_files.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/suggest.h"
#include "base/text.h"

namespace jaxscope::cli {

namespace {

struct OptionText {
    std::vector<std::string> names;  ///< "--policy", "-o"
    std::string help, value;         ///< value: empty for flags
};
struct CommandText {
    std::string name, help, usage, examples;
    std::vector<OptionText> options;
};

std::vector<OptionText> options_of(const CLI::App& app) {
    std::vector<OptionText> out;
    for (const CLI::Option* o : app.get_options()) {
        if (o->get_positional()) continue;
        OptionText text;
        for (const std::string& n : o->get_lnames()) text.names.push_back("--" + n);
        for (const std::string& n : o->get_snames()) text.names.push_back("-" + n);
        text.help = o->get_description();
        if (o->get_type_size() != 0) text.value = o->get_type_name();
        out.push_back(std::move(text));
    }
    return out;
}

std::vector<CommandText> commands_of(const CLI::App& app) {
    std::vector<CommandText> out;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        CommandText c{sub->get_name(), sub->get_description(), "", sub->get_footer(), options_of(*sub)};
        for (const CLI::Option* o : sub->get_options())
            if (o->get_positional()) c.usage += " " + (o->get_required() ? o->get_name(true) : "[" + o->get_name(true) + "]");
        out.push_back(std::move(c));
    }
    return out;
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
    std::string out;
    for (const std::string& w : words) out += (out.empty() ? "" : between) + w;
    return out;
}
std::string names(const std::vector<CommandText>& commands) {
    std::vector<std::string> all;
    for (const CommandText& c : commands) all.push_back(c.name);
    return joined(all);
}
std::string flags(const std::vector<OptionText>& options) {
    std::string out;
    for (const OptionText& o : options) out += (out.empty() ? "" : " ") + joined(o.names);
    return out;
}
/// In single quotes of a shell.
std::string quoted(std::string text, const char* quote) {
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += std::char_traits<char>::length(quote))
        text.replace(at, 1, quote);
    return "'" + text + "'";
}

std::string bash(const CLI::App& app) {
    const std::vector<CommandText> commands = commands_of(app);
    std::string out =
        "_jaxscope() {\n    local word=${COMP_WORDS[COMP_CWORD]} options=\n    COMPREPLY=()\n"
        "    if [[ $COMP_CWORD -eq 1 ]]; then\n";
    out += fmt::format("        COMPREPLY=($(compgen -W '{} {}' -- \"$word\"))\n        return\n    fi\n    case ${{COMP_WORDS[1]}} in\n",
                       names(commands), flags(options_of(app)));
    for (const CommandText& c : commands) out += fmt::format("        {}) options='{}' ;;\n", c.name, flags(c.options));
    out +=
        "    esac\n    if [[ $word == -* ]]; then\n        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
        "    else\n        COMPREPLY=($(compgen -f -- \"$word\"))\n    fi\n}\ncomplete -o filenames -F _jaxscope jaxscope\n";
    return out;
}

std::string zsh(const CLI::App& app) {
    // In a description of _arguments brackets and colons have a meaning.
    const auto described = [](std::string text) {
        std::string out;
        for (const char c : text) out += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        return out;
    };
    std::string out = "#compdef jaxscope\n_jaxscope() {\n    local -a commands\n    commands=(\n";
    const std::vector<CommandText> commands = commands_of(app);
    for (const CommandText& c : commands) out += "        " + quoted(c.name + ":" + described(c.help), "'\\''") + "\n";
    out +=
        "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n    local command=$words[2]\n"
        "    shift words; (( CURRENT-- ))\n    case $command in\n";
    for (const CommandText& c : commands) {
        out += fmt::format("        {}) _arguments", c.name);
        for (const OptionText& o : c.options)
            for (const std::string& n : o.names)
                out += " \\\n            " +
                       quoted(n + "[" + described(o.help) + "]" + (o.value.empty() ? "" : ":" + described(o.value) + ":_files"), "'\\''");
        out += " \\\n            '*:file:_files' ;;\n";
    }
    return out + "    esac\n}\n_jaxscope \"$@\"\n";
}

std::string fish(const CLI::App& app) {
    std::string out;
    for (const CommandText& c : commands_of(app)) {
        out += fmt::format("complete -c jaxscope -n __fish_use_subcommand -a {} -d {}\n", c.name, quoted(c.help, "\\'"));
        for (const OptionText& o : c.options)
            for (const std::string& n : o.names)
                out += fmt::format("complete -c jaxscope -n '__fish_seen_subcommand_from {}' {} {}{} -d {}\n", c.name,
                                   n.starts_with("--") ? "-l" : "-s", n.substr(n.starts_with("--") ? 2 : 1), o.value.empty() ? "" : " -r",
                                   quoted(o.help, "\\'"));
    }
    return out;
}

/// Text in a man page: dashes that are typed stay dashes, and no line begins with a macro.
std::string roff(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
        if (c == '\n') out += "\\&";
    }
    return "\\&" + out;
}

}  // namespace

std::string completions(const CLI::App& app, const std::string& shell) {
    if (shell == "bash") return bash(app);
    if (shell == "zsh") return zsh(app);
    if (shell == "fish") return fish(app);
    throw unknown_name(ErrorCode::BadUsage, "expected bash, zsh or fish after --completions", shell, {"bash", "zsh", "fish"});
}

std::string man_page(const CLI::App& app, const std::string& version) {
    std::string out = fmt::format(
        ".TH JAXSCOPE 1 \"\" \"jaxscope {}\"\n.SH NAME\njaxscope \\- {}\n.SH SYNOPSIS\n.B jaxscope\n.I COMMAND\n"
        "[arguments]\n.SH COMMANDS\n",
        version, roff(app.get_description()));
    for (const CommandText& c : commands_of(app)) {
        out += fmt::format(".SS jaxscope {}{}\n{}\n", c.name, roff(c.usage).substr(2), roff(c.help));
        for (const OptionText& o : c.options)
            out += fmt::format(".TP\n.BR {}\n{}\n",
                               roff("\"" + joined(o.names, ", ") + (o.value.empty() ? "" : " " + o.value) + "\"").substr(2), roff(o.help));
        if (!c.examples.empty()) out += ".PP\n.nf\n" + roff(c.examples) + "\n.fi\n";
    }
    out +=
        ".SH EXIT STATUS\n0 fine; 1 a check failed; 2 bad input or usage; 3 cannot execute or transform; 4 a bug in jaxscope; 130 "
        "Ctrl\\-C.\n";
    return out;
}

}  // namespace jaxscope::cli
