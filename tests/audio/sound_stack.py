"""A sound stack without a sound card: PulseAudio with null sinks, in a process and a folder of its own, reached through PortAudio.

    apex_spk    what the app plays on        apex_tap    what that speaker plays
    apex_mic    what the app listens to      apex_mouth  where a test speaks into that microphone

PortAudio reads its environment when it is loaded, so everything that uses it runs in a child (`Stack.run`) that gets the stack's own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

NEEDED = ("pulseaudio", "pactl", "parec", "paplay")
READY_S = 30.0

PULSE = """
load-module module-native-protocol-unix
load-module module-null-sink sink_name=apex_vspk     rate=48000 channels=1 format=s16le
load-module module-null-sink sink_name=apex_vmic_bus rate=48000 channels=1 format=s16le
set-default-sink apex_vspk
set-default-source apex_vmic_bus.monitor
"""
ALSA = """
<{stock}>
pcm.apex_spk   {{ type pulse device "apex_vspk"             hint {{ show on description "virtual speaker" }} }}
pcm.apex_mic   {{ type pulse device "apex_vmic_bus.monitor" hint {{ show on description "virtual microphone" }} }}
pcm.apex_tap   {{ type pulse device "apex_vspk.monitor"     hint {{ show on description "what the speaker plays" }} }}
pcm.apex_mouth {{ type pulse device "apex_vmic_bus"         hint {{ show on description "what the microphone hears" }} }}
"""
STOCK = (Path("/usr/share/alsa/alsa.conf"), Path("/usr/local/share/alsa/alsa.conf"))


def missing() -> str | None:
    """Why there can be no stack here, and what to install; None: there can."""
    lacks = [name for name in NEEDED if shutil.which(name) is None]
    plugin = any(Path("/usr/lib").glob("*/alsa-lib/libasound_module_pcm_pulse.so"))
    if not lacks and plugin and any(path.is_file() for path in STOCK):
        return None
    what = ", ".join([*lacks, *([] if plugin else ["the ALSA plugin for PulseAudio"])]) or "alsa.conf"
    return f"no virtual sound stack ({what} missing): apt-get install pulseaudio pulseaudio-utils libasound2-plugins"


@dataclass
class Stack:
    """A running stack. ``environment``: what a child needs to reach it."""

    environment: dict[str, str]
    daemon: subprocess.Popen[bytes]
    readers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def pactl(self, *arguments: str) -> str:
        """Ask the daemon."""
        done = subprocess.run(
            ["pactl", *arguments], env=self.environment, capture_output=True, text=True, timeout=30, check=True
        )
        return done.stdout.strip()

    def hiss(self, noise: Path) -> None:
        """Let the microphone hiss as a live one does, for as long as the file ``noise`` lasts."""
        self.readers.append(subprocess.Popen(["paplay", "--device=apex_vmic_bus", str(noise)], env=self.environment))

    def run(self, arguments: list[str], timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run ``python <arguments>`` against the stack."""
        return subprocess.run(
            [sys.executable, *arguments], env=self.environment, capture_output=True, text=True, timeout=timeout
        )

    def close(self) -> None:
        """End what was started."""
        for process in [*self.readers, self.daemon]:
            process.terminate()
        for process in [*self.readers, self.daemon]:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def start(folder: Path) -> Stack:
    """Start a daemon in ``folder`` and wait until it answers.

    Raises:
        RuntimeError: it does not.
    """
    run, home = folder / "run", folder / "home"
    run.mkdir(mode=0o700)
    home.mkdir()
    script, alsa = folder / "pulse.pa", folder / "asound.conf"
    script.write_text(PULSE)
    alsa.write_text(ALSA.format(stock=next(path for path in STOCK if path.is_file())))
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(run),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PULSE_RUNTIME_PATH": str(run / "pulse"),
        "ALSA_CONFIG_PATH": str(alsa),
    }
    environment.pop("PULSE_SERVER", None)
    log = (folder / "pulse.log").open("wb")
    daemon = subprocess.Popen(
        ["pulseaudio", "-n", "-F", str(script), "--daemonize=no", "--exit-idle-time=-1", "--log-level=error"],
        env=environment,
        stdout=log,
        stderr=log,
    )
    log.close()
    stack = Stack(environment, daemon)
    deadline = time.monotonic() + READY_S
    while subprocess.run(["pactl", "info"], env=environment, capture_output=True).returncode != 0:
        if daemon.poll() is not None or time.monotonic() > deadline:
            stack.close()
            raise RuntimeError(f"pulseaudio did not start: {(folder / 'pulse.log').read_text()[-500:]}")
        time.sleep(0.05)
    # Null sinks that nobody reads stall for up to 2 s when a stream is opened: two readers keep them awake.
    for sink in ("apex_vspk", "apex_vmic_bus"):
        stack.readers.append(
            subprocess.Popen(
                ["parec", "--latency-msec=10", "-d", f"{sink}.monitor", "--raw"],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
    return stack
