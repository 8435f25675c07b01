"""The two ways in which Treaty says no, each with one sentence for the person who reads it."""


class TreatyError(Exception):
    """Something asked for cannot be done; the message says what, and what would be right."""


class Refusal(TreatyError):
    """An owner declines to answer a query. A refusal costs no budget."""
