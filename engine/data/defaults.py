"""The two chat templates of ours, for models that bring none. They are used only where the recipe names them."""

from __future__ import annotations

CHATML_TOKENS = ("<|im_start|>", "<|im_end|>")

_BOS = "{{ bos_token }}"
_CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\n' }}"
    "{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}{{ '\n' }}"
    "{% else %}{{ message.content + '<|im_end|>\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_PLAIN = (
    "{% for message in messages %}"
    "{{ '### ' + message.role[0] | upper + message.role[1:] + ':\n' }}"
    "{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content + eos_token }}{% endgeneration %}{{ '\n\n' }}"
    "{% else %}{{ message.content + '\n\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '### Assistant:\n' }}{% endif %}"
)


def chatml(*, begins_with_bos: bool) -> str:
    """ChatML. `begins_with_bos` for models that expect every text to begin with their first token."""
    return (_BOS if begins_with_bos else "") + _CHATML


def plain(*, begins_with_bos: bool) -> str:
    """Headed paragraphs. An answer ends with the model's own end-of-text token, so that generation stops by habit."""
    return (_BOS if begins_with_bos else "") + _PLAIN
