"""The command ``apex-tui``: what can be asked, and how answers and errors leave the process.

stdout is data, stderr narration. Errors become exit codes in `ending`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from apex_tui import __version__
from apex_tui.cli.about_director import Directions
from apex_tui.cli.about_person import Caller, Echo, MicrophoneName, SpeakerName, WithHeadphones
from apex_tui.cli.ending import INTERRUPTED, exit_code
from apex_tui.cli.groups import agents, bank, devices, tools, workflows
from apex_tui.cli.options import Fps, HtmlFile, Json, NameOrPath, PartUrl, Plain, ProfileFile, ThemeName, WithSound
from apex_tui.cli.usage import UsageError, tell
from apex_tui.timeline.errors import EXIT_USER, UserError

app = typer.Typer(
    name="apex-tui",
    help="Run professional workflows against full-duplex voice agents, and watch the work and the talk on one clock.",
    no_args_is_help=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(workflows, name="workflows")
app.add_typer(bank, name="bank")
app.add_typer(agents, name="agents")
app.add_typer(tools, name="tools")
app.add_typer(devices, name="devices")


def screen_flags(
    plain: bool, fps: int | None, theme: str | None, **others: bool | None
) -> dict[str, str | int | bool | None]:
    """Settings of the screen that were given as flags; None: not given."""
    return {"plain": plain or None, "fps": fps, "theme": theme, **others}


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
    plain: Plain = False,
    fps: Fps = None,
    theme: ThemeName = None,
) -> None:
    """Open the app: choose a workflow, press Enter."""
    context.obj = screen_flags(plain, fps, theme, mouse=False if no_mouse else None)
    if context.invoked_subcommand is None:
        from apex_tui.cli import screen

        raise typer.Exit(screen.open_picker(context.obj))


@app.command()
def run(
    context: typer.Context,
    workflow: NameOrPath,
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="rehearsal, openai, realtime, chat, cascade ... (see 'agents list').")
    ] = "rehearsal",
    url: Annotated[
        str | None, typer.Option(help="Any server that speaks the protocol, such as ws://127.0.0.1:8765/v1/realtime.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The provider's model name.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Chooses wordings, gaps and the moment of interruptions.")] = 1,
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
    instructions: Annotated[
        str, typer.Option(help="What the agent is told: neutral, or coaching (as the published benchmark has it).")
    ] = "neutral",
    caller: Caller = "bank",
    microphone: MicrophoneName = None,
    speaker: SpeakerName = None,
    headphones: WithHeadphones = None,
    echo: Echo = "auto",
    direct: Directions = None,
    profile_file: ProfileFile = None,
    stt: PartUrl = None,
    llm: PartUrl = None,
    tts: PartUrl = None,
    serve_tools: Annotated[
        str | None,
        typer.Option("--serve-tools", help="Serve the tools over MCP at [HOST:]PORT, for an agent that mounts them."),
    ] = None,
    wire_tools: Annotated[
        bool, typer.Option("--wire-tools", help="With --serve-tools: offer them over the agent's own connection too.")
    ] = False,
    probe: Annotated[
        Path | None, typer.Option("--probe", help="What to read in the agent's own backend (TOML); see docs/tools.md.")
    ] = None,
    plain: Plain = False,
    fps: Fps = None,
    theme: ThemeName = None,
    as_json: Json = False,
) -> None:
    """Run a workflow against an agent."""
    from apex_tui.cli import running
    from apex_tui.cli.about_director import with_directions
    from apex_tui.cli.about_person import with_person

    command = running.command_for(
        workflow,
        agent,
        url,
        model,
        seed,
        profile,
        virtual,
        out,
        sound,
        max_s,
        tool_latency or [],
        channel,
        instructions,
    )
    command = running.with_agent_options(command, profile_file, {"stt": stt, "llm": llm, "tts": tts})
    command = running.with_own_tools(command, serve_tools, wire_tools, probe)
    command = with_directions(with_person(command, caller, microphone, speaker, headphones, echo), direct or [])
    flags = {**context.obj, **{k: v for k, v in screen_flags(plain, fps, theme).items() if v is not None}}
    raise typer.Exit(running.run(command, headless=headless or virtual or as_json, as_json=as_json, flags=flags))


@app.command()
def replay(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="A session's folder or name; without it, a recorded example.")
    ] = None,
    plain: Plain = False,
    fps: Fps = None,
    theme: ThemeName = None,
) -> None:
    """Play a recorded session again, with seek."""
    flags = {**context.obj, **{k: v for k, v in screen_flags(plain, fps, theme).items() if v is not None}}
    from apex_tui.cli import screen

    raise typer.Exit(screen.open_replay(session, flags))


@app.command()
def config(
    show: Annotated[bool, typer.Option("--show", help="Show every setting and where its value comes from.")] = True,
    as_json: Json = False,
) -> None:
    """Show the settings in force, the keymap, and where their file is looked for."""
    from apex_tui.cli import about_config

    about_config.show(as_json=as_json)


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


@app.command()
def why(
    session: Annotated[str, typer.Argument(help="A session's folder or name.")],
    field: Annotated[str, typer.Argument(help="A gold field: artifact.field.")],
    as_json: Json = False,
) -> None:
    """Show the chain of one field: said, heard, claimed, artifact, approved, committed, with the events that prove each."""
    from apex_tui.cli import why as explaining

    raise typer.Exit(explaining.why(session, field, as_json=as_json))


@app.command()
def campaign(
    plan: Annotated[Path, typer.Argument(help="The plan (YAML); see docs/campaigns.md.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the campaign; the same one resumes it.")] = None,
    html: HtmlFile = None,
    with_sound: WithSound = False,
    as_json: Json = False,
) -> None:
    """Run every session of a plan (or those that are missing), and print what they came to."""
    from apex_tui.cli import about_campaigns
    from apex_tui.cli.about_results import Form

    raise typer.Exit(about_campaigns.campaign(plan, out, Form(as_json=as_json, html=html, with_sound=with_sound)))


@app.command()
def results(
    folder: Annotated[
        list[Path] | None, typer.Argument(help="Sessions, folders of sessions, campaigns; without one, all sessions.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="The k of Pass@k and Reliable@k.")] = 3,
    agent: Annotated[list[str] | None, typer.Option("--agent", "-a", help="Only this agent; may be repeated.")] = None,
    rescore: Annotated[
        bool, typer.Option("--rescore", help="Judge every log again instead of reading score.json.")
    ] = False,
    profile: Annotated[str, typer.Option(help="Grading profile with --rescore: strict or official.")] = "strict",
    official: Annotated[bool, typer.Option("--official", help="Read session directories of the reference.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="With --official: the packages, for tool ratios, uptake and slices.")
    ] = None,
    judge_cache: Annotated[
        Path | None,
        typer.Option("--judge-cache", help="With --official: kept verdicts of the reference's judge (JSON)."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="Only the slices of this axis, such as archetype; may be repeated.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, one number a row.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    html: HtmlFile = None,
    with_sound: WithSound = False,
    timelines: Annotated[
        int | None, typer.Option(min=0, help="Sessions drawn in the HTML file, failures first.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the table over many sessions: Pass@1, Pass@k, Reliable@k, gates, corrections, floor, effort, slices."""
    from apex_tui.cli import about_results

    ours = {"--csv": csv, "--markdown": markdown, "--html": html, "--by": by, "--agent": agent, "--rescore": rescore}
    theirs = {"--data": data, "--judge-cache": judge_cache}
    about_results.fitting(ours if official else theirs, official=official)
    if official:
        raise typer.Exit(about_results.official(folder or [], k=k, data=data, judge_cache=judge_cache, as_json=as_json))
    form = about_results.Form(as_json, csv, markdown, html, with_sound, timelines)
    raise typer.Exit(
        about_results.results(
            folder or [], form, k=k, rescore=rescore, profile=profile, agents=agent or [], axes=by or []
        )
    )


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="A session, or with --in an agent.")],
    second: Annotated[str, typer.Argument(help="Another.")],
    within: Annotated[
        Path | None, typer.Option("--in", help="Compare two agents over the sessions in this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where two sessions part; with --in, compare two agents paired per workflow."""
    from apex_tui.cli import about_results

    raise typer.Exit(about_results.compare(first, second, within, as_json=as_json))


@app.command()
def regress(
    session: Annotated[str | None, typer.Argument(help="A failed session, to be made a scenario.")] = None,
    run: Annotated[Path | None, typer.Option("--run", help="Play the scenarios of this folder (or this one).")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the scenario, or with --run the sessions, go.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="With --run: another agent.")] = None,
    url: Annotated[str | None, typer.Option(help="With --run: another address.")] = None,
    model: Annotated[str | None, typer.Option(help="With --run: another model.")] = None,
    junit: Annotated[Path | None, typer.Option(help="With --run: write a JUnit file.")] = None,
    as_json: Json = False,
) -> None:
    """Make a failed session a scenario, or play scenarios: exit code 1 when any fails again."""
    from apex_tui.cli import about_regress
    from apex_tui.trials.regress_run import Instead

    if (session is None) == (run is None):
        raise UserError("regress: name either a session, or --run with a folder of scenarios")
    if run is not None:
        raise typer.Exit(about_regress.run(run, out, Instead(agent, url, model), junit, as_json=as_json))
    assert session is not None
    raise typer.Exit(about_regress.make(session, out, as_json=as_json))


@app.command()
def scenario(
    context: typer.Context,
    session: Annotated[str, typer.Argument(help="A session with a person at the microphone: its folder or name.")],
    draft: Annotated[Path | None, typer.Option("--draft", help="Write the review to this file, to be edited.")] = None,
    review: Annotated[Path | None, typer.Option("--review", help="Make the scenario of this reviewed file.")] = None,
    accept: Annotated[bool, typer.Option("--accept", help="Make the scenario of the proposals as they are.")] = False,
    name: Annotated[str | None, typer.Option("--id", help="Id of the new workflow.")] = None,
    base: Annotated[
        str | None, typer.Option("--base", help="Recipe that gives documents, tools and world, or 'skeleton'.")
    ] = None,
    recognise: Annotated[
        bool,
        typer.Option("--recognise", help="Let a local recogniser write the words that no agent told (extra 'hear')."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Place for workflows; without it, your own.")] = None,
    times: Annotated[int, typer.Option(min=1, max=100, help="How often the new scenario is replayed to check it.")] = 3,
    as_json: Json = False,
) -> None:
    """Make a scenario of what a person said: a recipe and clips that replay the same way every time. Without an option: the review screen."""
    from apex_tui.cli import about_scenario

    if sum((draft is not None, review is not None, accept)) > 1:
        raise UserError("scenario: choose one of --draft, --review and --accept")
    asked = about_scenario.Asked(session, name, base, recognise)
    if draft is not None:
        raise typer.Exit(about_scenario.write_draft(asked, draft))
    if review is None and not accept:
        from apex_tui.cli import screen

        raise typer.Exit(screen.open_review(session, context.obj))
    raise typer.Exit(about_scenario.make(asked, review, out, times, as_json=as_json))


@app.command()
def erase(
    session: Annotated[str, typer.Argument(help="A session with a person at the microphone: its folder or name.")],
    turn: Annotated[
        list[int] | None, typer.Option("--turn", help="Only this turn of the caller; may be repeated.")
    ] = None,
    scenarios: Annotated[
        bool, typer.Option("--scenarios", help="Remove the scenarios that were made of it whole, words included.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="It cannot be undone: say that you mean it.")] = False,
    as_json: Json = False,
) -> None:
    """Erase a person from a session: silence the voice, redact the words, remove the clips; a tombstone remains."""
    from apex_tui.cli import about_erase

    raise typer.Exit(about_erase.run(session, turn or [], scenarios=scenarios, agreed=yes, as_json=as_json))


@app.command()
def export(
    what: Annotated[list[str], typer.Argument(help="Sessions on official packages, or recipes.")],
    out: Annotated[
        Path, typer.Option(help="Where to: a campaign's folder for sessions, a parent folder for packages.")
    ],
    to: Annotated[str, typer.Option("--to", help="The layout: apex-voice.")] = "apex-voice",
    model: Annotated[str | None, typer.Option(help="What the reference is to call the agent.")] = None,
    as_json: Json = False,
) -> None:
    """Write sessions or recipes in the layout of the APEX-Voice reference."""
    from apex_tui.cli import exporting

    raise typer.Exit(exporting.export(what, to, out, model, as_json=as_json))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Returns the exit code; a user's mistake is one sentence on stderr, never a traceback."""

    def commanded() -> int:
        try:
            result: Any = app(arguments, standalone_mode=False)
        except UsageError as error:
            tell(error)
            return EXIT_USER
        except typer.Abort:
            return INTERRUPTED
        return result if isinstance(result, int) else 0

    return exit_code(commanded)
