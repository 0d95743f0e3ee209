"""``tunecheck completion``: scripts for bash, zsh and fish, printed, or installed with the man page."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import Misuse, UsageError

__all__ = ["completion"]

#: Shell -> its file below PREFIX, where it looks by itself.
_PLACES = {"bash": "bash-completion/completions/tunecheck", "zsh": "zsh/site-functions/_tunecheck",
           "fish": "fish/vendor_completions.d/tunecheck.fish"}
_MAN = "man/man1/tunecheck.1"


@click.command()
@click.argument("shell", type=click.Choice(list(_PLACES)), required=False)
@click.option("--install", "prefix", metavar="PREFIX", help="Write all three and the man page below PREFIX, for "
              "example /usr/local/share (as root) or ~/.local/share.")
def completion(shell: str | None, prefix: str | None) -> None:
    """Print the completion script of a shell, or install them all.

    It completes verbs, options, check ids and hosts of the inventory. For this shell only: source <(tunecheck
    completion bash)"""
    if (shell is None) == (prefix is None):
        raise UsageError("completion needs a shell (bash, zsh, fish) or --install PREFIX: give one of them",
                         Misuse.LEFT_OUT)
    if shell is not None:
        click.echo(script(shell))
        return
    from ..util.safe_files import replace
    from .man import page

    made = {**{place: script(name) + "\n" for name, place in _PLACES.items()}, _MAN: page()}
    for place, content in made.items():
        file = Path(prefix or "").expanduser() / place
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            replace(str(file), content.encode(), 0o644)
        except OSError as error:
            raise UsageError(f"{file}: cannot be written ({error.strerror}); as root, or --install ~/.local/share",
                             Misuse.UNWRITABLE) from None
        click.echo(f"installed: {file}")


def script(shell: str) -> str:
    """Return the script of one shell. It asks tunecheck itself, so it never grows old."""
    from click.shell_completion import get_completion_class

    from .main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(cli, {}, "tunecheck", "_TUNECHECK_COMPLETE")
    # source() of bash would start a bash to ask for its version; the machine that reads the script may be another one.
    return made.source_template % made.source_vars()
