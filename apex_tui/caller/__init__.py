"""The simulated caller: flow, observer of the agent's acts, and the policy that decides when to say what."""
