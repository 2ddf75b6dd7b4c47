"""The command ``apex-tui``: what can be asked, and how answers and errors leave the process.

stdout is data, stderr narration. One place maps errors to exit codes: 0 succeeded, 1 the workflow or a check failed, 2 the user's mistake,
3 the session is invalid.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from apex_tui import __version__
from apex_tui.timeline.errors import EXIT_USER, ApexError, UserError

app = typer.Typer(
    name="apex-tui",
    help="Run professional workflows against full-duplex voice agents, and watch the work and the talk on one clock.",
    no_args_is_help=False,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
workflows = typer.Typer(help="List, show and check workflows.", no_args_is_help=True, rich_markup_mode=None)
bank = typer.Typer(help="Render and verify the speech bank.", no_args_is_help=True, rich_markup_mode=None)
agents = typer.Typer(help="Which agents can be run.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(workflows, name="workflows")
app.add_typer(bank, name="bank")
app.add_typer(agents, name="agents")

Json = Annotated[bool, typer.Option("--json", help="Print data as JSON on stdout.")]
NameOrPath = Annotated[str, typer.Argument(help="A workflow's id, a recipe file, or an official package's folder.")]


def _version(value: bool) -> None:
    if value:
        print(__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    no_mouse: Annotated[bool, typer.Option("--no-mouse", help="Leave the mouse to the terminal.")] = False,
) -> None:
    """Open the app: choose a workflow, press Enter."""
    if context.invoked_subcommand is None:
        from apex_tui.cli import screen

        raise typer.Exit(screen.open_picker(mouse=not no_mouse))


@app.command()
def run(
    workflow: NameOrPath,
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="rehearsal, or openai (see 'agents list').")
    ] = "rehearsal",
    url: Annotated[
        str | None, typer.Option(help="Any server that speaks the protocol, such as ws://127.0.0.1:8765/v1/realtime.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The provider's model name.")] = None,
    seed: Annotated[int, typer.Option(help="Chooses wordings, gaps and the moment of interruptions.")] = 1,
    profile: Annotated[str, typer.Option(help="Environment profile: strict or official.")] = "strict",
    headless: Annotated[bool, typer.Option("--headless", help="Without a screen.")] = False,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="In simulated time, as fast as the processor allows (headless).")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Parent folder of the session.")] = None,
    sound: Annotated[str, typer.Option(help="auto, none or device.")] = "auto",
    max_s: Annotated[float | None, typer.Option("--max-s", help="End the session after so many seconds.")] = None,
    tool_latency: Annotated[
        list[str] | None, typer.Option("--tool-latency", help="NAME=DURATION, such as search=40s.")
    ] = None,
    channel: Annotated[
        str,
        typer.Option(
            help="What lies between caller and agent: clean, telephone, babble:snr=10, loss:rate=0.03,burst=3, or several joined by +."
        ),
    ] = "clean",
    as_json: Json = False,
) -> None:
    """Run a workflow against an agent."""
    from apex_tui.cli import running

    command = running.command_for(
        workflow, agent, url, model, seed, profile, virtual, out, sound, max_s, tool_latency or [], channel
    )
    raise typer.Exit(running.run(command, headless=headless or virtual or as_json, as_json=as_json))


@app.command()
def replay(
    session: Annotated[
        str | None, typer.Argument(help="A session's folder or name; without it, a recorded example.")
    ] = None,
) -> None:
    """Play a recorded session again, with seek."""
    from apex_tui.cli import screen

    raise typer.Exit(screen.open_replay(session))


@app.command()
def score(
    session: Annotated[
        str | None, typer.Argument(help="A session's folder or name; without it, a recorded example.")
    ] = None,
    profile: Annotated[str, typer.Option(help="Grading profile: strict or official.")] = "strict",
    as_json: Json = False,
) -> None:
    """Judge a recorded session from its own files."""
    from apex_tui.cli import scoring

    raise typer.Exit(scoring.score(session, profile, as_json=as_json))


@workflows.command("list")
def workflows_list(as_json: Json = False) -> None:
    """List the workflows."""
    from apex_tui.cli import about_workflows

    about_workflows.list_all(as_json=as_json)


@workflows.command("show")
def workflows_show(workflow: NameOrPath, as_json: Json = False) -> None:
    """Show what a workflow asks for: caller, artifact, tools, approvals, gold outcome."""
    from apex_tui.cli import about_workflows

    about_workflows.show(workflow, as_json=as_json)


@workflows.command("check")
def workflows_check(
    workflow: Annotated[list[str] | None, typer.Argument(help="Ids or paths; without one, all of ours.")] = None,
    as_json: Json = False,
) -> None:
    """Check that workflows hold together: the reference succeeds, a do-nothing agent does not, no fact is spoken too early."""
    from apex_tui.cli import about_workflows

    raise typer.Exit(about_workflows.check(workflow or [], as_json=as_json))


@bank.command("render")
def bank_render(
    workflow: Annotated[list[str] | None, typer.Argument(help="Ids; without one, all of ours.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Render unchanged clips again too.")] = False,
) -> None:
    """Render the speech of workflows (needs the extra 'render'; offline work, not part of a run)."""
    from apex_tui.cli import about_bank

    raise typer.Exit(about_bank.render(workflow or [], everything=everything))


@bank.command("verify")
def bank_verify(
    workflow: Annotated[list[str] | None, typer.Argument(help="Ids; without one, all of ours.")] = None,
    as_json: Json = False,
) -> None:
    """Prove that every clip is there, decodes to the same samples, and has the edges that the manifest says."""
    from apex_tui.cli import about_bank

    raise typer.Exit(about_bank.verify(workflow or [], as_json=as_json))


@agents.command("list")
def agents_list(as_json: Json = False) -> None:
    """List the agents, and whether their keys are there."""
    from apex_tui.cli import about_agents

    about_agents.list_all(as_json=as_json)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code; a user's mistake is one sentence on stderr, never a traceback."""
    try:
        result: Any = app(arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except ApexError as error:
        print(f"apex-tui: {error}", file=sys.stderr)
        return error.exit_code
    except click.ClickException as error:
        error.show(file=sys.stderr)
        return EXIT_USER
    except (KeyboardInterrupt, click.exceptions.Abort):
        return 130
    except BrokenPipeError:
        # The reader of our output left (as in `apex-tui ... | head`): nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except PermissionError as error:
        print(
            f"apex-tui: {UserError(f'{error.filename}: not permitted; choose another folder with --out')}",
            file=sys.stderr,
        )
        return EXIT_USER
