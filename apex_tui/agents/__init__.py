"""Floor 4: voice agents behind one seam, one folder per protocol family, and the rehearsal agent.

``seam`` the contract with the engine · ``instructions`` the prompt · ``registry`` agents by name · ``transports`` and
``websocket`` how messages travel · ``realtime`` the OpenAI-realtime family · ``rehearsal`` the scripted agent.
Deliberately not in here: how audio was played or what the caller does; the engine knows that.
"""
