"""The commands that come in groups: ``apex-tui workflows | bank | agents | tools | devices``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from apex_tui.cli.about_person import MicrophoneName, SpeakerName, WithHeadphones
from apex_tui.cli.options import Json, NameOrPath, PartUrl, ProfileFile
from apex_tui.timeline.errors import UserError

workflows = typer.Typer(help="List, show and check workflows.", no_args_is_help=True, rich_markup_mode=None)
bank = typer.Typer(help="Render and verify the speech bank.", no_args_is_help=True, rich_markup_mode=None)
agents = typer.Typer(help="Which agents can be run.", no_args_is_help=True, rich_markup_mode=None)
tools = typer.Typer(help="Serve a workflow's tools over MCP.", no_args_is_help=True, rich_markup_mode=None)
devices = typer.Typer(help="Microphones and loudspeakers.", no_args_is_help=True, rich_markup_mode=None)


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
    faults: Annotated[
        bool,
        typer.Option("--faults", help="Run agents with one planted fault each, and compare what trips with what must."),
    ] = False,
    tones: Annotated[
        bool, typer.Option("--tones", help="Tones stand in for the speech: for a workflow that is not rendered yet.")
    ] = False,
    ci: Annotated[
        bool, typer.Option("--ci", help="What CI runs: every reference, and a twentieth of the planted faults.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="With --ci: picks the faults.")] = 1,
    blind: Annotated[Path | None, typer.Option(help="With --ci: a folder of kept calls, each played again.")] = None,
    as_json: Json = False,
) -> None:
    """Check that workflows hold together: the reference succeeds, agents that do nothing or cut corners do not, nothing is told too early."""
    from apex_tui.cli import about_checks

    if tones and (faults or ci):
        raise UserError(
            f"--{'faults' if faults else 'ci'} judges timing, which needs the speech; leave --tones out, or render it first"
        )
    if ci and (faults or as_json):
        raise UserError(
            "--ci prints what it runs, and a twentieth of the faults is in it; leave --faults and --json out"
        )
    if blind is not None and not ci:
        raise UserError("--blind goes with --ci")
    if ci:
        raise typer.Exit(about_checks.ci(workflow or [], seed=seed, blind=blind))
    if faults:
        raise typer.Exit(about_checks.faults(workflow or [], as_json=as_json))
    raise typer.Exit(about_checks.check(workflow or [], tones=tones, as_json=as_json))


@workflows.command("balance")
def workflows_balance(
    workflow: Annotated[list[str] | None, typer.Argument(help="Ids or paths; without one, all of ours.")] = None,
    as_json: Json = False,
) -> None:
    """Count workflows by every axis: archetype, artifact, autonomy, knowledge, risk, voice, corrections, what makes them hard."""
    from apex_tui.cli import about_checks

    raise typer.Exit(about_checks.balance(workflow or [], as_json=as_json))


@workflows.command("new")
def workflows_new(
    name: Annotated[str, typer.Argument(help="Id of the workflow: lower case, digits and hyphens.")],
    folder: Annotated[Path, typer.Option("--in", help="Where the recipe goes.")] = Path(),
) -> None:
    """Write a small recipe that works, to be changed into your own (see docs/authoring.md)."""
    from apex_tui.cli import about_workflows

    print(about_workflows.new(name, folder))


@workflows.command("play-text")
def workflows_play_text(
    workflow: NameOrPath,
    seed: Annotated[int, typer.Option(min=0, help="Picks the caller's wordings and moments.")] = 1,
    reveal: Annotated[bool, typer.Option("--reveal", help="Say at the end what each gate found.")] = False,
    keep: Annotated[
        Path | None, typer.Option(help="Write the call into this file, so that it can be played again.")
    ] = None,
    note: Annotated[str, typer.Option(help="With --keep: who typed it, and what they knew of the workflow.")] = "",
) -> None:
    """Be the agent: type words and tool calls, and the caller answers (simulated time; it stands still while you type)."""
    from apex_tui.cli import playing

    raise typer.Exit(playing.play_text(workflow, seed=seed, reveal=reveal, keep=keep, note=note))


@workflows.command("text")
def workflows_text(
    package: Annotated[str, typer.Argument(help="An official package's folder.")],
    seed: Annotated[int, typer.Option(min=0, help="Chooses wordings.")] = 1,
    silent: Annotated[
        bool, typer.Option("--silent", help="An agent that does nothing, in place of the reference.")
    ] = False,
    recovery: Annotated[
        bool, typer.Option("--recovery", help="The caller goes on when its dialogue has nothing to say.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Play a package's reference in the text condition (C0) of the format: no audio, no provider, the same rows every time."""
    from apex_tui.cli import about_workflows

    raise typer.Exit(about_workflows.text(package, seed, silent=silent, recovery=recovery, as_json=as_json))


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


@bank.command("import")
def bank_import(
    files: Annotated[Path, typer.Argument(help="List of speech files: CSV (file,text,role,act) or TOML ([[clip]]).")],
    workflow: Annotated[str, typer.Option("--for", help="Your own recipe: its file, or its id.")],
    as_json: Json = False,
) -> None:
    """Take speech files from elsewhere as the voice of your own recipe: checked, converted to 24 kHz, trimmed, levelled."""
    from apex_tui.cli import about_own_speech

    raise typer.Exit(about_own_speech.bring(files, workflow, as_json=as_json))


@bank.command("export")
def bank_export(
    workflow: Annotated[str, typer.Argument(help="Your own recipe: its file, or its id.")],
    out: Annotated[Path, typer.Option(help="A folder that is not there yet.")],
    as_json: Json = False,
) -> None:
    """Write a person's clips as WAV files with their list; until then they stay where they were recorded."""
    from apex_tui.cli import about_own_speech

    raise typer.Exit(about_own_speech.send(workflow, out, as_json=as_json))


@bank.command("check")
def bank_check(
    workflow: Annotated[list[str] | None, typer.Argument(help="Ids; without one, all of ours.")] = None,
    as_json: Json = False,
) -> None:
    """Let an independent recogniser transcribe the clips, and see whether amounts, dates and codes come through (extra 'hear')."""
    from apex_tui.cli import about_bank

    raise typer.Exit(about_bank.check(workflow or [], as_json=as_json))


@agents.command("list")
def agents_list(profile_file: ProfileFile = None, as_json: Json = False) -> None:
    """List the agents, and whether their keys are there."""
    from apex_tui.cli import about_agents

    about_agents.list_all(profile_file, as_json=as_json)


@agents.command("check")
def agents_check(
    name: Annotated[str, typer.Argument(help="An agent of 'agents list'.")],
    url: Annotated[str | None, typer.Option(help="Replaces the agent's address.")] = None,
    model: Annotated[str | None, typer.Option(help="Replaces the agent's model.")] = None,
    spoken: Annotated[
        bool, typer.Option("--spoken", help="Speak the turns (from the speech bank) also where writing would do.")
    ] = False,
    profile_file: ProfileFile = None,
    stt: PartUrl = None,
    llm: PartUrl = None,
    tts: PartUrl = None,
    as_json: Json = False,
) -> None:
    """Connect to an agent, exchange one turn and one tool call, and show what it accepted and how long it took."""
    from apex_tui.cli import about_agents

    parts = {part: address for part, address in (("stt", stt), ("llm", llm), ("tts", tts)) if address is not None}
    raise typer.Exit(about_agents.check(name, url, model, profile_file, parts, spoken=spoken, as_json=as_json))


@tools.command("serve")
def tools_serve(
    workflow: NameOrPath,
    port: Annotated[
        str | None, typer.Option("--port", help="Serve over HTTP at [HOST:]PORT; without it over stdin and stdout.")
    ] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="Grant every request for approval, so that commits can be tried.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Parent folder of the log.")] = None,
) -> None:
    """Serve a workflow's tools over MCP without a voice, to build an agent's tool use; nothing is judged."""
    from apex_tui.cli import about_tools

    raise typer.Exit(about_tools.serve(workflow, port, out, approve=approve))


@devices.command("list")
def devices_list(as_json: Json = False) -> None:
    """List the microphones and loudspeakers that PortAudio knows."""
    from apex_tui.cli import about_devices

    raise typer.Exit(about_devices.list_all(as_json=as_json))


@devices.command("test")
def devices_test(
    microphone: MicrophoneName = None,
    speaker: SpeakerName = None,
    headphones: WithHeadphones = None,
    remember: Annotated[bool, typer.Option("--remember", help="Use these devices from now on.")] = False,
    speak: Annotated[float, typer.Option(min=0, max=60, help="Seconds in which to speak; 0: not asked.")] = 3.0,
    only: Annotated[
        str | None, typer.Option(help="Only open the microphone, or the loudspeaker, and close it again.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Play chirps and a tone, listen, and show levels, cut-off samples, delays and lost sound."""
    from apex_tui.cli import about_devices

    if only is not None:
        raise typer.Exit(about_devices.open_only(only, microphone, speaker))
    raise typer.Exit(
        about_devices.test(
            microphone, speaker, headphones=headphones, remember=remember, speak_s=speak, as_json=as_json
        )
    )
