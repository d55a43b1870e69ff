"""
For pytest: everything in ferry memory and through its loops when FERRY_SUITE is "ferry"; who failed is written to the
file FERRY_SUITE_OUTCOMES.
"""
import json
import os

if os.environ.get("FERRY_SUITE") == "ferry":
    import ferry
    ferry.install(threshold=0, length=0)

_outcomes = {"passed": 0, "failed": {}}


def _note(name, report):
    if report.failed:
        _outcomes["failed"][name] = str(report.longrepr)[-3000:]
    elif getattr(report, "when", "") == "call" and report.passed:
        _outcomes["passed"] += 1


def pytest_runtest_logreport(report):
    _note(report.nodeid, report)


def pytest_collectreport(report):
    _note(report.nodeid, report)


def pytest_sessionfinish():
    if os.environ.get("FERRY_SUITE") == "ferry":
        _outcomes["launches"] = sum(loop.launches for loop in ferry.loops())
    with open(os.environ["FERRY_SUITE_OUTCOMES"], "w") as file:
        json.dump(_outcomes, file)
