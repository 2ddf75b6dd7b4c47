"""The lines of the Why screen: the tree of one thing, and the list of things that can be asked about. Pure functions to lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from apex_tui.timeline.events import to_line
from apex_tui.tui.lines import Part, fit, row, teach, wrap
from apex_tui.tui.plain import plain
from apex_tui.tui.render_floor import event_summary
from apex_tui.tui.why import Graph, Node, Target, Tree
from apex_tui.tui.words import clock

_GLYPHS = {"cause": ("← ", "warn"), "effect": ("→ ", "good"), "chain": ("", ""), "own": ("", ""), "raw": ("", "")}


def tree_lines(tree: Tree, width: int, focused: bool = True) -> list[Text]:
    """One line for every node; the cursor's is marked by ``▸`` and reversed."""
    return [_node(tree.graph, node, n == tree.cursor, width, focused) for n, node in enumerate(tree.nodes)]


def _node(graph: Graph, node: Node, here: bool, width: int, focused: bool) -> Text:
    mark = ("▸" if here else " ", "strong")
    indent = "  " * node.depth
    folded = "− " if node.open else "+ " if node.more else "  "
    parts: list[Part] = [mark, indent, (folded, "quiet")]
    if node.note:
        role = "head" if node.seq is None else "strong" if node.first else ""
        parts.append((node.note, role))
        if node.first:
            parts.append(("  ◆ first disagreement", "bad"))
        if node.way == "chain" and node.seq is not None:
            parts.append((f"  seq {node.seq}", "quiet"))
    elif node.seq is not None:
        parts += _event_parts(graph, node)
    line = fit(row(*parts), width)
    if here and focused:
        line.stylize("cursor", 0, len(line.plain))
    return line


def _event_parts(graph: Graph, node: Node) -> list[Part]:
    event = graph.event(node.seq if node.seq is not None else -1)
    if event is None:
        return [("(not in this recording)", "quiet")]
    if node.way == "raw":
        return [("raw ", "quiet"), (plain(to_line(event), 4000), "quiet")]
    return [
        _GLYPHS[node.way], (f"{clock(event.media_ms)} ", "quiet"), (f"{event.type} ", "head"), event_summary(event),
        (f"  seq {event.seq}", "quiet"),
    ]  # fmt: skip


def target_lines(found: Sequence[Target], cursor: int, width: int, focused: bool) -> list[Text]:
    """The things that can be asked about; the chosen one is marked."""
    if not found:
        return teach(width, "There is nothing to ask about in this pane yet: choose another one (1 to 6) and press w.")
    lines: list[Text] = []
    for number, target in enumerate(found):
        here = number == cursor
        line = fit(row(("▸ " if here else "  ", "strong"), target.label), width)
        if here:
            line.stylize("cursor" if focused else "strong", 0, len(line.plain))
        lines.append(line)
    return lines


def raw_lines(tree: Tree, width: int) -> list[Text]:
    """The raw event at the cursor, whole, wrapped; on the drift chain its sentence before it, which the tree has to cut."""
    node = tree.current
    lines: list[Text] = []
    if node is not None and node.place[:1] == ("chain",) and tree.drift is not None:
        lines += wrap(row((plain(tree.drift.reason, 400), "strong")), width)
    event = tree.graph.event(node.seq) if node is not None and node.seq is not None else None
    if event is None:
        return lines or teach(width, "Put the cursor on an event to see its raw line here.")
    text = plain(to_line(event), 4000)
    return [*lines, *(row((text[i : i + width], "quiet")) for i in range(0, len(text), max(1, width)))]
