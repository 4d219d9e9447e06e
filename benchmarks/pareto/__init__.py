"""AUC against gaps of AUCs between groups on rows held out, for Equipoise and for baselines."""
