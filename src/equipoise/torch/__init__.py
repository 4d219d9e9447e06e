"""PyTorch: modules as models, under the same constraints; needs ``pip install 'equipoise[torch]'``."""

from equipoise.torch._group_batches import GroupBatchSampler
from equipoise.torch._module_model import ModuleModel
from equipoise.torch._net_classifier import ConstrainedNetClassifier
from equipoise.torch._optimizer import ConstrainedOptimizer

__all__ = ["ConstrainedNetClassifier", "ConstrainedOptimizer", "GroupBatchSampler", "ModuleModel"]
