"""PyTorch: answers of palmette as differentiable functions. PyTorch itself is imported when one of them is called."""

from palmette.interop.torch.likelihood import log_partition, log_prob
from palmette.interop.torch.min_max import subdominant

__all__ = ["log_partition", "log_prob", "subdominant"]
