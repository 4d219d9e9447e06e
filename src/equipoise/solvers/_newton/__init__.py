"""Parts of the Newton methods: steps, second derivatives, conjugate gradients.

`jump` moves point and multipliers together, `descent` lowers an augmented Lagrangian. Both solve their
linear systems by `conjugate_gradients`, which `preconditioner` speeds up. Two parts are optional, and only
`jump` knows them: `remembered`, the directions of earlier CG runs, and `chord`, further steps with old
derivatives. Where a problem has gradients alone, `quasi` jumps with the curvature that `limited_memory` has
learned from earlier steps.
"""
