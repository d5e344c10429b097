"""What is computed: expressions, products, functions of entries, reductions, attention."""
