"""The shipped dialects (``*.toml``) and the user's own: what each agent's server wants, as data.

``load_profiles`` is the door; every key of a file is a field of the family's profile class. Deliberately not in here: what a key
does (the profile classes say so), and keys to accounts.
"""

from apex_tui.agents.dialects.loader import KEYS, Known, default_user_file, dialect_digest, load_profiles, own_dialect

__all__ = ["KEYS", "Known", "default_user_file", "dialect_digest", "load_profiles", "own_dialect"]
