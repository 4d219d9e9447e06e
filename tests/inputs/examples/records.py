"""Public classes that users read and never make: the library fills them in with what it has computed."""

RECORDS = {
    *("Point", "Result", "Certificate"),
    *(
        "Claim",
        "Guarantee",
        "HighProbabilityBounds",
        "IQRCTheory",
        "Need",
    ),
    "LinearRows",
    *(
        "Binding",
        "Inequality",
        "RateInfo",
        "Expression",
    ),
    *("ProblemCheck", "Reference", "KKTPoint"),
    *(
        "Residuals",
        "Infeasibility",
        "NearStationarity",
        "NearKKT",
    ),
    *("Trace", "Verdict", "Iteration", "Examination"),
    *("Scores", "Kink", "ScoreSumPoint", "SumBounds", "RowKinks"),
    *("CombinationPoint", "FunctionBounds", "TermsPoint"),
    *("ModelPoint", "Sketch", "SketchPlan"),
    *(
        "Sums",
        "GroupColumn",
        "Cell",
        "Subgroup",
        "Tally",
        "RateEntry",
        "RateSpec",
    ),
    *(
        "FunctionSpec",
        "ClassLossSpec",
        "ReferencePredictions",
        "Confusion",
        "NearKinks",
    ),
    "ColumnMoments",
    *(
        "Frontier",
        "FrontierPoint",
        "Report",
        "ConstraintLine",
    ),
    *("GroupLine", "Stream"),
}
