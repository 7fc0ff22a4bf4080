"""`python -m engine train|evaluate|export|generate|probe`: the one way into the engine from outside."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="engine", description="Anneal Studio's training engine.")
    commands = parser.add_subparsers(dest="command", required=True)

    train = commands.add_parser("train", help="run the next attempt of a run; events go to the run folder")
    train.add_argument("--run", type=Path, required=True, metavar="DIR")

    evaluate = commands.add_parser("evaluate", help="evaluation loss of a checkpoint, or of the untrained model")
    evaluate.add_argument("--run", type=Path, required=True, metavar="DIR")
    evaluate.add_argument("--checkpoint", default="best", metavar="best|last|base|STEP")

    export = commands.add_parser("export", help="write a checkpoint as a PEFT adapter or a merged model, and check it")
    export.add_argument("--run", type=Path, required=True, metavar="DIR")
    export.add_argument("--checkpoint", default="best", metavar="best|last|STEP")
    export.add_argument("--format", choices=("peft", "merged"), default="peft")
    export.add_argument("--out", type=Path, required=True, metavar="DIR")

    selftest = commands.add_parser("selftest", help="load an export afresh and compare it with the engine's answers")
    selftest.add_argument("--export", type=Path, required=True, metavar="DIR")
    selftest.add_argument("--reference", type=Path, required=True, metavar="FILE")

    generate = commands.add_parser("generate", help="answer prompts with a checkpoint or a model")
    what = generate.add_mutually_exclusive_group(required=True)
    what.add_argument("--run", type=Path, metavar="DIR")
    what.add_argument("--model", type=Path, metavar="DIR")
    generate.add_argument("--checkpoint", default="best", metavar="best|last|base|STEP")
    generate.add_argument("--prompt", action="append", required=True)
    generate.add_argument("--max-tokens", type=int, default=128)

    commands.add_parser("probe", help="measure this machine, for the planner")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code (see engine/README.md)."""
    given = _parser().parse_args(arguments)
    # Read by OpenMP when torch is first imported: threads that wait sleep instead of spinning. Beside other work (the
    # window, a browser) a product on two cores is then two to five times as fast; the numbers are the same.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    match given.command:
        case "train":
            from engine.training.train_run import train_run

            return train_run(given.run)
        case "evaluate":
            from engine.training.evaluate_run import evaluate_run

            return evaluate_run(given.run, given.checkpoint)
        case "export":
            from engine.training.export.export_run import export_run

            return export_run(given.run, given.checkpoint, given.format, given.out)
        case "selftest":
            from engine.training.export.selftest import selftest_export

            return selftest_export(given.export, given.reference)
        case "generate":
            from engine.training.generate_run import generate_run

            return generate_run(given.run, given.model, given.checkpoint, given.prompt, given.max_tokens)
        case _:
            from engine.training.probe import print_probe

            return print_probe()


if __name__ == "__main__":
    sys.exit(main())
