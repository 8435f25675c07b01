"""Pages of the documentation that are generated from the code."""

import re

import typer
from typer.core import TyperGroup

from treaty.cli.main import app
from treaty.terms.reference import Key, keys

TREATY = """\
# treaty.toml

Every key of a treaty: what it means, what holds if it is not written, and what it does to privacy and to
the error. This page is generated from the code. `treaty init` writes a treaty from public rows, and
`treaty plan` chooses most of these keys by itself.
"""
COMMANDS = """\
# Commands

`treaty COMMAND --help` says the same. This page is generated from the code. Every command that cannot do
what is asked says so in one sentence, with exit code 2.
"""


def treaty_page() -> str:
    """Return the reference of treaty.toml."""
    parts, table = [TREATY], None
    for key in keys():
        if key.table != table:
            table = key.table
            parts.append(f"## {_heading(table)}\n")
        parts.append(_key(key))
    return "\n".join(parts)


def _heading(table: str) -> str:
    if not table:
        return "The document"
    return (
        f"`[{table}]`"
        if "," not in table
        else f"`[{table.split(',')[0]}]` with `{table.split(', ')[1]}`"
    )


def _key(key: Key) -> str:
    default = "must be written" if key.default is None else f"default: `{key.default}`"
    return (
        f"### `{key.name}`\n\n{_sentence(key.meaning)} ({default})\n\n"
        f"- Privacy: {key.effect.privacy}.\n- Error: {key.effect.error}.\n\n"
        f"```toml\n{key.effect.example}\n```\n"
    )


def _sentence(meaning: str) -> str:
    """Return a meaning as a sentence; a symbol at its beginning keeps its letter."""
    word = re.match(r"[^\W\d_]+", meaning)
    plain = word is not None and word[0].isascii() and word[0].islower() and len(word[0]) > 1
    symbol = word is not None and meaning[word.end() : word.end() + 1] == "_"
    return meaning[:1].upper() + meaning[1:] if plain and not symbol else meaning


def commands_page() -> str:
    """Return the reference of the command line."""
    group = typer.main.get_command(app)
    parts = [COMMANDS]
    for name, command in _commands(group, "treaty"):
        parts.append(f"## {name}\n")
        help_text = re.sub(r"\n{3,}", "\n\n", (command.help or "").strip())
        words, _, example = help_text.partition("Example:")
        parts.append(words.strip() + "\n")
        if example.strip():
            lines = [" ".join(block.split()) for block in example.strip().split("\n\n")]
            parts.append("```console\n" + "\n".join(f"$ {line}" for line in lines) + "\n```\n")
        rows = []
        for parameter in command.params:
            record = [
                ", ".join(getattr(parameter, "opts", [])),
                getattr(parameter, "help", "") or "",
            ]
            if record[0] != "--help":
                rows.append(f"| `{record[0]}` | {record[1].replace('|', '/')} |")
        if rows:
            parts.append("| | |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _commands(group, path):
    for name, command in sorted(group.commands.items()):
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command
