"""Audits: what fresh rows tell of any model's rules for the whole population."""

from equipoise.auditing._audit import audit
from equipoise.auditing._lines import Audit, AuditLine

__all__ = ["audit", "Audit", "AuditLine"]
