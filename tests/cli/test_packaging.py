"""What is handed to a desktop and to package managers: its files are well-formed, name what is there, and agree on the version."""
import configparser
import json
import re
import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import BINARY, ROOT

PACKAGING = ROOT / "packaging"
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.fixture(scope="module")
def desktop():
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str
    entry.read(PACKAGING / "jaxscope.desktop")
    return entry["Desktop Entry"]


def test_the_version_stands_in_one_place():
    version = re.search(r'^VERSION = "(.+)"', (ROOT / "app" / "capture" / "jaxscope" / "version.py").read_text(), re.M)[1]
    assert subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout.split()[-1] == version
    assert version in (ROOT / "CHANGELOG.md").read_text()
    release = ElementTree.parse(PACKAGING / "org.jaxscope.jaxscope.metainfo.xml").find("releases/release")
    assert release.get("version") == version
    assert version not in (ROOT / "CMakeLists.txt").read_text() + (ROOT / "pyproject.toml").read_text()


def test_the_desktop_opens_what_the_mime_types_name(desktop):
    types = {t.get("type") for t in ElementTree.parse(PACKAGING / "jaxscope-mime.xml").iter(MIME + "mime-type")}
    assert set(filter(None, desktop["MimeType"].split(";"))) == types
    component = ElementTree.parse(PACKAGING / "org.jaxscope.jaxscope.metainfo.xml").getroot()
    assert {m.text for m in component.iter("mediatype")} == types
    assert component.find("launchable").text == "jaxscope.desktop"


def test_the_icon_is_installed_under_its_name(desktop):
    install = (ROOT / "cmake" / "Install.cmake").read_text()
    assert desktop["Icon"] == "jaxscope" and "packaging/jaxscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps" in install
    assert ElementTree.parse(PACKAGING / "jaxscope.svg").getroot().get("viewBox")


def test_the_wheel_brings_programs_that_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for points in (project["scripts"], project["entry-points"]["pytest11"]):
        for target in points.values():
            module, _, function = target.partition(":")
            file = ROOT / "app" / "capture" / (module.replace(".", "/") + ".py")
            assert file.exists() and (not function or f"def {function}(" in file.read_text())


def test_presets_are_those_that_the_scripts_build():
    presets = {p["name"] for p in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"] if not p.get("hidden")}
    scripts = [(ROOT / script).read_text() for script in ("run.sh", "test.sh")]
    built = {m for text in scripts for m in re.findall(r"^ *build (\w+) |(?:release|preset)=(\w+)", text, re.M)}
    built = {name for pair in built for name in pair if name}
    assert built == {"asan", "tests", "full", "release", "fuzz", "tsan"} and built <= presets
