"""Parts of the Newton methods: steps, second derivatives, conjugate gradients."""
