"""brokerlab completion SHELL"""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the completion script for SHELL.

    bash: eval "$(brokerlab completion bash)" in ~/.bashrc; zsh likewise; fish: brokerlab completion fish >
    ~/.config/fish/completions/brokerlab.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "brokerlab", "_BROKERLAB_COMPLETE").source())
    return 0
