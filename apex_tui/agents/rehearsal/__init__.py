"""The rehearsal agent: it speaks a workflow's reference solution over the realtime protocol, with stated manners.

``manner`` how fast it notices, yields and answers · ``presets`` their names · ``brain`` what it says and calls · ``ears`` when the caller
begins and ends · ``sounds`` what its lines sound like · ``voice`` what it is saying now · ``speech`` one response as it is sent ·
``solution``, ``plants``, ``faults`` planted faults · ``messages`` the protocol's server messages · ``server`` the sans-IO server ·
``link`` the server on a loop · ``agent`` in memory, or in a child process of its own (``child``).
It knows the solution: it is an instrument and a demonstration, never a contestant.
"""
