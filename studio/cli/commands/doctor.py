"""`anneal doctor`: is everything here that the app needs?"""

from __future__ import annotations

import argparse
import os

from studio.app import Studio
from studio.cli.exit_codes import ExitCode
from studio.cli.output import Output
from studio.machine.doctor import examine, hub_address, versions

NAME = "doctor"
HELP = "check this machine and its set-up"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hub", action="store_true", help="also ask whether the Hub answers")
    parser.add_argument("--measure", action="store_true", help="measure how fast it is, for plans (a few seconds)")


def run(studio: Studio, given: argparse.Namespace, output: Output) -> ExitCode:
    """SURROUNDINGS where something does not work; what works with less is told and is DONE."""
    address = hub_address(studio.settings.load(), os.environ) if given.hub else None
    if given.measure:
        output.note("Measuring this machine.")
        studio.rates.measure(studio.machine())
    checks = examine(studio.home, os.environ, hub_address=address)
    output.result({"checks": checks, "versions": versions()})
    output.table(
        ["", "check", "found", "needed", "what to do"],
        [[check.state, check.label, check.found, check.needed, check.remedy] for check in checks],
    )
    machine = studio.machine()
    if machine.measured:
        flops, bandwidth = machine.matmul_flops / 1e9, machine.memory_bandwidth / 1e9
        output.text(f"Measured: {flops:,.0f} GFLOP/s in float32, {bandwidth:,.1f} GB/s of memory.")
    output.text()
    output.text(", ".join(f"{name} {version}" for name, version in versions().items()))
    return ExitCode.SURROUNDINGS if any(check.state == "bad" for check in checks) else ExitCode.DONE
