"""PyTorch: modules as models, under the same constraints; needs ``pip install 'equipoise[torch]'``."""

from equipoise.torch._module_model import ModuleModel

__all__ = ["ModuleModel"]
