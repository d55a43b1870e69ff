"""
For pytest: everything in ferry memory and through its loops when FERRY_SUITE is "ferry"; who failed is written to the
file FERRY_SUITE_OUTCOMES.
"""
import json
import os

import pytest

if os.environ.get("FERRY_SUITE") == "ferry":
    import ferry
    ferry.install(threshold=0, length=0)

_outcomes = {"passed": 0, "failed": {}, "launches": 0}


def _note(name, report):
    if report.failed:
        _outcomes["failed"][name] = str(report.longrepr)[-3000:]
    elif getattr(report, "when", "") == "call" and report.passed:
        _outcomes["passed"] += 1


def pytest_runtest_logreport(report):
    _note(report.nodeid, report)


def pytest_collectreport(report):
    _note(report.nodeid, report)


def _own_launches():
    return sum(loop.launches for loop in ferry.loops()) if os.environ.get("FERRY_SUITE") == "ferry" else 0


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """A worker of pytest-xdist's has ended: it has launched what its tests launched."""
    _outcomes["launches"] += getattr(node, "workeroutput", {}).get("launches", 0)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["launches"] = _own_launches()
        return
    _outcomes["launches"] += _own_launches()
    with open(os.environ["FERRY_SUITE_OUTCOMES"], "w") as file:
        json.dump(_outcomes, file)
