"""The README of an export: where it came from, to the step and the hash, and how to load it."""

from __future__ import annotations

import json

from engine.training.export.source import ExportSource

_LOAD = {
    "peft": """from peft import AutoPeftModelForCausalLM
from transformers import AutoTokenizer

model = AutoPeftModelForCausalLM.from_pretrained("PATH")
tokenizer = AutoTokenizer.from_pretrained("PATH")""",
    "merged": """from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("PATH")
tokenizer = AutoTokenizer.from_pretrained("PATH")""",
}


def model_card(source: ExportSource, export_format: str) -> str:
    """Markdown with the front matter that the Hub reads. Names no path of this machine and no secret."""
    recipe, state = source.recipe, source.manifest.state
    base = recipe.model.label()
    front = [f"base_model: {json.dumps(base)}"] if recipe.model.source == "hub" else []
    front += [
        "library_name: " + ("peft" if export_format == "peft" else "transformers"),
        "pipeline_tag: text-generation",
    ]
    method = f"LoRA, rank {recipe.lora_rank}, alpha {recipe.lora_alpha:g}" if recipe.method == "lora" else "full"
    facts = {
        "Base model": base + (f" at {recipe.model.revision}" if recipe.model.revision else ""),
        "Method": method,
        "Run": f"{source.run_name} ({source.run})" if source.run_name else source.run,
        "Checkpoint": f"step {state.step}, sha256 `{source.checkpoint_sha256}`",
        "Trained tokens": f"{state.trained_tokens:,}",
        "Evaluation loss": "–" if state.evaluation_loss is None else f"{state.evaluation_loss:.4f}",
    }
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts.items())
    title = source.run_name or f"{base}, fine-tuned"
    return (
        "---\n" + "\n".join(front) + "\n---\n\n"
        f"# {title}\n\nFine-tuned with Anneal Studio.\n\n| | |\n|---|---|\n{rows}\n\n"
        f"```python\n{_LOAD[export_format]}\n```\n"
    )
