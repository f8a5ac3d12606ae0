"""The impure shell: one outside thing a module, each as thin as it can be."""
