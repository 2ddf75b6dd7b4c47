"""Widgets of the screens: painted lines, panes, the body that live and replay share."""
