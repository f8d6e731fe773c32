"""How a training process is set up: one thread, and otherwise torch as it comes.

Training stays outside of the numerical profile, which costs speed: its weights differ between
machines in any case, and what is said of them holds with a margin.
"""


def prepare() -> None:
    """Import torch and keep it to one thread, so that jobs side by side do not disturb each other.

    On one machine the same job then gives the same bits.
    """
    import torch

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # It would also fill every fresh tensor before a result is written into it: a seventh of the
    # time. The weights are the same bytes without, for no memory is read that nobody wrote.
    torch.utils.deterministic.fill_uninitialized_memory = False
